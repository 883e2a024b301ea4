import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createInstantQueue } from '../../../src/intake/audit/instant-queue.ts';

test('an item added last with an earlier instant comes first; of the same instant the one added first', () => {
  const taken = new Set<string>();
  const queue = createInstantQueue<string>((item) => !taken.has(item));
  for (const [item, atMs] of [
    ['b', 20],
    ['c', 20],
    ['a', 10],
    ['d', 30],
    ['e', 20],
  ] as const)
    queue.add(item, atMs);
  const order: string[] = [];
  for (let first = queue.first(); first; first = queue.first()) {
    order.push(first.item);
    taken.add(first.item);
  }
  expect(order.join('')).toBe('abced');
  expect(queue.first()).toBeUndefined();
});

test('any mixture of adding, rescheduling and taking gives the order of a sorted list', () => {
  const step = fc.oneof(
    fc.record({ act: fc.constant('add'), atMs: fc.integer({ min: 0, max: 50 }) }),
    fc.record({ act: fc.constant('drop'), atMs: fc.integer({ min: 0, max: 50 }) }),
    fc.record({ act: fc.constant('take'), atMs: fc.constant(0) }),
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 2_000, size: 'max' }), (steps) => {
      const current = new Map<number, number>();
      const queue = createInstantQueue<number>((item, atMs) => current.get(item) === atMs);
      for (const [item, { act, atMs }] of steps.entries()) {
        if (act === 'add') {
          current.set(item, atMs);
          queue.add(item, atMs);
          continue;
        }
        const sorted = [...current].sort((a, b) => a[1] - b[1] || a[0] - b[0]);
        if (act === 'take') {
          const first = queue.first();
          expect(first && [first.item, first.atMs]).toEqual(sorted[0]);
          if (first) current.delete(first.item);
        } else if (sorted.length > 0) current.delete(sorted[atMs % sorted.length]![0]);
      }
    }),
    { numRuns: 60 },
  );
});

test('however many were taken from the front, the others keep their order, and so does what is added then', () => {
  let next = 0;
  const queue = createInstantQueue<number>((item) => item >= next);
  const add = (from: number, to: number) => {
    for (let item = from; item < to; item += 1) queue.add(item, item);
  };
  const take = (to: number) => {
    for (; next < to; next += 1) expect(queue.first()).toEqual({ item: next, atMs: next });
  };
  add(0, 500);
  take(400);
  add(500, 700);
  take(700);
  expect(queue.first()).toBeUndefined();
  add(700, 800);
  take(800);
});

test('entries of rescheduled items are dropped even if nobody takes from the front', () => {
  let asked = 0;
  let now = 0;
  const queue = createInstantQueue<string>((_, atMs) => {
    asked += 1;
    return atMs === now;
  });
  for (now = 1; now <= 100_000; now += 1) queue.add('one', now);
  now = 100_000;
  // Each was looked at about once, and few are left.
  expect(asked).toBeGreaterThan(90_000);
  expect(asked).toBeLessThan(110_000);
  asked = 0;
  expect(queue.first()).toEqual({ item: 'one', atMs: 100_000 });
  expect(asked).toBeLessThanOrEqual(256);
});
