import { expect, test } from 'vitest';
import { birdIdOf, flightsName, logName, NOTIFICATIONS } from '../../src/intake/stream-name.ts';

test.each(['682', 'a/b', '/', 'logs/7'])('a stream of the Bird %s is recognised as one of it', (birdId) => {
  expect([birdIdOf(logName(birdId)), birdIdOf(flightsName(birdId))]).toEqual([birdId, birdId]);
});

test('a stream of the whole region belongs to no Bird', () => {
  expect(birdIdOf(NOTIFICATIONS)).toBe('');
});
