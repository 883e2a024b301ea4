import fc from 'fast-check';
import { createTask } from 'node-cron';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { createCron, cronProblem } from '../../src/time/cron.ts';
import { amountOf } from '../cases.ts';
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
  ])('of %s up to %s', (cron, until, expected) => {
    expect(latest(cron, until)).toBe(expected);
  });

  test('is absent at or before the bound, and further back than 35 days', () => {
    expect(latest('0 8 * * *', '2026-07-02T12:00Z', '2026-07-02T08:00Z')).toBeUndefined();
    expect(latest('0 8 * * *', '2026-07-02T12:00Z', '2026-07-02T07:59Z')).toBe('2026-07-02T08:00');
    expect(latest('0 0 1 1 *', '2026-07-02T12:00Z')).toBeUndefined();
  });

  test('follows the clock of its place, with half-hour zones and clock changes', () => {
    expect(latest('0 8 * * *', '2026-07-02T12:00Z', undefined, 'Europe/Amsterdam')).toBe('2026-07-02T06:00');
    expect(latest('0 8 * * *', '2026-01-02T12:00Z', undefined, 'Europe/Amsterdam')).toBe('2026-01-02T07:00');
    expect(latest('10 8 * * *', '2026-07-02T12:00Z', undefined, 'Asia/Kathmandu')).toBe('2026-07-02T02:25');
    // 02:30 does not exist on 29 March 2026, and occurs twice on 25 October.
    const night = (until: string) => latest('30 2 * * *', until, undefined, 'Europe/Amsterdam');
    expect(night('2026-03-29T12:00Z')).toBe('2026-03-28T01:30');
    expect(night('2026-10-25T01:00Z')).toBe('2026-10-25T00:30');
    expect(night('2026-10-25T12:00Z')).toBe('2026-10-25T01:30');
  });

  test('agrees with a walk over every minute', () => {
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
  ])('of %s from %s on', (cron, from, expected) => {
    expect(next(cron, from)).toBe(expected);
  });

  test('is absent at or after the bound', () => {
    expect(next('0 3 * * *', '2026-07-02T12:00Z', '2026-07-03T03:00Z')).toBeUndefined();
    expect(next('0 3 * * *', '2026-07-02T12:00Z', '2026-07-03T03:01Z')).toBe('2026-07-03T03:00');
    expect(next('0 0 29 2 *', '2026-07-02T12:00Z', '2028-02-29T00:00Z')).toBeUndefined();
  });

  test('follows the clock of its place', () => {
    const night = (from: string) => next('30 2 * * *', from, undefined, 'Europe/Amsterdam');
    expect(night('2026-03-28T12:00Z')).toBe('2026-03-30T00:30');
    expect(night('2026-10-25T00:31Z')).toBe('2026-10-25T01:30');
    expect(next('10 8 * * *', '2026-07-02T12:00Z', undefined, 'Asia/Kathmandu')).toBe('2026-07-03T02:25');
  });

  test('agrees with the latest one before it', () => {
    for (const cron of ['*/20 9-17 * * 1-5', '5,50 */6 * * *', '0 3 * * 0']) {
      const { next: first, latest: last } = createCron(cron, 'America/St_Johns');
      for (let from = us('2026-03-05T00:00Z'); from < us('2026-03-12T00:00Z'); from += 97 * 60e6) {
        const at = first(from, us('2026-05-01T00:00Z'))!;
        expect(last(from - 1, at)).toBe(at);
        expect(last(from - 1, at - 1)).toBeUndefined();
      }
    }
  });
});

test('problems are named', () => {
  expect(cronProblem('0 8 * * *', 'UTC')).toBeUndefined();
  expect(cronProblem('0 8 * * *', 'Nowhere')).toBe(
    '"Nowhere" is not a time zone such as Europe/Amsterdam or UTC',
  );
  expect(cronProblem('0 8 * *', 'UTC')).toMatch(/must have five fields/);
  expect(cronProblem('0 25 * * *', 'UTC')).toMatch(/^the cron expression "0 25 \* \* \*" is not valid: /);
});

describe('the search', () => {
  const list = (most: number, least = 0, more: readonly string[] = []) => {
    const number = fc.integer({ min: least, max: most });
    const range = fc.tuple(number, number).map(([from, to]) => `${from}-${to}`);
    const one = fc.oneof(
      number.map(String),
      range,
      fc.tuple(fc.oneof(range, fc.constant('*')), fc.integer({ min: 1, max: 40 })).map((of) => of.join('/')),
      fc.constantFrom('*', ...more),
    );
    return fc.oneof(
      { weight: 2, arbitrary: fc.constant('*') },
      fc.array(one, { minLength: 1, maxLength: 3 }).map(String),
    );
  };
  const expression = fc
    .tuple(
      list(59),
      list(23),
      list(31, 1, ['L', '15W', 'LW', 'L-3']),
      list(12, 1, ['jan', 'mar-may']),
      list(7, 0, ['sun', 'mon-fri', '5L', '2#3']),
    )
    .map((fields) => fields.join(' '))
    .filter((cron) => cronProblem(cron, 'UTC') === undefined);

  test('finds what node-cron says of every minute, even where the clocks change', () => {
    const zone = fc.constantFrom(
      'UTC',
      'Europe/Amsterdam',
      'America/St_Johns',
      'Asia/Kathmandu',
      'Australia/Lord_Howe',
    );
    const start = fc.constantFrom(
      '2026-03-28T22:00Z',
      '2026-10-24T22:00Z',
      '2026-10-03T12:00Z',
      '2026-11-01T03:00Z',
      '2028-02-28T20:00Z',
    );
    fc.assert(
      fc.property(
        expression,
        zone,
        start,
        fc.integer({ min: 1, max: 600 }),
        (cron, timezone, from, minutes) => {
          const task = createTask(cron, () => {}, { timezone });
          task.destroy();
          const fromUs = us(from);
          const fitting: number[] = [];
          for (let minute = 0; minute <= minutes; minute += 1) {
            const atUs = fromUs + minute * 60e6;
            if (task.match(new Date(atUs / 1000))) fitting.push(atUs);
          }
          const untilUs = fromUs + minutes * 60e6;
          const search = createCron(cron, timezone);
          expect(search.next(fromUs, untilUs + 1)).toBe(fitting[0]);
          expect(search.latest(fromUs - 1, untilUs)).toBe(fitting.at(-1));
        },
      ),
      { numRuns: amountOf('cron: searches beside node-cron', 150, 40) },
    );
  });

  test('takes no longer for expressions that hardly ever match', () => {
    const processorMs = countProcessorMs();
    for (let at = 0; at < 1_000; at += 1) {
      const rare = createCron(`${at % 60} ${at % 24} 29 2 *`, 'America/St_Johns');
      expect(rare.latest(us('2026-06-25T12:00Z'), us('2026-07-02T12:00Z'))).toBeUndefined();
    }
    expect(
      createCron('0 0 29 2 5#1', 'UTC').next(us('2029-01-01T00:00Z'), us('2037-12-31T00:00Z')),
    ).toBeUndefined();
    expect(processorMs()).toBeLessThan(2_000);
  });
});

describe('an expression is refused before it is expanded', () => {
  const { most } = LIMITS.cron_characters;

  test.each([
    ['0-99999999 * * * *', 'no number of it has more than two digits'],
    ['* * * * */100', 'no number of it has more than two digits'],
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
