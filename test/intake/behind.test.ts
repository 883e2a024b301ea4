import { expect, test } from 'vitest';
import type { Fact } from '../../src/alerts/fact.ts';
import { createBehindWatch } from '../../src/intake/behind.ts';
import { createSchedule } from '../../src/intake/schedule.ts';
import type { RegionHealth } from '../../src/service/client.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const MINUTE = 60_000;
const MAX = 5 * MINUTE;

/** A region whose only stream is polled when a test says so. */
function regionOf() {
  const clock = createVirtualClock();
  const told: Extract<Fact, { fact: 'polling_pace' }>[] = [];
  let health: RegionHealth['health'] = 'up';
  const schedule = createSchedule({
    minIntervalMs: 10_000,
    intervalMs: 30_000,
    maxIntervalMs: MAX,
    allowedPerSecond: () => 2,
  });
  schedule.add({ name: 'a', feed: 'flight' }, 0);
  const check = createBehindWatch({
    region: 'eu',
    maxIntervalMs: MAX,
    schedule,
    client: { health: () => ({ health, reason: '', sinceUs: 0 }), rate: () => 2 },
    commit: async ({ facts }) => {
      for (const fact of facts ?? []) if (fact.fact === 'polling_pace') told.push(fact);
      return [];
    },
    clock,
  });
  return {
    told,
    async minutesPass(minutes: number) {
      await clock.advance(minutes * MINUTE);
      await check();
    },
    poll() {
      schedule.take(clock.monotonicMs());
      schedule.done('a', clock.monotonicMs(), { requests: 1, complete: true });
    },
    become(now: RegionHealth['health']) {
      health = now;
    },
  };
}

test('says once that a region is polled too rarely, with what would be needed, and once that this is over', async () => {
  const region = regionOf();
  await region.minutesPass(6);
  await region.minutesPass(1);
  expect(region.told).toMatchObject([
    {
      region: 'eu',
      kept: false,
      reason:
        'a stream was last read 6 min ago, at most 5 min are meant; it would take 0.0 requests a second, 2.0 are allowed',
    },
  ]);
  region.poll();
  await region.minutesPass(1);
  await region.minutesPass(1);
  expect(region.told.map(({ kept }) => kept)).toEqual([false, true]);
});

test('says of an earlier life that its trouble is over, but not before a whole round was possible', async () => {
  const region = regionOf();
  region.poll();
  await region.minutesPass(4);
  expect(region.told).toEqual([]);
  await region.minutesPass(1);
  expect(region.told.map(({ kept }) => kept)).toEqual([true]);
});

test('says nothing of a region that is away', async () => {
  const region = regionOf();
  region.become('down');
  await region.minutesPass(60);
  expect(region.told).toEqual([]);
});
