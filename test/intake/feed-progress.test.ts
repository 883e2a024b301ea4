import { expect, test } from 'vitest';
import { createVerifiedUntil } from '../../src/intake/read-progress.ts';

test('a feed is verified up to where all its streams are, once all of them are verified at all', () => {
  const verifiedUntil = createVerifiedUntil();
  expect(verifiedUntil([])).toBe(0);
  expect(verifiedUntil([0, 0])).toBe(0);
  expect(verifiedUntil([50, 0])).toBe(0);
  expect(verifiedUntil([50, 40])).toBe(40);
});

test('a new stream does not reduce what is known about the others', () => {
  const verifiedUntil = createVerifiedUntil();
  verifiedUntil([50, 40]);
  expect(verifiedUntil([60, 45, 0])).toBe(45);
  expect(verifiedUntil([])).toBe(0);
});
