import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import { createLeaseRecovery } from '../../src/delivery/outbox.ts';
import { NestwatchError } from '../../src/errors.ts';
import type { Delivery } from '../../src/store/outbox-store.ts';
import { accepted, before, begin, OPS, type Send, stage, start, type World, world } from './outbox-world.ts';

describe('a store that fails for a while', () => {
  /** The real store, whose transactions fail while `isBroken` returns true. */
  const breaking = (home: World, isBroken: () => boolean) =>
    before(home, () => {
      if (isBroken()) throw new NestwatchError('disk_full', 'no space left for the store');
    });

  test('loses no result of an attempt: it is settled when the store works again, and not sent twice', async () => {
    const home = await world();
    let isBroken = false;
    let tries = 0;
    await home.queue({ id: 'd-1' });
    begin(
      breaking(home, () => isBroken),
      async () => {
        tries += 1;
        isBroken = true;
        return accepted;
      },
    );
    await home.clock.advance(5_000);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'leased' });
    expect(home.reported).toContainEqual(expect.objectContaining({ what: 'trouble', stage: 'delivery' }));
    isBroken = false;
    await home.clock.advance(5_000);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered' });
    expect(tries).toBe(1);
  });

  test('is tried again each second, and what is due is sent as soon as it works', async () => {
    const home = await world();
    let isBroken = true;
    await home.queue({ id: 'd-1' });
    begin(
      breaking(home, () => isBroken),
      async () => accepted,
    );
    await home.clock.advance(2_500);
    expect(home.reported.map(({ what }) => what)).toEqual(['trouble', 'trouble', 'trouble']);
    isBroken = false;
    await home.clock.advance(1_000);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered', attempts: 1 });
  });

  test('delays no stop: what is not settled by then is sent again by the next life', async () => {
    const home = await world();
    let isBroken = false;
    const seen: Delivery[] = [];
    await home.queue({ id: 'd-1' });
    const send: Send = async (one) => {
      seen.push(one);
      isBroken = seen.length === 1;
      return accepted;
    };
    const broken = breaking(home, () => isBroken);
    const { stop } = begin(broken, send);
    await home.clock.advance(10);
    await stop();
    expect(home.clock.pending()).toBe(0);
    isBroken = false;
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'leased', attempts: 1 });
    begin(broken, send);
    await home.clock.advance(10);
    expect(seen.map(({ id, attempts }) => `${id} ${attempts}`)).toEqual(['d-1 1', 'd-1 2']);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered' });
  });

  test('is tried again each second by a stop that waits for an attempt anyway', async () => {
    const home = await world();
    const slow = Promise.withResolvers<Outcome>();
    let isBroken = false;
    let refused = 0;
    await home.queue({ id: 'quick' }, { id: 'slow', lane: 'slow' });
    const { abort, running } = begin(
      breaking(home, () => {
        if (isBroken) refused += 1;
        // Otherwise, a stop that never pauses would never let this test continue.
        return isBroken && refused < 10;
      }),
      async ({ id }) => {
        if (id === 'slow') return slow.promise;
        isBroken = true;
        return accepted;
      },
    );
    await home.clock.advance(10);
    abort();
    await home.clock.advance(3_500);
    expect(refused).toBe(5);
    isBroken = false;
    await home.clock.advance(1_000);
    expect(await home.states()).toEqual({ delivered: 1, leased: 1 });
    slow.resolve(accepted);
    await running;
    expect(await home.states()).toEqual({ delivered: 2 });
  });

  describe('at a reload', () => {
    /** An outbox that was replaced by another one while the store failed: 8 were accepted, 2 claimed and not begun. */
    async function replaced() {
      const home = await world();
      const open = Promise.withResolvers<Outcome>();
      const fails = { isBroken: false };
      const ids = Array.from({ length: 30 }, (_, index) => index);
      await home.queue(...ids.map((id) => ({ id: `d-${id}`, lane: `${id % 10}` })));
      const broken = breaking(home, () => fails.isBroken);
      const recovery = createLeaseRecovery(home.store, home.clock);
      const next = stage(broken, home.accept, [OPS], { recovery });
      const ending = new AbortController();
      const slowly: Send = (...one) => home.accept(...one).then(() => open.promise);
      const leftOver = () => next.wake();
      const former = start(stage(broken, slowly, [OPS], { recovery, leftOver }), ending.signal);
      await home.clock.advance(10);
      fails.isBroken = true;
      former.abort();
      open.resolve(accepted);
      await home.clock.advance(5_000);
      expect(await home.states()).toEqual({ leased: 10, pending: 20 });
      return { home, fails, next, former, ending };
    }

    test('loses no result either, and gives back what was claimed: the next outbox sends the rest', async () => {
      const { home, fails, next, former } = await replaced();
      start(next);
      fails.isBroken = false;
      await home.clock.advance(5_000);
      await former.running;
      expect(await home.states()).toEqual({ delivered: 30 });
      expect(home.sent).toHaveLength(30);
    });

    test('delays no stop either', async () => {
      const { home, former, ending } = await replaced();
      ending.abort();
      await former.running;
      expect(home.clock.pending()).toBe(0);
    });
  });

  test('makes a drain reject even after an attempt, which the next life repeats', async () => {
    const home = await world();
    let isBroken = false;
    await home.queue({ id: 'd-1' });
    const one = stage(
      breaking(home, () => isBroken),
      async () => {
        isBroken = true;
        return accepted;
      },
    );
    await expect(one.drain()).rejects.toThrow('no space left');
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'leased', attempts: 1 });
  });

  test('makes a drain reject rather than wait', async () => {
    const home = await world();
    await home.queue({ id: 'd-1' });
    const one = stage(
      breaking(home, () => true),
      home.accept,
    );
    await expect(one.drain()).rejects.toThrow('no space left');
  });
});
