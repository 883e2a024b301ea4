import { expect, test } from 'vitest';
import { createRecentIds } from '../../../src/intake/logs/recent-ids.ts';

test('an id is known until everything older is forgotten', () => {
  const recent = createRecentIds();
  recent.add('a', 100);
  recent.add('b', 200);
  expect([recent.has('a'), recent.has('b'), recent.has('c')]).toEqual([true, true, false]);
  recent.forget(150);
  expect([recent.has('a'), recent.has('b')]).toEqual([false, true]);
});

test('an id that comes again later is known for as long as it may come from there', () => {
  const recent = createRecentIds();
  recent.add('a', 100);
  recent.renew('a', 200);
  recent.renew('a', 50);
  recent.renew('new', 200);
  recent.forget(150);
  expect([recent.has('a'), recent.has('new')]).toEqual([true, false]);
});

test('a stream that never ends keeps a limited number of ids, the newest', () => {
  const recent = createRecentIds();
  for (let at = 0; at < 50_000; at += 1) {
    recent.add(`id ${at}`, at);
    if (at % 100 === 0) recent.forget(0);
  }
  expect(recent.size).toBeLessThanOrEqual(20_100);
  expect(recent.has('id 49999')).toBe(true);
  expect(recent.has('id 100')).toBe(false);
});
