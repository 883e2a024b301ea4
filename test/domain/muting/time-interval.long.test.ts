import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createTimeInterval,
  mutingIntervals,
  type Span,
  type TimeIntervalSpec,
} from '../../../src/domain/muting/muting.ts';

const us = (text: string) => Date.parse(text) * 1000;

/** Whether the interval contains the instant, in UTC unless it says otherwise. */
function holds(spec: Partial<TimeIntervalSpec>, instant: string): boolean {
  return createTimeInterval({ location: 'UTC', ...spec }).contains(us(instant));
}

describe('a time interval', () => {
  test('without lists contains everything', () => {
    expect(holds({}, '2026-07-02T12:00:00Z')).toBe(true);
  });

  test('contains the minute in which it starts and not that in which it ends', () => {
    const times = [{ from: 9 * 60, to: 17 * 60 }];
    const at = ['08:59:59.999', '09:00:00', '16:59:59.999', '17:00:00'];
    expect(at.map((time) => holds({ times }, `2026-07-02T${time}Z`))).toEqual([false, true, true, false]);
  });

  test('up to 24:00 contains the last minute of the day', () => {
    expect(holds({ times: [{ from: 1380, to: 1440 }] }, '2026-07-02T23:59:59.999Z')).toBe(true);
  });

  test('must match each of its lists, by one entry of the list', () => {
    const spec = {
      weekdays: [
        { from: 4, to: 4 },
        { from: 6, to: 6 },
      ],
      months: [{ from: 7, to: 7 }],
    };
    expect(holds(spec, '2026-07-02T12:00:00Z')).toBe(true);
    expect(holds(spec, '2026-07-03T12:00:00Z')).toBe(false);
    expect(holds(spec, '2026-07-04T12:00:00Z')).toBe(true);
    expect(holds(spec, '2026-08-01T12:00:00Z')).toBe(false);
  });

  test.each([
    ['the last day', -1, -1, '2026-02-28 2028-02-29 2026-04-30', '2028-02-28 2026-04-29'],
    ['a day that the month does not have', 31, 31, '2026-05-31', '2026-04-30 2026-05-01'],
    ['a range over the end of the month', 28, 31, '2026-02-28 2026-04-30', '2026-04-27'],
    ['a range from a day to the end', 25, -1, '2026-02-25 2026-05-31', '2026-05-24'],
    ['a range that begins before the month', -31, -28, '2026-02-01 2026-05-04', '2026-02-02'],
  ])('%s [long]', (_, from, to, inside, outside) => {
    const at = (date: string) => holds({ daysOfMonth: [{ from, to }] }, `${date}T12:00:00Z`);
    expect(inside.split(' ').map(at)).not.toContain(false);
    expect(outside.split(' ').map(at)).not.toContain(true);
  });

  test('follows the clocks of its location, even when they change', () => {
    const spec = { location: 'Europe/Amsterdam', times: [{ from: 120, to: 180 }] };
    // Between 02:00 and 03:00: in winter at 01 h UTC, in summer at 00 h, twice in the night when summer ends, and
    // never when it begins.
    const hours = (date: string) => [0, 1, 2].filter((hour) => holds(spec, `${date}T0${hour}:30:00Z`));
    expect(hours('2026-01-15')).toEqual([1]);
    expect(hours('2026-07-15')).toEqual([0]);
    expect(hours('2026-10-25')).toEqual([0, 1]);
    expect(hours('2026-03-29')).toEqual([]);
  });

  test('also takes the date from its location', () => {
    const newYear = { years: [{ from: 2027, to: 2027 }], weekdays: [{ from: 5, to: 5 }] };
    expect(holds({ ...newYear, location: 'Pacific/Auckland' }, '2026-12-31T12:00:00Z')).toBe(true);
    expect(holds({ ...newYear, location: 'UTC' }, '2026-12-31T12:00:00Z')).toBe(false);
  });

  test('of an unknown location cannot be created', () => {
    expect(() => createTimeInterval({ location: 'Mars/Base' })).toThrow(RangeError);
  });
});

/**
 * The reference: takes an instant's wall time from the text that Intl writes, its weekday from Zeller's congruence,
 * and the length of a month from the calendar's rule. Each list is expanded to the set of all its values.
 */
