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

function open({
  chance = 0.99,
  retentionDays = 30,
  watchedForDays = 60,
  roundMs = Number.POSITIVE_INFINITY,
} = {}): void {
  clock = createVirtualClock();
  const columns = createColumns();
  const options = {
    retentionMs: retentionDays * DAY_MS,
    clock,
    random: () => chance,
    overlapUs: () => OVERLAP_US,
    firstFromUs: () => TEST_START_US - watchedForDays * DAY_MS * 1000,
    roundMs: () => roundMs,
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

  test('that failed is not a rescan: the next one looks back again', () => {
    poll();
    rescans.scope(bird, agoUs(120_000));
    expect(poll().hoursBack).toBe(24);
  });

  test('that the service failed to answer postpones one part after another of what it looked at', async () => {
    poll();
    await clock.advance(HOUR_MS);
    const parts = () => {
      const pollFromUs = agoUs(120_000);
      const { fromUs, wholeFromUs, active } = rescans.scope(bird, pollFromUs, {
        isFirst: true,
        hasRoom: true,
      });
      return [
        wholeFromUs !== undefined && 'whole',
        active === 'now' && 'active',
        fromUs < pollFromUs && 'day',
      ];
    };
    const fails = () =>
      rescans.failed(
        bird.row,
        rescans.scope(bird, agoUs(120_000), { isFirst: true, hasRoom: true }),
        agoUs(120_000),
      );
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
    expect(wholeAt).toEqual([1, 24, 47, 70]);
  });

  test('looks at what was before the watch began only for what failed since', async () => {
    open({ chance: 0, watchedForDays: 0.5 });
    poll();
    const { scope } = poll();
    expect(scope.fromUs).toBe(agoUs(DAY_MS / 2));
    expect(scope.wholeFromUs).toBeLessThan(agoUs(28 * DAY_MS));
  });
});

describe('what was active before the first poll', () => {
  const asks = (given: { isFirst?: boolean; hasRoom?: boolean }) => {
    const scope = rescans.scope(bird, agoUs(120_000), given);
    rescans.done(bird, scope, clock.nowUs());
    return scope.active;
  };

  test('is requested by that poll if there is room, and not again', () => {
    expect(asks({ isFirst: true, hasRoom: true })).toBe('now');
    expect(asks({ hasRoom: true })).toBe('no');
  });

  test('is otherwise requested later, as soon as there is room', () => {
    expect(asks({ isFirst: true })).toBe('later');
    expect([asks({}), asks({}), asks({ hasRoom: true }), asks({ hasRoom: true })]).toEqual([
      'later',
      'later',
      'now',
      'no',
    ]);
  });

  test('is requested within half an hour even if there is never room', async () => {
    open({ chance: 0.99 });
    asks({ isFirst: true });
    await clock.advance(0.98 * (HOUR_MS / 2));
    expect(asks({})).toBe('later');
    await clock.advance(0.02 * (HOUR_MS / 2));
    expect([asks({}), asks({})]).toEqual(['now', 'no']);
  });

  test('is requested within twelve rounds over all Birds even if there is never room', async () => {
    open({ roundMs: 10_000 });
    asks({ isFirst: true });
    await clock.advance(0.98 * 120_000);
    expect(asks({})).toBe('later');
    await clock.advance(0.02 * 120_000);
    expect([asks({}), asks({})]).toEqual(['now', 'no']);
  });

  test('is requested with all that failed if the daily reading comes first', async () => {
    open({ chance: 0 });
    rescans.done(bird, rescans.scope(bird, agoUs(120_000), { isFirst: true }), clock.nowUs());
    expect([asks({}), asks({ hasRoom: true })]).toEqual(['now', 'no']);
  });

  test('is requested again if that poll failed', () => {
    rescans.scope(bird, agoUs(120_000), { isFirst: true, hasRoom: true });
    expect(asks({ isFirst: true })).toBe('later');
    rescans.scope(bird, agoUs(120_000), { hasRoom: true });
    expect(asks({ hasRoom: true })).toBe('now');
  });

  test('keeps a Bird from resting', async () => {
    const beganMs = clock.monotonicMs();
    asks({ isFirst: true });
    asks({});
    expect(rescans.isDoneSince(bird.row, beganMs)).toBe(false);
    asks({ hasRoom: true });
    expect(rescans.isDoneSince(bird.row, beganMs)).toBe(true);
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
