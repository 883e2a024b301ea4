import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  admission,
  afterStormUs,
  foldEnds,
  type ReceiverPace,
  throttle,
} from '../../../src/domain/grouping/throttle.ts';

const HOUR_US = 3_600_000_000;

test('a cap admits until it is full, and again when the oldest notification is an hour old', () => {
  expect(admission([], 2, 10)).toEqual({ recentUs: [], freeAtUs: null });
  expect(admission([5], 2, 10)).toEqual({ recentUs: [5], freeAtUs: null });
  expect(admission([5, 7], 2, 10)).toEqual({ recentUs: [5, 7], freeAtUs: 5 + HOUR_US });
  expect(admission([5, 7], 2, 5 + HOUR_US - 1).freeAtUs).toBe(5 + HOUR_US);
  expect(admission([5, 7], 2, 5 + HOUR_US)).toEqual({ recentUs: [7], freeAtUs: null });
});

test('a lowered cap waits until enough notifications are old', () => {
  expect(admission([1, 2, 3, 4], 2, 10).freeAtUs).toBe(3 + HOUR_US);
});

test('what is ahead of a clock that was set back is not counted', () => {
  expect(admission([5, 50], 2, 10)).toEqual({ recentUs: [5], freeAtUs: null });
});

test('in no hour are more than the cap admitted', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.integer({ min: 0, max: HOUR_US / 3 }), { maxLength: 40, size: 'max' }),
      (max, steps) => {
        let nowUs = 0;
        let queuedAtUs: readonly number[] = [];
        const told: number[] = [];
        for (const step of steps) {
          nowUs += step;
          const { recentUs, freeAtUs } = admission(queuedAtUs, max, nowUs);
          queuedAtUs = recentUs;
          if (freeAtUs !== null) continue;
          queuedAtUs = [...recentUs, nowUs];
          told.push(nowUs);
        }
        for (const at of told) {
          expect(told.filter((one) => one >= at && one < at + HOUR_US).length).toBeLessThanOrEqual(max);
        }
      },
    ),
  );
});

describe('a storm', () => {
  const MINUTE_US = 60_000_000;
  const minutes = (...at: number[]) => at.map((minute) => minute * MINUTE_US);
  const free = (told: number[], now: number, folded = -1) => {
    const us = afterStormUs(minutes(...told), folded * MINUTE_US, 300_000, now * MINUTE_US);
    return us === null ? null : us / MINUTE_US;
  };

  test('begins with the fourth notification within twice the time, and then waits for the time', () => {
    expect(free([], 20)).toBeNull();
    expect(free([19, 19.5], 20)).toBeNull();
    expect(free([18, 19, 19.5], 20)).toBe(24.5);
    expect(free([18, 19, 19.5], 24.5)).toBeNull();
  });

  test('is over when few were notified within twice the time', () => {
    expect(free([10, 18, 19], 20)).toBeNull();
    expect(free([10.1, 18, 19], 20)).toBe(24);
  });

  test('continues while several are put together each time', () => {
    expect(free([16], 20, 16)).toBe(21);
    expect(free([16], 21, 16)).toBeNull();
    expect(free([16], 20, 4)).toBeNull();
  });

  test('does not wait for what is ahead of a clock that was set back', () => {
    expect(free([30, 31, 32], 20, 32)).toBeNull();
  });
});

test('what was held back is said with every limit that there is', () => {
  const pace = { receiver: 'ops', queuedAtUs: [], heldBack: 2 };
  const notices = (limits: Parameters<typeof throttle>[0]) => throttle(limits, pace, true, 10).notices;
  const before = '2 notifications were held back before this one:';
  const [cap, storm] = ['at most 4 an hour are sent', 'what comes in a storm is sent together, every 5 min'];
  expect(notices({ maxNotificationsPerHour: 4 })).toEqual([`${before} ${cap}.`]);
  expect(notices({ foldStormsMs: 300_000 })).toEqual([`${before} ${storm}.`]);
  expect(notices({ maxNotificationsPerHour: 4, foldStormsMs: 300_000 })).toEqual([
    `${before} ${cap}, and ${storm}.`,
  ]);
  expect(notices({})).toEqual([]);
});

test('of what was told in an hour only the last few are kept, unless they are counted', () => {
  let pace: ReceiverPace = { receiver: 'ops', queuedAtUs: [], heldBack: 0 };
  const kept = (limits: Parameters<typeof throttle>[0]) => {
    for (let at = 1; at <= 50; at += 1) ({ pace } = throttle(limits, pace, false, at));
    return pace.queuedAtUs.length;
  };
  expect(kept({})).toBeLessThan(10);
  pace = { receiver: 'ops', queuedAtUs: [], heldBack: 0 };
  expect(kept({ maxNotificationsPerHour: 60 })).toBe(50);
});

describe('what ends', () => {
  const MINUTE_US = 60_000_000;
  let pace: ReceiverPace;
  /** When the group tells it, if it is due at this minute; null for now. */
  const tells = (group: string, minute: number) => {
    const folded = foldEnds(300_000, pace, group, minute * MINUTE_US);
    pace = folded.pace;
    return folded.untilUs === null ? null : folded.untilUs / MINUTE_US;
  };
  const notified = (...minutes: number[]) => {
    pace = { receiver: 'ops', queuedAtUs: minutes.map((at) => at * MINUTE_US), heldBack: 0 };
  };

  test('is told at once if nothing was for a while', () => {
    notified(20, 40);
    expect(tells('a', 25)).toBeNull();
    expect(pace.ends).toBeUndefined();
  });

  test('waits from the first on, and alone is told by its group', () => {
    notified(20);
    expect([tells('a', 22), tells('a', 23), tells('a', 27)]).toEqual([27, 27, null]);
    expect(pace.ends).toBeUndefined();
  });

  test('of several groups is told together', () => {
    notified(20);
    expect([tells('a', 22), tells('b', 26), tells('b', 27), tells('a', 27)]).toEqual([27, 27, 27, 27]);
  });

  test('begins to wait again after another group told what it waited with', () => {
    notified(20);
    expect([tells('a', 22), tells('b', 28)]).toEqual([27, null]);
    notified(20, 27);
    expect(tells('b', 28)).toBe(33);
  });

  test('does not wait for what a clock that was set back left', () => {
    notified(200);
    tells('a', 201);
    expect(tells('a', 100)).toBeNull();
  });
});
