/** A server whose machine or network is lost: what is sent there gets lost, and no connection ends because of it. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { openPostgresWakes } from '../../../src/store/postgres/postgres-wakes.ts';
import type { WakeUp } from '../../../src/store/store.ts';
import type { VirtualClock } from '../../virtual-clock.ts';
import { openWire, type Wire } from './cut-wire.ts';
import { eachSchema } from './each-schema.ts';
import { findServer, openDatabase } from './postgres-server.ts';

const bin = findServer()!;
/** Two leases: by then another server has long taken over. */
const SOON = { timeout: 20_000, interval: 50 };

describe('a server that falls silent', () => {
  const each = eachSchema(() => openDatabase(bin));
  let wire: Wire;
  let clock: VirtualClock;
  beforeEach(async () => {
    ({ clock } = each);
    wire = await openWire(each.server);
    onTestFinished(() => wire.close());
  });

  const open = () => openPostgresStore({ place: each.place({ host: wire.host }), clock, isShared: true });
  const nests = (of: Awaited<ReturnType<typeof open>>) =>
    of.store.transaction((tx) => tx.inventory.nests('eu'));

  /** Resolves to the result, within two leases. */
  async function soon<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
    let settled: PromiseSettledResult<T> | undefined;
    void Promise.allSettled([work]).then(([one]) => {
      settled = one;
    });
    await expect
      .poll(async () => {
        await clock.advance(100);
        return settled;
      }, SOON)
      .toBeDefined();
    return settled!;
  }

  test('is noticed within two leases by a replica, which continues with another connection', async () => {
    const opened = await open();
    wire.hush();
    expect(await soon(nests(opened))).toMatchObject({ reason: { code: 'store_down' } });
    expect(await nests(opened)).toEqual([]);
    await soon(opened.store.close());
  }, 60_000);

  test('is noticed within three seconds by whoever waits for an answer, and at once by others after that', async () => {
    const { store, sharing } = await open();
    const { prompt, turns } = sharing!;
    const read = () => prompt.transaction((tx) => tx.inventory.nests('eu'));
    expect(await read()).toEqual([]);
    await turns.shown();
    const goOn = wire.hush();
    const beganMs = clock.monotonicMs();
    const asked = prompt.transaction((tx) =>
      tx.inventory.putNests([{ region: 'eu', nestId: 'n', name: 'given up', present: true }]),
    );
    expect(await soon(asked)).toMatchObject({ reason: { code: 'store_down' } });
    expect(clock.monotonicMs() - beganMs).toBeLessThan(3_000);
    await expect(read()).rejects.toMatchObject({ code: 'store_down' });
    goOn();
    await expect.poll(() => read().catch(() => 'away'), SOON).toEqual([]);
    await store.close();
  }, 60_000);

  test('is not taken for one whose statement takes long', async () => {
    const { store, sharing } = await open();
    const { prompt, turns } = sharing!;
    const blocking = await openPostgresStore({ place: each.place(), clock, isShared: true });
    const { promise: gate, resolve: goOn } = Promise.withResolvers<void>();
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const rate = { perSecond: 1, keptUs: 1 };
    const held = blocking.store.transaction(async (tx) => {
      await tx.inventory.putRate('eu', rate);
      reach();
      await gate;
    });
    await reached;
    await turns.shown();
    let isOver = false;
    const waiting = prompt
      .transaction((tx) => tx.inventory.putRate('eu', rate))
      .finally(() => {
        isOver = true;
      });
    for (let turn = 0; turn < 5; turn += 1) {
      await clock.advance(1_000);
      // Behind the question that was asked then.
      await turns.shown();
    }
    expect(isOver).toBe(false);
    goOn();
    await Promise.all([held, waiting]);
    await Promise.all([store.close(), blocking.store.close()]);
  }, 60_000);

  test('does not keep a replica from ending', async () => {
    const opened = await open();
    await opened.sharing!.turns.transaction((tx) => tx.ownership.view());
    wire.hush();
    const asked = Array.from({ length: 3 }, () => nests(opened));
    for (const one of asked) one.catch(() => {});
    await soon(opened.store.close());
    expect(await Promise.allSettled(asked)).toMatchObject(
      asked.map(() => ({ reason: { code: 'cancelled' } })),
    );
  }, 60_000);

  test('is noticed by wake-ups once they have something to say, and nothing of that is lost', async () => {
    const listen = async (host: string) => {
      const wakes = await openPostgresWakes({ place: each.place({ host }), clock });
      const heard: WakeUp[] = [];
      wakes.listen((what) => heard.push(what));
      return { wakes, heard };
    };
    const [a, b] = [await listen(wire.host), await listen(each.server.host)];
    wire.hush();
    a.wakes.ring('probe eu');
    const heard = async () => {
      await clock.advance(100);
      return [a.heard, b.heard];
    };
    await expect.poll(heard, SOON).toEqual([['alerting', 'delivery', 'ownership'], ['probe eu']]);
    await Promise.all([a.wakes.close(), b.wakes.close()]);
  }, 60_000);
});
