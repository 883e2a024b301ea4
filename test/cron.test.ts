import { describe, expect, test } from 'vitest';
import { createCron, cronProblem } from '../src/cron.ts';

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

  test('is none at or before the bound, nor further back than 35 days', () => {
    expect(latest('0 8 * * *', '2026-07-02T12:00Z', '2026-07-02T08:00Z')).toBeUndefined();
    expect(latest('0 8 * * *', '2026-07-02T12:00Z', '2026-07-02T07:59Z')).toBe('2026-07-02T08:00');
    expect(latest('0 0 1 1 *', '2026-07-02T12:00Z')).toBeUndefined();
  });

  test('follows the clock of its place, with its half hours and its changes', () => {
    expect(latest('0 8 * * *', '2026-07-02T12:00Z', undefined, 'Europe/Amsterdam')).toBe('2026-07-02T06:00');
    expect(latest('0 8 * * *', '2026-01-02T12:00Z', undefined, 'Europe/Amsterdam')).toBe('2026-01-02T07:00');
    expect(latest('10 8 * * *', '2026-07-02T12:00Z', undefined, 'Asia/Kathmandu')).toBe('2026-07-02T02:25');
    // 02:30 is not there on 29 March 2026, and twice on 25 October.
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

test('problems are named', () => {
  expect(cronProblem('0 8 * * *', 'UTC')).toBeUndefined();
  expect(cronProblem('0 8 * * *', 'Nowhere')).toBe(
    '"Nowhere" is not a time zone such as Europe/Amsterdam or UTC',
  );
  expect(cronProblem('0 8 * *', 'UTC')).toMatch(/must have five fields/);
  expect(cronProblem('0 25 * * *', 'UTC')).toMatch(/^the cron expression "0 25 \* \* \*" is not valid: /);
});
