import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  causesOf,
  percentile,
  rhythmOf,
  successRatio,
} from '../../../src/domain/statistics/flight-statistics.ts';

const HOUR = 3_600_000_000;
const DAY = 24 * HOUR;
const NOW = Date.UTC(2026, 6, 2, 12) * 1000;

describe('a percentile', () => {
  test.each([
    [[], 0.5, undefined],
    [[7], 0.5, 7],
    [[3, 1, 2], 0.5, 2],
    [[4, 3, 1, 2], 0.5, 2],
    [Array.from({ length: 100 }, (_, index) => index + 1), 0.95, 95],
    [[1, 2, 3], 1, 3],
  ])('of %j at %s is %s', (values, part, expected) => expect(percentile(values, part)).toBe(expected));

  test('is one of the values, and that share of them does not exceed it', () => {
    const values = fc.array(fc.integer(), { minLength: 1 });
    const part = fc.double({ min: 0.01, max: 1, noNaN: true });
    fc.assert(
      fc.property(values, part, (all, of) => {
        const found = percentile(all, of)!;
        expect(all).toContain(found);
        expect(all.filter((one) => one <= found).length).toBeGreaterThanOrEqual(all.length * of);
      }),
    );
  });
});

test.each([
  [0, 0, undefined],
  [3, 1, 0.75],
  [0, 2, 0],
])('%i that succeeded and %i that failed are a ratio of %s', (succeeded, failed, expected) => {
  expect(successRatio({ succeeded, failed })).toBe(expected);
});

test('failures are distinguished by their cause, not by what differs each time', () => {
  const failures = [
    { message: '', id: 'a' },
    { message: 'Provider answered 429 after 3 s', id: 'b' },
    { message: 'Provider answered 429 after 17 s\n   at Poll (line 3)', id: 'c' },
    { message: 'The file "b.docx" is too large', id: 'd' },
  ];
  expect(causesOf(failures)).toEqual([
    { error: 'Provider answered # after # s', count: 2, example: failures[1] },
    { error: '', count: 1, example: failures[0] },
    { error: 'The file … is too large', count: 1, example: failures[3] },
  ]);
});

describe('a rhythm', () => {
  const starts = (...gaps: number[]) => {
    const all = [NOW];
    for (const gap of gaps) all.push(all.at(-1)! + gap);
    return all;
  };

  test('is what most Flights follow', () => {
    const hourly = starts(HOUR, HOUR, 1.1 * HOUR, HOUR, 0.9 * HOUR);
    expect(rhythmOf(hourly)).toEqual({ everyUs: HOUR, nextUs: hourly.at(-1)! + HOUR });
    expect(rhythmOf([...hourly, 0].reverse())).toEqual(rhythmOf(hourly));
    const workdays = starts(DAY, DAY, DAY, DAY, 3 * DAY, DAY, DAY, DAY, DAY, 3 * DAY);
    expect(rhythmOf(workdays)?.everyUs).toBe(DAY);
  });

  test.each([
    ['few Flights', starts(HOUR, HOUR, HOUR)],
    ['none', []],
    ['Flights when something happens', starts(HOUR, 5 * HOUR, 60_000_000, 9 * HOUR, 2 * HOUR)],
    ['Flights that all start at once', starts(0, 0, 0, 0, 0)],
  ])('is not seen in %s', (_, given) => expect(rhythmOf(given)).toBeUndefined());
});
