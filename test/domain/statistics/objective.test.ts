import { expect, test } from 'vitest';
import { allowance, allowedFailures, burning } from '../../../src/domain/statistics/objective.ts';

const HALF_HOUR_US = 1_800_000_000;
const NOW_US = 1_000_000 * HALF_HOUR_US;
const CUSTOMERS = {
  ...{
    name: 'customers',
    match: [],
    forEach: 'nest',
    success: 0.98,
    overMs: 28 * 86_400_000,
    leastFailures: 5,
  },
};

/** How Flights ended, so many half hours ago. */
const ended = (halfHoursAgo: number, succeeded: number, failed: number) => ({
  sinceUs: NOW_US - halfHoursAgo * HALF_HOUR_US,
  succeeded,
  failed,
});

test.each([
  ['a single failure of three', [ended(1, 2, 1)], undefined],
  ['four failures of four', [ended(1, 0, 4)], undefined],
  ['six failures of 20', [ended(1, 14, 6)], 'critical'],
  ['six of 20 that ended hours ago, among many', [ended(10, 14, 6), ended(9, 400, 0)], undefined],
  ['seven in a hundred over two days, and still', [ended(90, 800, 60), ended(2, 100, 7)], 'warning'],
  ['the same, and none for six hours', [ended(90, 800, 60), ended(14, 100, 7)], undefined],
  ['two in a hundred', [ended(1, 980, 20), ended(60, 980, 20)], undefined],
])('%s', (_, ends, level) => {
  expect(burning(CUSTOMERS, ends, NOW_US)?.level).toBe(level);
});

test('missed deadlines count like failed Flights', () => {
  const missed = { sinceUs: NOW_US - HALF_HOUR_US, missed: 4 };
  const ends = [ended(1, 9, 1), missed];
  const found = burning(CUSTOMERS, ends, NOW_US);
  expect(found).toMatchObject({ level: 'critical', failed: 1, flights: 10, missed: 4 });
  // 14 in all, of which a fifth of a Flight may fail: five are used.
  expect(allowance(CUSTOMERS, ends, found!, NOW_US)).toEqual({ allowed: 0, used: 5, usedUpAtUs: NOW_US });
});

test('an objective of which ten times the pace is more than all still tells of all', () => {
  const lenient = { ...CUSTOMERS, success: 0.8 };
  expect(burning(lenient, [ended(1, 1, 9)], NOW_US)?.level).toBe('warning');
  expect(burning(lenient, [ended(1, 0, 9)], NOW_US)?.level).toBe('critical');
});

test('says what is allowed and used, and when it is used up at this pace', () => {
  const ends = [ended(500, 1_900, 31), ended(1, 63, 6)];
  const pace = { level: 'critical', failed: 6, flights: 20, missed: 0, windowUs: 2 * HALF_HOUR_US } as const;
  expect(allowance(CUSTOMERS, ends, pace, NOW_US)).toEqual({
    allowed: 40,
    used: 37,
    usedUpAtUs: NOW_US + HALF_HOUR_US,
  });
});

test.each([
  [0.9, 10, 1],
  [0.98, 400, 8],
  [0.98, 49, 0],
  [0.9995, 4_000, 2],
  [0.75, 0, 0],
])('of %d, %i Flights may fail %i times', (success, flights, allowed) => {
  expect(allowedFailures(success, flights)).toBe(allowed);
});
