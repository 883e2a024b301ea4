import { describe, expect, test } from 'vitest';
import { NestwatchError } from '../../src/errors.ts';
import { FailingOperations } from '../../src/service/failing-operations.ts';

test('an operation fails alone from its fourth failure in a row on, as long as others were answered lately', () => {
  const failing = new FailingOperations();
  const fails = (atMs: number) => failing.failed('getBirdLogs', atMs);
  expect([fails(0), fails(1), fails(2), fails(3)]).toEqual([false, false, false, false]);
  failing.answered('searchFlights', 10);
  expect([fails(11), fails(30_009), fails(30_010)]).toEqual([true, true, false]);
  failing.answered('searchNests', 40_000);
  expect(fails(40_001)).toBe(true);
});

test('an operation that was answered begins anew, and says nothing of itself', () => {
  const failing = new FailingOperations();
  const fails = () => failing.failed('getBirdLogs', 5);
  fails();
  failing.answered('searchFlights', 5);
  failing.answered('getBirdLogs', 5);
  expect([fails(), fails(), fails(), fails()]).toEqual([false, false, false, false]);
});

describe('an operation that is refused', () => {
  const refusal = (retryAfterMs?: number) =>
    new NestwatchError('rate_limited', 'getBirdLogs of eu: the service answered 429', {
      facts: retryAfterMs === undefined ? {} : { retryAfterMs },
    });

  test('is left from its fourth refusal in a row on, for 10 s at the most as long as it may be the region', () => {
    const failing = new FailingOperations();
    const refuse = (atMs: number) => failing.refused('getBirdLogs', atMs, refusal(60_000), atMs);
    for (const atMs of [0, 10, 20]) refuse(atMs);
    expect(failing.leftFor('getBirdLogs', 21)).toBeUndefined();
    expect(refuse(30)).toBe(false);
    expect(failing.leftFor('getBirdLogs', 5_029)?.facts).toEqual({ retryAfterMs: 1, isOfOperation: false });
    expect(failing.leftFor('getBirdLogs', 5_030)).toBeUndefined();
    for (const atMs of [6_000, 20_000, 40_000]) expect(refuse(atMs)).toBe(false);
    expect(failing.leftFor('getBirdLogs', 49_999)?.message).toContain('429, 7 times in a row; it is asked');
    expect(failing.leftFor('getBirdLogs', 50_000)).toBeUndefined();
    expect(failing.leftFor('searchFlights', 49_999)).toBeUndefined();
  });

  test('is refused alone once others were answered between five of its refusals', () => {
    const failing = new FailingOperations();
    const alone: boolean[] = [];
    for (const atMs of [0, 10_000, 20_000, 30_000, 40_000]) {
      alone.push(failing.refused('getBirdLogs', atMs, refusal(120_000), atMs));
      failing.answered('searchFlights', atMs + 1);
    }
    expect(alone).toEqual([false, false, false, false, true]);
    expect(failing.leftFor('getBirdLogs', 159_999)?.facts).toEqual({ retryAfterMs: 1, isOfOperation: true });
    expect(failing.leftFor('getBirdLogs', 160_000)).toBeUndefined();
    failing.answered('getBirdLogs', 160_000);
    expect(failing.refused('getBirdLogs', 160_001, refusal(), 160_001)).toBe(false);
  });

  test('may be the region again when nothing was answered between its last two refusals', () => {
    const failing = new FailingOperations();
    for (const atMs of [0, 10_000, 20_000, 30_000, 40_000]) {
      failing.refused('getBirdLogs', atMs, refusal(), atMs);
      failing.answered('searchFlights', atMs + 1);
    }
    expect(failing.refused('getBirdLogs', 100_000, refusal(), 100_000)).toBe(true);
    expect(failing.refused('getBirdLogs', 160_000, refusal(), 160_000)).toBe(false);
  });

  test('counts once what was under way together', () => {
    const failing = new FailingOperations();
    for (let at = 0; at < 8; at += 1) failing.refused('getBirdLogs', 5, refusal(), 100 + at);
    expect(failing.leftFor('getBirdLogs', 200)).toBeUndefined();
  });
});
