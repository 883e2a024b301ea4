import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import type { Store } from '../../src/store/store.ts';
import { accepted, before, begin, failing, stage, world } from './outbox-world.ts';

describe('stopping', () => {
  test('finishes what is in flight and frees what was claimed but not begun', async () => {
    const home = await world();
    const open = Promise.withResolvers<Outcome>();
    for (let index = 0; index < 30; index += 1) await home.queue({ id: `d-${index}` });
    const { abort, running } = begin(home, () => open.promise);
    await home.clock.advance(10);
    expect((await home.states()).leased).toBe(30);
    abort();
    await home.clock.advance(10);
    expect(await home.states()).toEqual({ leased: 8, retry: 22 });
    open.resolve(accepted);
    await running;
    expect(await home.states()).toEqual({ delivered: 8, retry: 22 });
    expect(home.clock.pending()).toBe(0);
  });

  test('makes no query while what is in flight continues', async () => {
    const home = await world();
    const open = Promise.withResolvers<Outcome>();
    let transactions = 0;
    const counting = before(home, () => {
      transactions += 1;
    });
    await home.queue({ id: 'd-1' });
    const { abort, running } = begin(counting, () => open.promise);
    await home.clock.advance(10);
    transactions = 0;
    abort();
    await home.clock.advance(60_000);
    expect(transactions).toBe(0);
    open.resolve(accepted);
    await running;
    expect(await home.states()).toEqual({ delivered: 1 });
  });

  test('while due deliveries are looked up claims none of them', async () => {
    const home = await world();
    const look = Promise.withResolvers<void>();
    const store: Store = {
      ...home.store,
      async transaction(work) {
        const result = await home.store.transaction(work);
        if (result !== undefined) await look.promise;
        return result;
      },
    };
    await home.queue({ id: 'd-1' });
    const { abort, running } = begin({ ...home, store }, async () => accepted);
    await home.clock.advance(10);
    abort();
    look.resolve();
    await running;
    expect(await home.states()).toEqual({ pending: 1 });
  });

  test('is immediate when nothing is in flight', async () => {
    const home = await world();
    const { stop } = begin(home, async () => accepted);
    await home.clock.advance(10);
    await stop();
    expect(home.clock.pending()).toBe(0);
  });
});

describe('draining', () => {
  test('attempts everything that is due once, whole lanes in order, and leaves what must wait', async () => {
    const home = await world();
    const tries: string[] = [];
    for (const id of ['a1', 'a2', 'x']) await home.queue({ id, lane: id[0]! });
    await stage(home, async ({ id }) => {
      tries.push(id);
      return id === 'x' ? failing('HTTP 503') : accepted;
    }).drain();
    expect(tries.toSorted()).toEqual(['a1', 'a2', 'x']);
    expect(await home.states()).toEqual({ delivered: 2, retry: 1 });
  });

  test('resolves at once when nothing is due', async () => {
    const home = await world();
    await stage(home, async () => accepted).drain();
    expect(await home.states()).toEqual({});
  });
});
