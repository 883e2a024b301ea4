import { expect, test } from 'vitest';
import { createSchedule } from '../../src/intake/schedule.ts';

test('a new stream is due at once, and again an interval after its poll began', () => {
  const schedule = createSchedule(10_000);
  schedule.add({ name: 'a', intervalMs: 30_000 });
  expect(schedule.take(1_000)).toEqual({ name: 'a' });
  schedule.done('a', 4_000);
  expect(schedule.take(4_000)).toEqual({ waitMs: 27_000 });
  expect(schedule.take(31_000)).toEqual({ name: 'a' });
});

test('when the rate is too low for the aim, the stream that waits longest comes first', () => {
  const schedule = createSchedule(0);
  const order: string[] = [];
  for (const name of ['a', 'b', 'c']) schedule.add({ name, intervalMs: 1_000 });
  for (let nowMs = 0; nowMs < 9_000; nowMs += 1_000) {
    const turn = schedule.take(nowMs);
    if ('name' in turn) {
      order.push(turn.name);
      schedule.done(turn.name, nowMs);
    }
  }
  expect(order.join('')).toBe('abcabcabc');
});

test('a stream under way is not given out a second time', () => {
  const schedule = createSchedule(0);
  schedule.add({ name: 'a', intervalMs: 1_000 });
  schedule.take(0);
  expect(schedule.take(50_000)).toEqual({ waitMs: Number.POSITIVE_INFINITY });
});

test('a hint brings a stream forward, but not closer to its last poll than the minimum', () => {
  const schedule = createSchedule(10_000);
  schedule.add({ name: 'a', intervalMs: 300_000 });
  schedule.take(0);
  schedule.done('a', 1_000);
  schedule.hint('a', 2_000);
  expect(schedule.take(2_000)).toEqual({ waitMs: 8_000 });
  expect(schedule.take(10_000)).toEqual({ name: 'a' });
});

test('a hint during the poll is kept for after it', () => {
  const schedule = createSchedule(10_000);
  schedule.add({ name: 'a', intervalMs: 300_000 });
  schedule.take(0);
  schedule.hint('a', 3_000);
  schedule.done('a', 4_000);
  expect(schedule.take(4_000)).toEqual({ waitMs: 6_000 });
});

test('a poll that asks for another delay gets it, and a removed stream is never due', () => {
  const schedule = createSchedule(0);
  schedule.add({ name: 'a', intervalMs: 1_000 });
  schedule.take(0);
  schedule.done('a', 500, 5_000);
  expect(schedule.take(500)).toEqual({ waitMs: 5_000 });
  schedule.remove('a');
  expect(schedule.take(9_000)).toEqual({ waitMs: Number.POSITIVE_INFINITY });
});
