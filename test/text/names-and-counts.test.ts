import { expect, test } from 'vitest';
import { howMany, percentWords } from '../../src/text/instant-words.ts';
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

test('a part is rounded, but not up to the whole', () => {
  expect([0, 1 / 6, 0.5, 0.9996, 1].map(percentWords)).toEqual(['0 %', '16.7 %', '50 %', '99.9 %', '100 %']);
});

test.each([
  ['eu', 'EU'],
  ['all', 'all regions'],
  ['', ''],
  [`e\u202eu${'x'.repeat(100)}`, `EU${'X'.repeat(77)}…`],
])('the region %j is %j', (region, name) => {
  expect(regionName(region)).toBe(name);
});
