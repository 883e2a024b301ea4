import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { createCron, cronProblem } from '../../src/time/cron.ts';
import { wallClock } from '../../src/time/zone-format.ts';
import { countProcessorMs } from '../processor-time.ts';

const us = (text: string) => Date.parse(text) * 1000;
const latest = (cron: string, until: string, after = '2020-01-01T00:00Z', timezone = 'UTC') => {
  const at = createCron(cron, timezone).latest(us(after), us(until));
  return at === undefined ? undefined : new Date(at / 1000).toISOString().slice(0, 16);
};

describe('the latest instant of a cron expression', () => {
  test.each([
    ['0 8 * * *', '2026-07-02T12:00Z', '2026-07-02T08:00'],
    ['0 8 * * *', '2026-07-02T08:00Z', '2026-07-02T08:00'],
    ['0 8 * * *', '2026-07-02T07:59:59Z', '2026-07-01T08:00'],
    ['0 8 * * 1-5', '2026-07-06T07:59Z', '2026-07-03T08:00'],
    ['*/7 * * * *', '2026-07-02T12:13:59Z', '2026-07-02T12:07'],
    ['59 23 * * *', '2026-07-02T23:58Z', '2026-07-01T23:59'],
    ['0 0 1 * *', '2026-07-31T23:59Z', '2026-07-01T00:00'],
    ['0 0 1 1 *', '2026-07-02T12:00Z', '2026-01-01T00:00'],
  ])('of %s up to %s', (cron, until, expected) => {
    expect(latest(cron, until)).toBe(expected);
  });

  test('is absent at or before the bound', () => {
    expect(latest('0 8 * * *', '2026-07-02T12:00Z', '2026-07-02T08:00Z')).toBeUndefined();
    expect(latest('0 8 * * *', '2026-07-02T12:00Z', '2026-07-02T07:59Z')).toBe('2026-07-02T08:00');
  });

  test('follows the clock of its place, with half-hour zones', () => {
    expect(latest('0 8 * * *', '2026-07-02T12:00Z', undefined, 'Europe/Amsterdam')).toBe('2026-07-02T06:00');
    expect(latest('0 8 * * *', '2026-01-02T12:00Z', undefined, 'Europe/Amsterdam')).toBe('2026-01-02T07:00');
    expect(latest('10 8 * * *', '2026-07-02T12:00Z', undefined, 'Asia/Kathmandu')).toBe('2026-07-02T02:25');
  });

  test('agrees with a walk over every minute [long]', () => {
    for (const cron of ['*/20 9-17 * * 1-5', '5,50 */6 * * *', '0 3 * * 0']) {
      const fast = createCron(cron, 'America/St_Johns');
      let expected: number | undefined;
      const from = us('2026-03-05T00:00Z');
      for (let minute = 0; minute < 5 * 1440; minute += 1) {
        const at = from + minute * 60e6;
        expected = fast.latest(at - 1, at) ?? expected;
        if (minute % 97 === 0) expect(fast.latest(from - 1, at)).toBe(expected);
      }
    }
  });
});

describe('the next instant of a cron expression', () => {
  const next = (cron: string, from: string, before = '2040-01-01T00:00Z', timezone = 'UTC') => {
    const at = createCron(cron, timezone).next(us(from), us(before));
    return at === undefined ? undefined : new Date(at / 1000).toISOString().slice(0, 16);
  };

  test.each([
    ['0 3 * * *', '2026-11-21T19:06Z', '2026-11-22T03:00'],
    ['0 8 * * *', '2026-07-02T08:00Z', '2026-07-02T08:00'],
    ['0 8 * * *', '2026-07-02T08:00:01Z', '2026-07-03T08:00'],
    ['*/7 * * * *', '2026-07-02T12:57Z', '2026-07-02T13:00'],
    ['0 2 * * 6', '2026-07-02T12:00Z', '2026-07-04T02:00'],
    ['59 23 31 12 *', '2026-07-02T12:00Z', '2026-12-31T23:59'],
    ['0 0 29 2 *', '2026-07-02T12:00Z', '2028-02-29T00:00'],
    ['0 0 L * *', '2026-07-02T12:00Z', '2026-07-31T00:00'],
    ['0 0 1W * *', '2026-07-02T12:00Z', '2026-08-03T00:00'],
    ['0 0 * * 5L', '2026-07-02T12:00Z', '2026-07-31T00:00'],
    ['0 0 * * mon#2', '2026-07-02T12:00Z', '2026-07-13T00:00'],
  ])('of %s from %s on', (cron, from, expected) => {
    expect(next(cron, from)).toBe(expected);
  });

  test('is absent at or after the bound', () => {
    expect(next('0 3 * * *', '2026-07-02T12:00Z', '2026-07-03T03:00Z')).toBeUndefined();
    expect(next('0 3 * * *', '2026-07-02T12:00Z', '2026-07-03T03:01Z')).toBe('2026-07-03T03:00');
    expect(next('0 0 29 2 *', '2026-07-02T12:00Z', '2028-02-29T00:00Z')).toBeUndefined();
  });

  test('follows the clock of its place', () => {
    expect(next('10 8 * * *', '2026-07-02T12:00Z', undefined, 'Asia/Kathmandu')).toBe('2026-07-03T02:25');
  });
});

