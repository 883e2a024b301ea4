import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainText } from '../../src/text/plain-text.ts';

describe('text from outside, made fit for one line', () => {
  test.each([
    ['line ends and tabs become one space', 'a\r\n\tb\u2028c', 'a b c'],
    ['escape characters of terminals go', 'a\u001b[31mb', 'a [31mb'],
    ['characters that turn the direction go', 'invoice\u202egnp.exe', 'invoicegnp.exe'],
    ['zero-width characters go', 'pass\u200b\ufeffword', 'password'],
    ['joiners stay, so that an emoji stays one', '👩\u200d💻', '👩\u200d💻'],
    ['half a surrogate pair is marked', 'a\ud800b', 'a\ufffdb'],
    ['other scripts stay as they are', 'مرحبا 你好', 'مرحبا 你好'],
  ])('%s', (_, text, shown) => {
    expect(plainText(text, 100)).toBe(shown);
  });

  test('a long text is cut between code points and says so', () => {
    expect(plainText('💥💥💥💥', 3)).toBe('💥💥…');
    expect(plainText('abc', 3)).toBe('abc');
    expect(plainText('x'.repeat(100_000), 10)).toBe('xxxxxxxxx…');
  });

  test('whatever comes in, what goes out is short, well formed and on one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 50 }), (text, max) => {
        const shown = plainText(text, max);
        expect([...shown].length).toBeLessThanOrEqual(max);
        expect(shown.isWellFormed()).toBe(true);
        expect(shown).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
  });
});
