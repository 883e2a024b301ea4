import { expect, test } from 'vitest';
import { fairLimits } from '../../../src/intake/schedule/schedule.ts';

const MINUTE = 60_000;
const fairLimitsMs = (...args: Parameters<typeof fairLimits>) =>
  fairLimits(...args).map(({ limitMs }) => limitMs);
const feed = (streams: number, ratePerMs: number, cost = 1) => ({ streams, cost, ratePerMs });

test('one feed may wait 1.5 times as long as if all of it were polled in turn, whatever its rate', () => {
  for (const rate of [1e-9, 1e-3]) {
    expect(fairLimitsMs([feed(100, rate)], 0.001, 60 * MINUTE)[0]).toBeCloseTo(150_000, 6);
  }
  expect(fairLimitsMs([feed(100, 1e-6, 2)], 0.001, 60 * MINUTE)[0]).toBeCloseTo(300_000, 6);
});

test('a feed with a quarter of the entries may wait twice as long, and both together use the whole rate', () => {
  const [busy, quiet] = fairLimitsMs([feed(100, 4e-6), feed(100, 1e-6)], 0.004, 60 * MINUTE);
  expect(quiet! / busy!).toBeCloseTo(2, 9);
  expect((1.5 * 100) / busy! + (1.5 * 100) / quiet!).toBeCloseTo(0.004, 9);
});

test('what the longest wait takes for a feed with almost no entries is left to no other', () => {
  const [busy, quiet] = fairLimitsMs([feed(150, 1e-3), feed(150, 1e-9)], 0.0019, 5 * MINUTE);
  expect(quiet).toBe(5 * MINUTE);
  const isQuiet = (rate: number) =>
    fairLimits([feed(150, 1e-3), feed(150, rate)], 0.0019, 5 * MINUTE).map((one) => one.isQuiet);
  expect([isQuiet(1e-9), isQuiet(1e-3)]).toEqual([
    [false, true],
    [false, false],
  ]);
  expect(busy).toBeCloseTo((1.5 * 150) / (0.0019 - 150 / (5 * MINUTE)), 3);
});

test('no stream may wait longer than the longest wait, with one feed or none', () => {
  expect(fairLimitsMs([feed(150, 1e-3)], 0.0006, 5 * MINUTE)).toEqual([5 * MINUTE]);
  expect(fairLimitsMs([], 0.001, MINUTE)).toEqual([]);
});

test('if a slow feed alone takes more than the rate, no other may wait less than the longest wait for it', () => {
  const logs = feed(1000, 1 / (60 * MINUTE));
  const flights = feed(10, 1 / (3 * MINUTE));
  const allPolledInFiveMinutes = 1010 / (5 * MINUTE);
  expect(fairLimitsMs([logs, flights], allPolledInFiveMinutes, 4.75 * MINUTE)).toEqual([
    4.75 * MINUTE,
    4.75 * MINUTE,
  ]);
});