test('problems are named', () => {
  expect(cronProblem('0 8 * * *', 'UTC')).toBeUndefined();
  expect(cronProblem('0 8 * * *', 'Nowhere')).toBe(
    '"Nowhere" is not a time zone such as Europe/Amsterdam or UTC',
  );
  expect(cronProblem('0 8 * *', 'UTC')).toMatch(/must have five fields/);
});

/** All instants from one to another, by searches in both directions, which must agree. */
function instantsOf(cron: string, timezone: string, fromUs: number, untilUs: number): string[] {
  const { next, latest: last } = createCron(cron, timezone);
  const found: number[] = [];
  for (let at = next(fromUs, untilUs); at !== undefined; at = next(at + 1, untilUs)) found.push(at);
  const back: number[] = [];
  for (let at = last(fromUs - 1, untilUs - 1); at !== undefined; at = last(fromUs - 1, at - 1))
    back.unshift(at);
  expect(back).toEqual(found);
  return found.map(isoMinute);
}

const isoMinute = (atUs: number) => new Date(atUs / 1000).toISOString().slice(0, 16);

describe('when the clocks change', () => {
  /** The local day with the change, noon to noon in UTC, and when a time comes that the change skips or repeats. */
  test.each([
    ['Europe/Amsterdam', '30 2 * * *', '2026-03-28', '2026-03-29T01:00'],
    ['Europe/Amsterdam', '30 2 * * *', '2026-10-24', '2026-10-25T00:30'],
    ['America/New_York', '30 2 * * *', '2026-03-07', '2026-03-08T07:00'],
    ['America/New_York', '30 1 * * *', '2026-10-31', '2026-11-01T05:30'],
    ['Australia/Lord_Howe', '15 2 * * *', '2026-10-03', '2026-10-03T15:30'],
    ['Australia/Lord_Howe', '45 1 * * *', '2026-04-04', '2026-04-04T14:45'],
    ['Pacific/Auckland', '30 2 * * *', '2026-09-26', '2026-09-26T14:00'],
    ['Pacific/Auckland', '30 2 * * *', '2026-04-04', '2026-04-04T13:30'],
  ])('in %s, %s comes once in the night after %s', (timezone, cron, day, expected) => {
    const noon = us(`${day}T12:00Z`);
    expect(instantsOf(cron, timezone, noon, noon + 86_400e6)).toEqual([expected]);
  });

  const spring = (cron: string) =>
    instantsOf(cron, 'Europe/Amsterdam', us('2026-03-29T00:00Z'), us('2026-03-29T02:01Z'));
  const autumn = (cron: string) =>
    instantsOf(cron, 'Europe/Amsterdam', us('2026-10-25T00:00Z'), us('2026-10-25T02:01Z'));

  test('fixed times are lists and ranges, too, and several that are skipped come as one', () => {
    for (const cron of ['0,20,40 2 * * *', '0-40/20 2-2 * * *']) {
      expect(spring(cron)).toEqual(['2026-03-29T01:00']);
      expect(autumn(cron)).toEqual(['2026-10-25T00:00', '2026-10-25T00:20', '2026-10-25T00:40']);
    }
  });

  test('with * as minute or hour, the clock is followed', () => {
    expect(spring('*/30 * * * *').map((at) => at.slice(11))).toEqual([
      '00:00',
      '00:30',
      '01:00',
      '01:30',
      '02:00',
    ]);
    expect(spring('30 * * * *').map((at) => at.slice(11))).toEqual(['00:30', '01:30']);
    expect(autumn('30 * * * *').map((at) => at.slice(11))).toEqual(['00:30', '01:30']);
    expect(spring('*/30 2 * * *')).toEqual([]);
    expect(autumn('*/30 2 * * *').map((at) => at.slice(11))).toEqual(['00:00', '00:30', '01:00', '01:30']);
  });
});

