import { beforeEach, describe, expect, test } from 'vitest';
import { createColumns } from '../../../src/intake/columns.ts';
import { FlightRescans } from '../../../src/intake/flights/flight-rescan.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../../virtual-clock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const OVERLAP_US = 120e6;

let clock: VirtualClock;
let rescans: FlightRescans;
let bird: { readonly birdId: string; readonly row: number };

const agoUs = (ms: number) => clock.nowUs() - ms * 1000;

function open({ chance = 0.99, retentionDays = 30, watchedForDays = 60 } = {}): void {
  clock = createVirtualClock();
  const columns = createColumns();
  const options = {
    retentionMs: retentionDays * DAY_MS,
    clock,
    random: () => chance,
    overlapUs: () => OVERLAP_US,
    firstFromUs: () => TEST_START_US - watchedForDays * DAY_MS * 1000,
  };
  rescans = new FlightRescans(options, columns);
  bird = { birdId: '7', row: columns.addRow() };
  rescans.begin(bird.row);
}

/** A poll that must begin two minutes ago. */
function poll() {
  const scope = rescans.scope(bird, agoUs(120_000));
  rescans.done(bird, scope, clock.nowUs());
  return { hoursBack: Math.floor((clock.nowUs() - scope.fromUs) / (HOUR_MS * 1000)), scope };
}

beforeEach(() => open());

describe('a poll of Flights', () => {
  test('looks no further than necessary before the service has given its time', () => {
    expect(poll().hoursBack).toBe(0);
  });

  test('looks a day back once an hour', async () => {
    poll();
    const seen: number[] = [];
    for (let half = 0; half < 5; half += 1) {
      seen.push(poll().hoursBack);
      await clock.advance(HOUR_MS / 2);
    }
    expect(seen).toEqual([24, 0, 24, 0, 24]);
  });

  test('that the service failed to answer postpones one part after another of what it looked at', async () => {
    poll();
    await clock.advance(HOUR_MS);
    const parts = () => {
      const pollFromUs = agoUs(120_000);
      const { fromUs, wholeFromUs, active } = rescans.scope(bird, pollFromUs);
      return [wholeFromUs !== undefined && 'whole', active && 'active', fromUs < pollFromUs && 'day'];
    };
    const fails = () => rescans.failed(bird.row, rescans.scope(bird, agoUs(120_000)), agoUs(120_000));
    rescans.readsAll(bird.row);
    expect(parts()).toEqual(['whole', 'active', 'day']);
    fails();
    expect(parts()).toEqual([false, 'active', 'day']);
    fails();
    expect(parts()).toEqual([false, false, 'day']);
    fails();
    expect(parts()).toEqual([false, false, false]);
    await clock.advance(HOUR_MS / 2);
    expect(parts()).toEqual(['whole', 'active', 'day']);
  });

  test('reads all failed or active Flights once a day, as far back as the store certainly reaches', async () => {
    poll();
    const wholeAt: number[] = [];
    for (let half = 0; half < 144; half += 1) {
      const { wholeFromUs } = poll().scope;
      if (wholeFromUs !== undefined) {
        wholeAt.push(half / 2);
        expect(wholeFromUs).toBeGreaterThan(agoUs(30 * DAY_MS));
        expect(wholeFromUs).toBeLessThan(agoUs(28 * DAY_MS));
      }
      await clock.advance(HOUR_MS / 2);
    }
    expect(wholeAt).toEqual([1, 23.5, 46, 68.5]);
  });
});

describe('the first poll of a Bird', () => {
  beforeEach(() => rescans.readsAll(bird.row));

  test('reads all that is active or failed, and the next one only after a day', async () => {
    const { scope } = poll();
    expect(scope.active).toBe(true);
    expect(scope.wholeFromUs).toBeLessThan(agoUs(28 * DAY_MS));
    expect(scope.wholeFromUs).toBeGreaterThan(agoUs(30 * DAY_MS));
    const wholeAt: number[] = [];
    for (let half = 0; half < 96; half += 1) {
      if (poll().scope.wholeFromUs !== undefined) wholeAt.push(half / 2);
      await clock.advance(HOUR_MS / 2);
    }
    expect(wholeAt).toEqual([22.5, 45]);
  });

  test('reads it again if it failed, part by part', async () => {
    const fails = () => rescans.failed(bird.row, rescans.scope(bird, agoUs(120_000)), agoUs(120_000));
    const parts = () => {
      const { wholeFromUs, active } = rescans.scope(bird, agoUs(120_000));
      return [wholeFromUs !== undefined, active];
    };
    fails();
    expect(parts()).toEqual([false, true]);
    fails();
    expect(parts()).toEqual([false, false]);
    poll();
    await clock.advance(HOUR_MS / 2);
    expect(parts()).toEqual([true, true]);
  });

  test('keeps the Bird from resting until it has succeeded', () => {
    const beganMs = clock.monotonicMs();
    rescans.failed(bird.row, rescans.scope(bird, agoUs(120_000)), agoUs(120_000));
    poll();
    poll();
    expect(rescans.isDoneSince(bird.row, beganMs)).toBe(false);
  });
});

describe('what is proven complete', () => {
  test('is nothing before the first rescan, and then up to an overlap before it', async () => {
    poll();
    expect(rescans.verifiedUs(bird.row)).toBe(0);
    poll();
    const rescanedUs = clock.nowUs();
    await clock.advance(HOUR_MS / 2);
    poll();
    expect(rescans.verifiedUs(bird.row)).toBe(rescanedUs - OVERLAP_US);
  });

  test('is taken back as far as something turns out to be unread, by any poll', () => {
    poll();
    poll();
    const unreadUs = agoUs(2 * HOUR_MS);
    rescans.done(bird, rescans.scope(bird, agoUs(120_000)), clock.nowUs(), unreadUs);
    expect(rescans.verifiedUs(bird.row)).toBe(unreadUs);
  });

  test('advances with every poll of a Bird whose Flights are all older than a day', async () => {
    for (let minute = 0; minute < 10; minute += 1) {
      rescans.done(bird, rescans.scope(bird, agoUs(2 * DAY_MS)), clock.nowUs());
      expect(rescans.verifiedUs(bird.row)).toBe(clock.nowUs() - OVERLAP_US);
      await clock.advance(60_000);
    }
  });
});

test('a Bird may rest after a look back over a day since then, until the daily reading is due', async () => {
  const beganMs = clock.monotonicMs();
  expect(rescans.isDoneSince(bird.row, beganMs)).toBe(false);
  poll();
  expect(rescans.isDoneSince(bird.row, beganMs)).toBe(false);
  poll();
  expect([rescans.isDoneSince(bird.row, beganMs), rescans.isDoneSince(bird.row, beganMs + 1)]).toEqual([
    true,
    false,
  ]);
  await clock.advance(HOUR_MS);
  expect(rescans.isDoneSince(bird.row, beganMs)).toBe(false);
});
