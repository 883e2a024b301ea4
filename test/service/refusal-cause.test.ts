import { describe, expect, test } from 'vitest';
import { RefusalCause } from '../../src/service/refusal-cause.ts';

const CEILING = 50;

/** Each request of a cause is sent as its level allows. */
const leftAtMs = new WeakMap<RefusalCause, number>();

const aCause = (ceiling = CEILING) => new RefusalCause(ceiling, 0);

function leave(cause: RefusalCause, level: number, pauseMs = 0): void {
  const nowMs = (leftAtMs.get(cause) ?? 0) + 1000 / level + pauseMs;
  leftAtMs.set(cause, nowMs);
  cause.left(nowMs, pauseMs > 0);
}

function refused(cause: RefusalCause, level: number): number {
  leave(cause, level);
  return cause.refused(level);
}

/** This many answers at a level; every n-th is a refusal. Returns the cause assumed for the last refusal. */
function answers(
  cause: RefusalCause,
  level: number,
  count: number,
  everyNth = Number.POSITIVE_INFINITY,
): number {
  let byLevel = Number.NaN;
  for (let nth = 1; nth <= count; nth += 1) {
    leave(cause, level);
    if (nth % everyNth === 0) byLevel = cause.refused(level);
    else cause.accepted(level);
  }
  return byLevel;
}

describe('a refusal', () => {
  test('at a new level is caused by the level', () => {
    const cause = aCause();
    answers(cause, 5, 100);
    expect(refused(cause, 10)).toBeGreaterThan(0.9);
    expect(cause.likelyLimit()).toBeLessThan(10);
  });

  test.each([
    [100, 0.1],
    [30, 0.1],
    [10, 0.2],
    [4, 0.4],
  ])('every %i requests, at all levels equally, soon counts as random', (everyNth, most) => {
    const cause = aCause();
    for (const level of [10, 8.5, 6, 7, 8]) answers(cause, level, 4 * everyNth, everyNth);
    expect(answers(cause, 7, 4 * everyNth, everyNth)).toBeLessThan(most);
  });

  test.each([1, 4, 20])(
    'beyond a limit of %i a second is caused by the level when it is tried again and again',
    (limit) => {
      const cause = aCause();
      for (let time = 0; time < 20; time += 1) {
        for (const part of [0.86, 0.9, 0.95, 0.98]) answers(cause, part * limit, 50);
        const byLevel = answers(cause, 1.04 * limit, 25, 25);
        // At first other causes are as likely.
        if (time >= 4) expect(byLevel).toBeGreaterThan(0.5);
      }
      expect(cause.likelyLimit() / limit).toBeGreaterThan(0.9);
      expect(cause.likelyLimit() / limit).toBeLessThan(1.05);
    },
  );

  test('beyond a limit is caused by the level, even if others are random', () => {
    const cause = aCause();
    for (let time = 0; time < 10; time += 1) {
      for (const level of [3.4, 3.6, 3.9]) answers(cause, level, 100, 33);
    }
    expect(answers(cause, 3.5, 33, 33)).toBeLessThan(0.1);
    expect(answers(cause, 6, 12, 3)).toBeGreaterThan(0.5);
  });

  test('of a limit that has fallen is caused by the level, whatever was accepted before', () => {
    const cause = aCause();
    answers(cause, 20, 5_000);
    for (const level of [20, 17, 12, 8]) expect(answers(cause, level, 4, 2)).toBeGreaterThan(0.5);
    expect(cause.likelyLimit()).toBeLessThan(8);
  });
});

test('a limit that is gone is forgotten as soon as more is accepted', () => {
  const cause = aCause();
  for (let time = 0; time < 10; time += 1) {
    answers(cause, 3.8, 100);
    refused(cause, 4.2);
  }
  expect(cause.likelyLimit()).toBeLessThan(4.2);
  answers(cause, 8, 100);
  expect(cause.likelyLimit()).toBeGreaterThan(8);
});

describe('after a pause that the service asks for', () => {
  /** This many rounds of: answers at a level, a refusal, a pause. Returns the cause assumed for the last refusal. */
  function rounds(cause: RefusalCause, count: number, accepted: (round: number) => number, level = 10) {
    let byLevel = Number.NaN;
    for (let round = 0; round < count; round += 1) {
      for (let nth = 0; nth < accepted(round); nth += 1) {
        leave(cause, level, nth === 0 ? 1_000 : 0);
        cause.accepted(level);
      }
      leave(cause, level, accepted(round) === 0 ? 1_000 : 0);
      byLevel = cause.refused(level);
    }
    return byLevel;
  }

  test('a refusal that comes before the saved-up requests are used is random', () => {
    const cause = aCause();
    expect(rounds(cause, 40, (round) => [0, 21, 4, 9, 1, 16][round % 6]!)).toBeLessThan(0.3);
  });

  test('one that comes each time when a bucket is empty is caused by the level', () => {
    const cause = aCause();
    // Five a second, saved up for a second: nine more are sent before it is empty.
    expect(rounds(cause, 40, () => 9)).toBeGreaterThan(0.5);
    expect(cause.likelyLimit()).toBeLessThan(6.5);
  });

  test('and so is one that comes each time at the end of a quota', () => {
    const cause = aCause(10);
    expect(rounds(cause, 40, () => 40, 4.2)).toBeGreaterThan(0.5);
  });
});

test('a limit below every assumed level leaves one level', () => {
  const cause = aCause(0.01);
  expect(refused(cause, 0.01)).toBe(0);
  expect(cause.likelyLimit()).toBe(0.05);
});
