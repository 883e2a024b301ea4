import { expect, test } from 'vitest';
import { howMany } from '../../src/text/instant-words.ts';
import { regionName } from '../../src/text/plain-text.ts';

test('one is singular, everything else is plural', () => {
  expect([0, 1, 2, 1200].map((count) => howMany(count, 'event'))).toEqual([
    '0 events',
    '1 event',
    '2 events',
    '1200 events',
  ]);
  expect(howMany(3, 'try', 'tries')).toBe('3 tries');
});

test.each([
  ['eu', 'EU'],
  ['all', 'all regions'],
  ['', ''],
  [`e\u202eu${'x'.repeat(100)}`, `EU${'X'.repeat(77)}…`],
])('the region %j is %j', (region, name) => {
  expect(regionName(region)).toBe(name);
});
