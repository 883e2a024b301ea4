/** A server whose machine or network is lost: what is sent there gets lost, and no connection ends because of it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { openPostgresWakes } from '../../../src/store/postgres/postgres-wakes.ts';
import type { WakeUp } from '../../../src/store/store.ts';
import { createVirtualClock, type VirtualClock } from '../../virtual-clock.ts';
import { openWire, type Wire } from './cut-wire.ts';
import { findServer, openDatabase, type PostgresDatabase, placeOn } from './postgres-server.ts';

const bin = findServer()!;
/** Two leases: by then another server has long taken over. */
const SOON = { timeout: 20_000, interval: 100 };

describe('a server that falls silent', () => {
  let server: PostgresDatabase;
  let wire: Wire;
  let clock: VirtualClock;

  beforeAll(async () => {
    server = await openDatabase(bin);
  }, 60_000);
  afterAll(() => server?.remove());
  beforeEach(async () => {
    clock = createVirtualClock();
    wire = await openWire(server);
  });
  afterEach(() => wire.close());

  const open = () =>
    openPostgresStore({ place: placeOn(server, { host: wire.host }), clock, isShared: true });
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

  test('does not keep a replica from ending', async () => {
    const opened = await open();
    await opened.sharing!.turns.transaction((tx) => tx.ownership.view());
    wire.hush();
    const asked = Array.from({ length: 3 }, () => nests(opened));
    for (const one of asked) one.catch(() => {});
    await soon(opened.store.close());
    expect(await Promise.allSettled(asked)).toMatchObject(
      asked.map(() => ({ reason: { code: 'store_down' } })),
    );
  }, 60_000);

  test('is noticed by wake-ups once they have something to say, and nothing of that is lost', async () => {
    const listen = async (host: string) => {
      const wakes = await openPostgresWakes({ place: placeOn(server, { host }), clock });
      const heard: WakeUp[] = [];
      wakes.listen((what) => heard.push(what));
      return { wakes, heard };
    };
    const [a, b] = [await listen(wire.host), await listen(server.host)];
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