test.each([
  ['61 * * * *', 'is not valid: its minute "61" must be within 0-59'],
  ['0 25 * * *', 'is not valid: its hour "25" must be within 0-23'],
  ['0 0 32 * *', 'is not valid: its day of month "32" must be within 1-31'],
  ['0 0 * 0 *', 'is not valid: its month "0" must be within 1-12'],
  ['0 0 * * 6-8', 'is not valid: its day of week "6-8" must be within 0-7'],
  ['0 0 * * 6-1', `is not valid: its day of week "6-1": From value is larger than to value: '6-1'`],
  [
    '0 7 * * mon-funday',
    'is not valid: its day of week "mon-funday" must be numbers within 0-7 or names such as mon, or `*`',
  ],
  ['x 7 * * *', 'is not valid: its minute "x" must be numbers within 0-59, or `*`'],
  ['0 0 30 2 *', 'never matches: no day is like this'],
  ['0 0 31 2,4,6,9,11 *', 'never matches: no day is like this'],
  ['0 0 */31 * 1#5', 'never matches: no day is like this'],
])('the expression %s %s', (cron, problem) => {
  expect(cronProblem(cron, 'UTC')).toBe(`the cron expression "${cron}" ${problem}`);
});

test('rare days are not refused', () => {
  for (const cron of ['0 0 29 2 *', '0 0 */28 2 1#5']) expect(cronProblem(cron, 'UTC')).toBeUndefined();
});

describe('day of month and day of week', () => {
  const days = (cron: string) =>
    instantsOf(`0 8 ${cron}`, 'UTC', us('2026-06-01T00:00Z'), us('2026-07-01T00:00Z')).map((at) =>
      Number(at.slice(8, 10)),
    );

  test('are joined by or', () => {
    expect(days('13 * 1')).toEqual([1, 8, 13, 15, 22, 29]);
    expect(days('13 * *')).toEqual([13]);
    expect(days('* * 1')).toEqual([1, 8, 15, 22, 29]);
  });

  test('must both match if one of them begins with *, as in crontabs', () => {
    expect(days('*/7 * 1')).toEqual([1, 8, 15, 22, 29]);
    expect(days('*/2 * 1')).toEqual([1, 15, 29]);
    expect(days('1-9 * */6')).toEqual([6, 7]);
  });
});

/** A field of an expression, and what it stands for. */
interface Field {
  readonly text: string;
  readonly values: ReadonlySet<number>;
}

/**
 * What Debian's cron does, minute by minute: jobs with `*` as minute or hour run when the clock shows their time;
 * others when it reaches their time first, or jumps over it. Days must both match if one field begins with `*`.
 */
function whatCronDoes(fields: readonly Field[], timezone: string, fromUs: number, untilUs: number): string[] {
  const [minute, hour, day, month, weekday] = fields as readonly [Field, Field, Field, Field, Field];
  const clock = wallClock(timezone);
  const isStar = ({ text }: Field) => text.startsWith('*');
  const fits = (localMs: number) => {
    const at = new Date(localMs);
    if (!minute.values.has(at.getUTCMinutes()) || !hour.values.has(at.getUTCHours())) return false;
    if (!month.values.has(at.getUTCMonth() + 1)) return false;
    const two = [day.values.has(at.getUTCDate()), weekday.values.has(at.getUTCDay())];
    return isStar(day) || isStar(weekday) ? two.every(Boolean) : two.some(Boolean);
  };
  const found: number[] = [];
  let reachedMs = Number.POSITIVE_INFINITY;
  // The clocks are set back by less than this.
  for (let atMs = fromUs / 1000 - 4 * 3_600_000; atMs < untilUs / 1000; atMs += 60_000) {
    const { year, month: number, day: date, hour: hours, minute: minutes } = clock(atMs);
    const localMs = Date.UTC(year, number - 1, date, hours, minutes);
    const passed: number[] = [];
    if (isStar(minute) || isStar(hour)) passed.push(localMs);
    else for (let ms = reachedMs + 60_000; ms <= localMs; ms += 60_000) passed.push(ms);
    reachedMs = Math.max(localMs, Number.isFinite(reachedMs) ? reachedMs : localMs);
    if (atMs * 1000 >= fromUs && passed.some(fits)) found.push(atMs * 1000);
  }
  return found.map(isoMinute);
}

