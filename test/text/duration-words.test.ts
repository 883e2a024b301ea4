import { describe, expect, test } from 'vitest';
import { durationWords, type Precision } from '../../src/text/instant-words.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;

const cases: Readonly<Record<Precision, readonly (readonly [seconds: number, words: string])[]>> = {
  'two units': [
    [-5, '0 s'],
    [0, '0 s'],
    [59.9, '59 s'],
    [60, '1 min'],
    [119, '1 min'],
    [HOUR - 1, '59 min'],
    [HOUR, '1 h'],
    [HOUR + 59, '1 h'],
    [2 * HOUR + 10 * 60, '2 h 10 min'],
    [DAY, '1 day'],
    [DAY + 59 * 60, '1 day'],
    [DAY + HOUR, '1 day 1 h'],
    [3 * DAY + 4 * HOUR, '3 days 4 h'],
  ],
  'one unit': [
    [-5, '0 s'],
    [0, '0 s'],
    [1.9, '1 s'],
    [119, '119 s'],
    [120, '2 min'],
    [2 * HOUR - 1, '119 min'],
    [2 * HOUR, '2 h'],
    [2 * DAY - 1, '47 h'],
    [2 * DAY, '2 days'],
    [400 * DAY, '400 days'],
  ],
  rounded: [
    [0, '0 s'],
    [1.5, '2 s'],
    [90, '1.5 min'],
    [42 * 60, '42 min'],
    [1.5 * HOUR, '1.5 h'],
    [26.4 * HOUR, '26 h'],
    [3 * DAY, '3 d'],
    [3.25 * DAY, '3.3 d'],
  ],
  exact: [
    [0, '0 s'],
    [1.5, '1.5 s'],
    [90, '90 s'],
    [600, '10 min'],
    [26 * HOUR, '26 h'],
    [DAY, '1 d'],
  ],
};

describe.each(Object.entries(cases))('a duration, %s', (precision, durations) => {
  test.each(durations)('of %d seconds is %s', (seconds, words) => {
    expect(durationWords(seconds * 1000, precision as Precision)).toBe(words);
  });
});
