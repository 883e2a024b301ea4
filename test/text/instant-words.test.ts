import { expect, test } from 'vitest';
import { ago, dayAndSecond, dayAndTime, exactTime } from '../../src/text/instant-words.ts';

const NOON_US = Date.UTC(2026, 6, 2, 12) * 1000;
const SECOND_US = 1_000_000;

test('an instant is written in UTC, to the minute or to the second', () => {
  expect(dayAndTime(NOON_US)).toBe('2 Jul 2026, 12:00 UTC');
  expect(dayAndSecond(NOON_US + 9 * SECOND_US)).toBe('2 Jul 2026, 12:00:09 UTC');
  expect(exactTime(NOON_US + 9 * SECOND_US)).toBe('2026-07-02 12:00:09 UTC');
});

test('the past is "ago", the near future is "now", the far future is written out', () => {
  expect(ago(NOON_US - 750 * SECOND_US, NOON_US)).toBe('12 min ago');
  expect(ago(NOON_US + 60 * SECOND_US, NOON_US)).toBe('0 s ago');
  expect(ago(NOON_US + 61 * SECOND_US, NOON_US)).toBe('in 61 s');
});
