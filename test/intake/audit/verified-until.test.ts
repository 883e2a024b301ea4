import { expect, test } from 'vitest';
import { createProvenUntil } from '../../../src/intake/audit/verified-until.ts';

test('a feed is proven up to where all its streams are, from the moment on at which all of them are at all', () => {
  const provenUntil = createProvenUntil();
  expect(provenUntil([])).toBe(0);
  expect(provenUntil([0, 0])).toBe(0);
  expect(provenUntil([50, 0])).toBe(0);
  expect(provenUntil([50, 40])).toBe(40);
});

test('a new stream does not take back what is known of the others', () => {
  const provenUntil = createProvenUntil();
  provenUntil([50, 40]);
  expect(provenUntil([60, 45, 0])).toBe(45);
  expect(provenUntil([])).toBe(0);
});
