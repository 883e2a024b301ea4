import { describe, expect, test } from 'vitest';
import { RefusalCause } from '../../src/service/refusal-cause.ts';

const CEILING = 50;

/** So many answers at a level; every n-th is a refusal. Returns what the last refusal was taken for. */
function answers(
  cause: RefusalCause,
  level: number,
  count: number,
  everyNth = Number.POSITIVE_INFINITY,
): number {
  let byLevel = Number.NaN;
  for (let nth = 1; nth <= count; nth += 1) {
    if (nth % everyNth === 0) byLevel = cause.refused(level);
    else cause.accepted(level);
  }
  return byLevel;
}

describe('a refusal', () => {
  test('at a level that is new is because of the level', () => {
    const cause = new RefusalCause(CEILING);
    answers(cause, 5, 100);
    expect(cause.refused(10)).toBeGreaterThan(0.9);
    expect(cause.likelyLimit()).toBeLessThan(10);
  });

  test.each([
    [100, 0.1],
    [30, 0.1],
    [10, 0.2],
    [4, 0.4],
  ])('every %i requests, at all levels alike, is by chance soon', (everyNth, most) => {
    const cause = new RefusalCause(CEILING);
    for (const level of [10, 8.5, 6, 7, 8]) answers(cause, level, 4 * everyNth, everyNth);
    expect(answers(cause, 7, 4 * everyNth, everyNth)).toBeLessThan(most);
  });

  test.each([1, 4, 20])(
    'beyond a limit of %i a second is because of the level when it is tried again and again',
    (limit) => {
      const cause = new RefusalCause(CEILING);
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

  test('beyond a limit is because of the level, also where others are by chance', () => {
    const cause = new RefusalCause(CEILING);
    for (let time = 0; time < 10; time += 1) {
      for (const level of [3.4, 3.6, 3.9]) answers(cause, level, 100, 33);
    }
    expect(answers(cause, 3.5, 33, 33)).toBeLessThan(0.1);
    expect(answers(cause, 6, 12, 3)).toBeGreaterThan(0.5);
  });

  test('of a limit that has fallen is because of the level, whatever was borne before', () => {
    const cause = new RefusalCause(CEILING);
    answers(cause, 20, 5_000);
    for (const level of [20, 17, 12, 8]) expect(answers(cause, level, 4, 2)).toBeGreaterThan(0.5);
    expect(cause.likelyLimit()).toBeLessThan(8);
  });
});

test('a limit that is gone is forgotten as soon as more is accepted', () => {
  const cause = new RefusalCause(CEILING);
  for (let time = 0; time < 10; time += 1) {
    answers(cause, 3.8, 100);
    cause.refused(4.2);
  }
  expect(cause.likelyLimit()).toBeLessThan(4.2);
  answers(cause, 8, 100);
  expect(cause.likelyLimit()).toBeGreaterThan(8);
});

test('what a limit lets through after a pause proves nothing', () => {
  const [paused, not] = [new RefusalCause(CEILING), new RefusalCause(CEILING)];
  paused.paused(10);
  for (const cause of [paused, not]) answers(cause, 10, 10);
  expect(paused.likelyLimit()).toBe(new RefusalCause(CEILING).likelyLimit());
  expect(not.refused(10)).toBeLessThan(paused.refused(10));
});

test('a ceiling below every limit that is thought of leaves one', () => {
  const cause = new RefusalCause(0.01);
  expect(cause.refused(0.01)).toBe(0);
  expect(cause.likelyLimit()).toBe(0.05);
});
