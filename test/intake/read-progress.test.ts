import { beforeEach, expect, test } from 'vitest';
import { ReadProgress } from '../../src/intake/read-progress.ts';
import { Schedule } from '../../src/intake/schedule/schedule.ts';
import type { FeedReads } from '../../src/region-progress.ts';
import { openMemory, type TestStore } from '../store/test-store.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../virtual-clock.ts';

let clock: VirtualClock;
let store: TestStore;
beforeEach(async () => {
  clock = createVirtualClock();
  store = await openMemory(clock);
});

/** A life that reads a Bird's log and its Flights, each at least every minute. */
async function life() {
  const schedule = new Schedule({
    ...{ minIntervalMs: 1_000, intervalMs: 10_000, maxIntervalMs: 60_000 },
    allowedPerSecond: () => 100,
  });
  const reads = new ReadProgress({ region: 'eu', store, schedule, clock });
  await reads.load();
  const follow = (birdId: string) => {
    schedule.add({ name: `logs/${birdId}`, feed: 'bird_log' }, clock.monotonicMs());
    schedule.add({ name: `flights/${birdId}`, feed: 'flight' }, clock.monotonicMs());
  };
  const poll = (...failing: string[]) => {
    for (;;) {
      const turn = schedule.take(clock.monotonicMs());
      if (!('name' in turn)) return;
      const polled = failing.includes(turn.name) ? { delayMs: 5_000 } : { requests: 1 };
      schedule.done(turn.name, clock.monotonicMs(), polled);
    }
  };
  follow('1');
  const of = (feed: FeedReads['feed']) => reads.feeds().find((one) => one.feed === feed);
  return { schedule, reads, follow, poll, of };
}

test('of a feed, the stream that was read longest ago counts', async () => {
  const { schedule, follow, poll, of } = await life();
  follow('2');
  poll();
  await clock.advance(30_000);
  poll('flights/2');
  expect(of('flight')).toEqual({ feed: 'flight', streams: 2, overdue: 0, oldestReadUs: TEST_START_US });
  expect(of('bird_log')).toMatchObject({ overdue: 0, oldestReadUs: TEST_START_US + 30e6 });
  await clock.advance(40_000);
  poll('flights/2');
  expect(of('flight')).toMatchObject({ overdue: 1, oldestReadUs: TEST_START_US });
  schedule.remove('flights/2');
  expect(of('flight')).toMatchObject({ streams: 1, overdue: 0, oldestReadUs: TEST_START_US + 70e6 });
  expect(of('notification')).toEqual({ feed: 'notification', streams: 0, overdue: 0, oldestReadUs: 0 });
});

test('a stream that was never read does not count as read, and is overdue when its time has come', async () => {
  const { poll, of } = await life();
  expect(of('flight')).toMatchObject({ overdue: 0, oldestReadUs: 0 });
  poll('flights/1');
  await clock.advance(66_001);
  expect(of('flight')).toMatchObject({ overdue: 1, oldestReadUs: 0 });
});

test('what an earlier life stored counts until a stream is read', async () => {
  const first = await life();
  first.poll();
  await first.reads.keep();
  await clock.advance(600_000);
  const { poll, of } = await life();
  expect(of('flight')!.oldestReadUs).toBe(TEST_START_US);
  poll();
  expect(of('flight')!.oldestReadUs).toBe(TEST_START_US + 600e6);
});

test('the first pass is over when each stream was read, and no later Bird begins another', async () => {
  const { reads, follow, poll } = await life();
  expect(reads.firstPass()).toEqual({ streams: 2, read: 0 });
  poll('flights/1');
  expect(reads.firstPass()).toEqual({ streams: 2, read: 1 });
  await clock.advance(5_000);
  poll();
  expect(reads.firstPass()).toBeUndefined();
  follow('2');
  expect(reads.firstPass()).toBeUndefined();
  expect(reads.feeds().at(-1)!.oldestReadUs).toBe(TEST_START_US + 5e6);
});

test('a stream that cannot be read ends the first pass when it is overdue', async () => {
  const { reads, poll } = await life();
  for (let second = 0; second <= 60; second += 5) {
    poll('flights/1');
    await clock.advance(5_000);
  }
  expect(reads.firstPass()).toEqual({ streams: 2, read: 1 });
  await clock.advance(2_000);
  expect(reads.firstPass()).toBeUndefined();
});

test('a clock that is set changes no age', async () => {
  let aheadUs = 0;
  const ours = { ...clock, nowUs: () => clock.nowUs() + aheadUs };
  const schedule = new Schedule({
    ...{ minIntervalMs: 1_000, intervalMs: 10_000, maxIntervalMs: 60_000 },
    allowedPerSecond: () => 100,
  });
  const reads = new ReadProgress({ region: 'eu', store, schedule, clock: ours });
  schedule.add({ name: 'logs/1', feed: 'bird_log' }, clock.monotonicMs());
  schedule.take(clock.monotonicMs());
  schedule.done('logs/1', clock.monotonicMs(), { requests: 1 });
  await clock.advance(20_000);
  aheadUs = 3600e6;
  const log = reads.feeds().find(({ feed }) => feed === 'bird_log');
  expect(log).toMatchObject({ overdue: 0, oldestReadUs: ours.nowUs() - 20e6 });
});
