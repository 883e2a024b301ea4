import { expect, test } from 'vitest';
import { exactZoneTime } from '../../src/text/instant-words.ts';
import { isTimezone } from '../../src/time/zone-format.ts';

const NOON_US = Date.UTC(2026, 6, 2, 12) * 1000;

test('an instant is written in a zone, with the name of its time', () => {
  expect(exactZoneTime(NOON_US, 'Europe/Amsterdam')).toBe('2026-07-02 14:00:00 CEST');
  expect(exactZoneTime(NOON_US, 'America/New_York')).toBe('2026-07-02 08:00:00 GMT-4');
  expect(exactZoneTime(NOON_US - 12 * 3_600_000_000, 'UTC')).toBe('2026-07-02 00:00:00 UTC');
});

test.each([
  ['Europe/Amsterdam', true],
  ['Asia/Kolkata', true],
  ['America/Argentina/Buenos_Aires', true],
  ['UTC', true],
  ['EST5EDT', true],
  ['Europe/Nowhere', false],
  ['IST', false],
  ['bst', false],
  ['+02:00', false],
  ['', false],
  ['constructor', false],
  ['<script>', false],
  [`Europe/${'x'.repeat(500)}`, false],
])('%s is a zone: %s', (name, expected) => {
  expect(isTimezone(name)).toBe(expected);
});

test('a zone name in a thousand spellings, as a cookie might contain, takes almost no memory [long]', () => {
  const name = 'america/argentina/buenos_aires';
  const spelling = (bits: number) =>
    [...name].map((letter, at) => ((bits >> at) & 1 ? letter.toUpperCase() : letter)).join('');
  const before = process.memoryUsage.rss();
  for (let at = 0; at < 3_000; at += 1) expect(isTimezone(spelling(at * 7_919))).toBe(true);
  expect((process.memoryUsage.rss() - before) / 2 ** 20).toBeLessThan(40);
});
