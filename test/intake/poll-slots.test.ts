import { describe, expect, test } from 'vitest';
import { PollSlots } from '../../src/intake/polls.ts';

test('a limited number of polls may run at once', () => {
  const slots = new PollSlots(2);
  slots.take('flight', 0);
  expect(slots.isFull()).toBe(false);
  const end = slots.take('bird_log', 0);
  expect(slots.isFull()).toBe(true);
  end(10);
  expect(slots.isFull()).toBe(false);
});

describe('a feed', () => {
  test('with quick polls may use all slots', () => {
    const slots = new PollSlots(8);
    for (let at = 0; at < 7; at += 1) slots.take('bird_log', 0);
    expect(slots.fullFeed(2_000)).toBeUndefined();
  });

  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [8, 6],
    [64, 48],
  ])('with slow polls leaves some of %i slots to others', (count, most) => {
    const slots = new PollSlots(count);
    for (let at = 1; at < most; at += 1) slots.take('bird_log', 0);
    expect(slots.fullFeed(60_000)).toBeUndefined();
    slots.take('bird_log', 0);
    expect([slots.fullFeed(2_000), slots.fullFeed(2_001)]).toEqual([undefined, 'bird_log']);
  });

  test('counts as slow until one of its polls was quick', () => {
    const slots = new PollSlots(4);
    slots.take('flight', 0)(2_001);
    const ends = [1, 2, 3].map((at) => slots.take('flight', 3_000 + at));
    expect(slots.fullFeed(3_004)).toBe('flight');
    ends[1]!(3_100);
    slots.take('flight', 3_200);
    expect(slots.fullFeed(3_300)).toBeUndefined();
    expect(slots.fullFeed(5_002)).toBe('flight');
  });
});
