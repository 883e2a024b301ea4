import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cap, manyLines, oneLine } from '../../src/text/label-text.ts';

test.each([
  ['  a \r\n\t b  ', 'a b'],
  ['a\u202eb\u200bc\u0000d', 'abcd'],
  ['\ud800x', '\ufffdx'],
  ['नमस्\u200dते 👩\u200d💻', 'नमस्\u200dते 👩\u200d💻'],
])('%j on one line is %j', (text, expected) => {
  expect(oneLine(text, 100)).toBe(expected);
});

test('many lines keep their breaks and tabs', () => {
  expect(manyLines('a\r\n\tb\rc\u001b[31m\n', 100)).toBe('a\n\tb\nc[31m');
});

test.each([
  ['abcd', 4, 'abcd'],
  ['abcde', 4, 'abc…'],
  ['😀😀😀', 3, '😀😀😀'],
  ['😀😀😀😀', 3, '😀😀…'],
])('%s capped at %d is %s', (text, max, expected) => {
  expect(cap(text, max)).toBe(expected);
});

test('a cap never splits a character and never exceeds its length', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, max) => {
      const capped = cap(text, max);
      expect([...capped].length).toBe(Math.min([...text].length, max));
      expect(capped.isWellFormed()).toBe(true);
    }),
  );
});
