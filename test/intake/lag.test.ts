import { expect, test } from 'vitest';
import type { Fact } from '../../src/domain/alert/fact.ts';
import { NestwatchError } from '../../src/errors.ts';
import { LagWatch } from '../../src/intake/health-watch.ts';
import { Schedule } from '../../src/intake/schedule/schedule.ts';
import type { RegionHealth } from '../../src/service/client.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const MINUTE = 60_000;
const MAX = 5 * MINUTE;

/** A region whose only stream is polled when a test says so. */
function regionOf() {
  const clock = createVirtualClock();
  const reported: Extract<Fact, { fact: 'polling_pace' }>[] = [];
  let health: RegionHealth['health'] = 'up';
  let pausedMs = 0;
  let failure: string | undefined;
  let isFull = false;
  const schedule = new Schedule({
    minIntervalMs: 10_000,
    intervalMs: 30_000,
    maxIntervalMs: MAX,
    allowedPerSecond: () => 2,
  });
  schedule.add({ name: 'a', feed: 'flight' }, 0);
  const watch = new LagWatch({
    region: 'eu',
    maxIntervalMs: MAX,
    schedule,
    client: { health: () => ({ health, reason: '', sinceUs: 0 }), rate: () => 2, pausedMs: () => pausedMs },
    describe: (name) => `the stream ${name}`,
    failureOf: () => failure,
    commit: async ({ facts }) => {
      if (isFull) throw new NestwatchError('disk_full', 'full');
      for (const fact of facts ?? []) if (fact.fact === 'polling_pace') reported.push(fact);
      return [];
    },
    clock,
  });
  return {
    reported,
    async minutesPass(minutes: number) {
      await clock.advance(minutes * MINUTE);
      await watch.report();
    },
    poll() {
      schedule.take(clock.monotonicMs());
      schedule.done('a', clock.monotonicMs(), { requests: 1, complete: true });
    },
    pollsPart() {
      schedule.take(clock.monotonicMs());
      schedule.done('a', clock.monotonicMs(), {
        requests: 20,
        newEntries: 2_000,
        complete: false,
        delayMs: 0,
      });
    },
    fails() {
      failure = 'searchFlights of eu: the service answered 404';
      schedule.take(clock.monotonicMs());
      schedule.done('a', clock.monotonicMs(), { delayMs: 1 });
    },
    isPaused(ms: number) {
      pausedMs = ms;
    },
    storeIs(full: 'full' | 'free') {
      isFull = full === 'full';
    },
    become(now: RegionHealth['health']) {
      health = now;
    },
  };
}

test('reports once that a region is polled too rarely, with what would be needed, and once that this is over', async () => {
  const region = regionOf();
  await region.minutesPass(6);
  await region.minutesPass(1);
  expect(region.reported).toMatchObject([
    {
      region: 'eu',
      kept: false,
      reason:
        '1 stream is read too late, most of all the stream a: last read 6 min ago, at most 5 min are meant; it would take 0.0 requests a second, 2.0 are allowed',
    },
  ]);
  region.poll();
  await region.minutesPass(1);
  await region.minutesPass(1);
  expect(region.reported.map(({ kept }) => kept)).toEqual([false, true]);
});

test('reports a backlog, although each poll succeeds, until it is read to its end', async () => {
  const region = regionOf();
  for (let minute = 0; minute < 6; minute += 2) {
    region.pollsPart();
    await region.minutesPass(2);
  }
  expect(region.reported).toMatchObject([
    {
      kept: false,
      reason:
        '1 stream is read too late, most of all the stream a: last read to its end 6 min ago, at most 5 min are meant; more has gathered there than one poll reads, and it is being caught up with',
    },
  ]);
  region.poll();
  await region.minutesPass(1);
  expect(region.reported.map(({ kept }) => kept)).toEqual([false, true]);
});

test("reports an earlier life's trouble as over, but not before a whole round was possible", async () => {
  const region = regionOf();
  region.poll();
  await region.minutesPass(4);
  expect(region.reported).toEqual([]);
  await region.minutesPass(1);
  expect(region.reported.map(({ kept }) => kept)).toEqual([true]);
});

test('reports nothing about a region that is away', async () => {
  const region = regionOf();
  region.become('down');
  await region.minutesPass(60);
  expect(region.reported).toEqual([]);
});

test('reports that reading fails if that is why, however much the rate allows', async () => {
  const region = regionOf();
  region.poll();
  for (let minute = 0; minute < 6; minute += 1) {
    await region.minutesPass(1);
    region.fails();
  }
  await region.minutesPass(0);
  expect(region.reported.at(-1)?.reason).toBe(
    '1 stream is read too late, most of all the stream a: last read 6 min ago, at most 5 min are meant; its reading fails: searchFlights of eu: the service answered 404',
  );
});

test('reports a pause that is longer than streams may wait, at once, with its end, and that it is over', async () => {
  const region = regionOf();
  region.poll();
  region.isPaused(60 * MINUTE);
  await region.minutesPass(1);
  await region.minutesPass(10);
  region.isPaused(0);
  region.poll();
  await region.minutesPass(1);
  expect(region.reported).toMatchObject([
    {
      kept: false,
      reason: expect.stringMatching(
        /^the service asks to be left alone until \d{4}-\d\d-\d\d \d\d:\d\d UTC, at most 5 min are meant between two readings; it would take 0\.0 requests a second$/,
      ),
    },
    { kept: true },
  ]);
});

test('does not report a pause that is shorter than streams may wait', async () => {
  const region = regionOf();
  region.poll();
  region.isPaused(4 * MINUTE);
  await region.minutesPass(1);
  expect(region.reported).toEqual([]);
});

test('reports again what the store did not take', async () => {
  const region = regionOf();
  region.storeIs('full');
  await expect(region.minutesPass(6)).rejects.toThrow('full');
  region.storeIs('free');
  await region.minutesPass(1);
  region.poll();
  region.storeIs('full');
  await expect(region.minutesPass(0)).rejects.toThrow('full');
  region.storeIs('free');
  await region.minutesPass(1);
  expect(region.reported.map(({ kept }) => kept)).toEqual([false, true]);
});
