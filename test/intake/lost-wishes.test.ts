/** What becomes of wishes when the store fails between them and the service. */
import { expect, test } from 'vitest';
import type { Action } from '../../src/domain/action/action.ts';
import { NestwatchError } from '../../src/errors.ts';
import { type Commit, createCommit } from '../../src/intake/commit.ts';
import { createFlying } from '../../src/intake/fly-again.ts';
import { sleep } from '../../src/time/clock.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

/** Wishes for the Birds, and a store that commits by `between`. */
async function flying(
  birds: readonly string[],
  between: (commit: Commit, bird: string) => Commit,
  clock = createVirtualClock(),
  pausedMs = () => 0,
  forMs = 60_000,
) {
  const store = await openMemory(clock);
  const posts: string[] = [];
  const real = createCommit({ store, rules: [], forward: [], clock, report() {}, changed() {} });
  const wish: Action = {
    ...{ id: '', name: 'fly_again', state: 'wanted', by: ['Ann'], rule: '', comment: '', reason: '' },
    ...{ region: 'eu', nestId: '1', nest: 'Prod', birdId: '', bird: '', failedFlightId: '' },
    ...{ wantedAtUs: clock.nowUs(), askedAtUs: 0, settledAtUs: 0 },
  };
  await store.transaction(async (tx) => {
    for (const birdId of birds) await tx.actions.add({ ...wish, id: birdId, birdId });
  });
  const flyAgain = createFlying({
    ...{
      region: 'eu',
      mayFly: true,
      store,
      clock,
      report() {},
      schedule: { hint() {} },
      hinted() {},
      aheadUs: () => 0,
    },
    commit: (batch) => between(real, batch.actions![0]!.birdId)(batch),
    client: {
      health: () => ({ health: 'up', reason: '', sinceUs: 0 }),
      pausedMs,
      async call(_, parameters) {
        posts.push(String((parameters as { readonly birdId: string }).birdId));
        return { status: 200, body: '', json: null };
      },
    },
    flightsReadUs: () => undefined,
  });
  const stop = new AbortController();
  const running = flyAgain.run(stop.signal);
  await clock.advance(forMs);
  stop.abort();
  await running;
  const end = (id: string) => store.transaction(async (tx) => (await tx.actions.find(id))!);
  return { posts, ends: await Promise.all(birds.map(end)) };
}

const away = () => new NestwatchError('store_down', 'the store is away');

test('while the store refuses one wish, another that takes long is asked for once', async () => {
  const clock = createVirtualClock();
  let isRefused = false;
  let isSlow = false;
  const { posts, ends } = await flying(
    ['refused', 'slow'],
    (commit, bird) => async (batch) => {
      if (bird === 'refused' && !isRefused) {
        isRefused = true;
        throw away();
      }
      if (bird === 'slow' && !isSlow) {
        isSlow = true;
        await sleep(clock, 12_000);
      }
      return commit(batch);
    },
    clock,
  );
  expect(posts.toSorted()).toEqual(['refused', 'slow']);
  expect(ends.map(({ state }) => state)).toEqual(['done', 'done']);
});

test('a wish of which the store does not say whether it may be asked for is not asked for, and ends as unknown', async () => {
  let isLost = false;
  const { posts, ends } = await flying(['a'], (commit) => async (batch) => {
    const fresh = await commit(batch);
    if (!isLost) {
      isLost = true;
      throw away();
    }
    return fresh;
  });
  expect(posts).toEqual([]);
  expect(ends).toMatchObject([{ state: 'unknown', reason: expect.stringContaining('lost its store') }]);
});

test.each([
  ['is asked for after it, if people still expect it', 60_000, 1, 'done'],
  ['ends as refused and is never asked for, if it is long', 600_000, 0, 'refused'],
] as const)('a wish during a pause that the service asked for %s', async (_, pauseMs, asked, state) => {
  const clock = createVirtualClock();
  const endMs = clock.monotonicMs() + pauseMs;
  const pausedMs = () => Math.max(0, endMs - clock.monotonicMs());
  const { posts, ends } = await flying(['a'], (commit) => commit, clock, pausedMs, 150_000);
  expect(posts).toHaveLength(asked);
  expect(ends).toMatchObject([{ state }]);
});
