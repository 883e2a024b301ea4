import { describe, expect, test } from 'vitest';
import { Places } from '../../src/intake/places.ts';

test('a limited number of polls may run at once', () => {
  const places = new Places(2);
  places.take('flight', 0);
  expect(places.isFull()).toBe(false);
  const end = places.take('bird_log', 0);
  expect(places.isFull()).toBe(true);
  end(10);
  expect(places.isFull()).toBe(false);
});

describe('a feed', () => {
  test('with quick polls may use all places', () => {
    const places = new Places(8);
    for (let at = 0; at < 7; at += 1) places.take('bird_log', 0);
    expect(places.fullFeed(2_000)).toBeUndefined();
  });

  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [8, 6],
    [64, 48],
  ])('with slow polls leaves some of %i places to others', (count, most) => {
    const places = new Places(count);
    for (let at = 1; at < most; at += 1) places.take('bird_log', 0);
    expect(places.fullFeed(60_000)).toBeUndefined();
    places.take('bird_log', 0);
    expect([places.fullFeed(2_000), places.fullFeed(2_001)]).toEqual([undefined, 'bird_log']);
  });

  test('counts as slow until one of its polls was quick', () => {
    const places = new Places(4);
    places.take('flight', 0)(2_001);
    const ends = [1, 2, 3].map((at) => places.take('flight', 3_000 + at));
    expect(places.fullFeed(3_004)).toBe('flight');
    ends[1]!(3_100);
    places.take('flight', 3_200);
    expect(places.fullFeed(3_300)).toBeUndefined();
    expect(places.fullFeed(5_002)).toBe('flight');
  });
});