describe('the search', () => {
  const field = (least: number, most: number) => {
    const number = fc.integer({ min: least, max: most });
    const range = fc.tuple(number, number).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
    const step = fc.integer({ min: 1, max: 7 });
    const values = (from: number, to: number, by: number) =>
      Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, at) => from + at * by);
    const part = fc.oneof(
      number.map((one) => ({ text: String(one), values: [one] })),
      range.map(([from, to]) => ({ text: `${from}-${to}`, values: values(from, to, 1) })),
      fc
        .tuple(range, step)
        .map(([[from, to], by]) => ({ text: `${from}-${to}/${by}`, values: values(from, to, by) })),
    );
    const star = step.map((by) => ({ text: by === 1 ? '*' : `*/${by}`, values: values(least, most, by) }));
    return fc
      .oneof(
        fc.array(part, { minLength: 1, maxLength: 3 }),
        star.map((one) => [one]),
      )
      .map(
        (parts): Field => ({
          text: parts.map(({ text }) => text).join(','),
          values: new Set(parts.flatMap((one) => one.values)),
        }),
      );
  };

  test('finds what cron does, even where the clocks change [long]', () => {
    const zone = fc.constantFrom(
      'UTC',
      'Europe/Amsterdam',
      'America/New_York',
      'Pacific/Auckland',
      'America/St_Johns',
      'Asia/Kathmandu',
      'Australia/Lord_Howe',
    );
    const start = fc.constantFrom(
      ...['2026-03-28T22:00Z', '2026-10-24T22:00Z', '2026-03-08T03:00Z', '2026-11-01T03:00Z'],
      ...['2026-10-03T12:00Z', '2026-04-04T10:00Z', '2026-09-26T10:00Z', '2028-02-28T20:00Z'],
    );
    const fields = fc.tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6));
    fc.assert(
      fc.property(fields, zone, start, fc.integer({ min: 1, max: 600 }), (given, timezone, from, minutes) => {
        const cron = given.map(({ text }) => text).join(' ');
        fc.pre(cronProblem(cron, timezone) === undefined);
        const untilUs = us(from) + minutes * 60e6;
        expect(instantsOf(cron, timezone, us(from), untilUs)).toEqual(
          whatCronDoes(given, timezone, us(from), untilUs),
        );
      }),
      { numRuns: 100 },
    );
  });

  test('takes no longer for expressions that hardly ever match [long]', () => {
    const found = (days: string) => {
      const processorMs = countProcessorMs();
      const instants = Array.from({ length: 500 }, (_, at) =>
        createCron(`${at % 60} ${at % 24} ${days}`, 'America/St_Johns').latest(
          us('2026-06-25T12:00Z'),
          us('2026-07-02T12:00Z'),
        ),
      );
      return { processorMs: processorMs(), instants: instants.filter((one) => one !== undefined).length };
    };
    found('* * *');
    const daily = found('* * *');
    const rare = found('29 2 *');
    expect([daily.instants, rare.instants]).toEqual([500, 0]);
    expect(rare.processorMs).toBeLessThan(5 * daily.processorMs);
    for (let at = 0; at < 100; at += 1)
      expect(cronProblem(`${at % 60} 0 */31 * 1#5`, 'UTC')).toContain('never');
  });
});

describe('an expression is refused before it is expanded', () => {
  const { most } = LIMITS.cron_characters;

  test.each([
    ['0-99999999 * * * *', 'its minute "0-99999999" must be within 0-59'],
    ['* * * * */100', 'its day of week "*/100": steps cannot be greater'],
    [`${'0,'.repeat(most / 2 - 4)}0 * * * *`, `longer than ${most} characters`],
  ])('%s', (cron, problem) => {
    expect(cronProblem(cron, 'UTC')).toContain(problem);
    expect(() => createCron(cron, 'UTC')).toThrow(problem);
  });

  test('at and below the limit it is read', () => {
    for (const length of [most - 1, most]) {
      expect(cronProblem('0,59 8 * * 1-5'.padEnd(length), 'UTC')).toBeUndefined();
    }
    expect(cronProblem('0 8 * * *'.padEnd(most + 1), 'UTC')).toContain('longer than');
  });

  test('so is the name of a time zone, which is not repeated in full', () => {
    const problem = cronProblem('* * * * *', 'x'.repeat(100_000));
    expect(problem).toContain('is not a time zone');
    expect(problem!.length).toBeLessThan(most + 100);
  });
});