function reference(spec: TimeIntervalSpec, atMs: number): boolean {
  const text = new Intl.DateTimeFormat('sv-SE', {
    timeZone: spec.location,
    dateStyle: 'short',
    timeStyle: 'medium',
  }).format(atMs);
  type WallTime = [year: number, month: number, day: number, hour: number, minute: number];
  const [year, month, day, hour, minute] = text.split(/\D/).map(Number) as WallTime;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const length = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]!;
  const zellerMonth = month < 3 ? month + 12 : month;
  const zellerYear = month < 3 ? year - 1 : year;
  const zeller =
    (day +
      Math.floor((13 * (zellerMonth + 1)) / 5) +
      zellerYear +
      Math.floor(zellerYear / 4) -
      Math.floor(zellerYear / 100) +
      Math.floor(zellerYear / 400)) %
    7;
  const weekday = (zeller + 6) % 7;
  const all = (spans: readonly Span[], isEndExclusive = false): Set<number> =>
    new Set(
      spans.flatMap(({ from, to }) =>
        Array.from({ length: Math.max(0, to - from + (isEndExclusive ? 0 : 1)) }, (_, index) => from + index),
      ),
    );
  const days = (spec.daysOfMonth ?? []).map(({ from, to }) => ({
    from: from > 0 ? from : length + 1 + from,
    to: to > 0 ? to : length + 1 + to,
  }));
  return (
    (!spec.times || all(spec.times, true).has(hour * 60 + minute)) &&
    (!spec.weekdays || all(spec.weekdays).has(weekday)) &&
    (!spec.daysOfMonth || all(days).has(day)) &&
    (!spec.months || all(spec.months).has(month)) &&
    (!spec.years || all(spec.years).has(year))
  );
}

/** Ranges as the configuration accepts them. */
const span = (least: number, most: number) =>
  fc
    .tuple(fc.integer({ min: least, max: most }), fc.integer({ min: least, max: most }))
    .map(([a, b]): Span => ({ from: Math.min(a, b), to: Math.max(a, b) }));
const days = fc
  .tuple(fc.integer({ min: -31, max: 31 }), fc.integer({ min: -31, max: 31 }))
  .filter(([from, to]) => {
    if (from === 0 || to === 0 || (from < 0 && to > 0)) return false;
    return (from < 0 ? 28 + from : from) <= (to < 0 ? 28 + to : to);
  })
  .map(([from, to]): Span => ({ from, to }));
const LOCATIONS = [
  'UTC',
  'Europe/Amsterdam',
  'America/New_York',
  'America/St_Johns',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Kiritimati',
  'Africa/Casablanca',
];
const some = <T>(one: fc.Arbitrary<T>) =>
  fc.option(fc.array(one, { minLength: 1, maxLength: 3 }), { nil: undefined });
const anySpec: fc.Arbitrary<TimeIntervalSpec> = fc.record({
  times: some(span(0, 1440)),
  weekdays: some(span(0, 6)),
  daysOfMonth: some(days),
  months: some(span(1, 12)),
  years: some(span(2024, 2032)),
  location: fc.constantFrom(...LOCATIONS),
});
/** Mostly near a change of clocks, or the end of a month or year, where mistakes are likely. */
const EDGES = [
  '2026-03-29T01:00Z',
  '2026-10-25T01:00Z',
  '2028-02-29T00:00Z',
  '2027-01-01T00:00Z',
  '2026-05-01T00:00Z',
];
const SPECS = 200;
const anyInstant = fc.oneof(
  fc.integer({ min: Date.parse('2024-01-01T00:00Z'), max: Date.parse('2032-12-31T23:59Z') }),
  fc
    .tuple(fc.constantFrom(...EDGES), fc.integer({ min: -172_800, max: 172_800 }))
    .map(([edge, seconds]) => Date.parse(edge) + seconds * 1000),
);

test(`agrees with an independent reference at ${8 * SPECS} random instants [long]`, () => {
  let held = 0;
  fc.assert(
    fc.property(anySpec, fc.array(anyInstant, { minLength: 8, maxLength: 8 }), (spec, instants) => {
      const interval = createTimeInterval(spec);
      for (const atMs of instants) {
        const expected = reference(spec, atMs);
        if (expected) held += 1;
        expect(interval.contains(atMs * 1000 + 999)).toBe(expected);
      }
    }),
    { numRuns: SPECS },
  );
  // Neither answer may be so rare that the comparison means nothing.
  expect(held).toBeGreaterThan(0.4 * SPECS);
  expect(held).toBeLessThan(3_800);
});

describe('a route', () => {
  const at = us('2026-07-02T12:00:00Z');
  const day = createTimeInterval({ times: [{ from: 540, to: 1020 }], location: 'UTC' });
  const night = createTimeInterval({ times: [{ from: 0, to: 540 }], location: 'UTC' });
  const intervals = new Map([
    ['day', [day]],
    ['night', [night]],
    ['both', [night, day]],
  ]);
  const muting = (muteTimeIntervals: string[], activeTimeIntervals: string[]) =>
    mutingIntervals({ muteTimeIntervals, activeTimeIntervals }, intervals, at);

  test('is muted by those of its mute intervals that contain the instant', () => {
    expect(muting(['day', 'night', 'both'], [])).toEqual(['day', 'both']);
    expect(muting(['night'], [])).toEqual([]);
    expect(mutingIntervals({}, intervals, at)).toEqual([]);
  });

  test('is muted by all its active intervals if none of them contains the instant', () => {
    expect(muting([], ['night', 'unknown'])).toEqual(['night', 'unknown']);
    expect(muting([], ['night', 'day'])).toEqual([]);
    expect(muting(['day'], ['night'])).toEqual(['night', 'day']);
  });
});
