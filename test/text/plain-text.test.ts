import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cap, firstLines, manyLines, plainText } from '../../src/text/plain-text.ts';
import { anyCharacter } from '../any-character.ts';
import { countProcessorMs } from '../processor-time.ts';

/** Written as ranges, unlike the classes in the code: what a reader of a mail or a terminal never sees. */
const NEVER_SEEN: readonly (readonly [first: number, last: number])[] = [
  [0x00ad, 0x00ad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200b],
  [0x200e, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0d],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x13430, 0x1343f],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];
const neverSeen = NEVER_SEEN.flatMap(([first, last]) =>
  Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index)),
);
const controls = Array.from({ length: 0x20 }, (_, code) => [code, code + 0x80])
  .flat()
  .concat(0x7f)
  .map((code) => String.fromCodePoint(code));
const JOINERS = ['\u200c', '\u200d', '\ufe0e', '\ufe0f'];
const WORDS = [
  'Bird',
  'नमस्\u200dते',
  'می\u200cخواهم',
  '你好',
  'e\u0301',
  '👩\u200d💻',
  '🏳️\u200d🌈',
  '👁️\u200d🗨️',
  '1️⃣',
  '👍🏽',
  '…',
];

/** Texts in which characters of all sorts are next to each other. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(...neverSeen),
      fc.constantFrom(...controls),
      fc.constantFrom(...JOINERS),
      fc.constantFrom(...WORDS, ' ', '\u00a0', '\u2028', '\u2029', '\r\n', '\ud800', '\udc00'),
      fc.string({ unit: anyCharacter, maxLength: 3 }),
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(''));
const limit = fc.integer({ min: 1, max: 50 });

function hiddenIn(text: string): string[] {
  return [...text].filter((char) => {
    const code = char.codePointAt(0)!;
    return NEVER_SEEN.some(([first, last]) => code >= first && code <= last);
  });
}

describe('text from outside on one line', () => {
  test.each([
    ['line ends, tabs and other spaces become one space', ' a\r\n\tb\u2028\u00a0c\u0085 ', 'a b c'],
    ['controls, of terminals too, become a space', 'a\u001b[31mb\u0000\u009bc', 'a [31mb c'],
    ['characters that turn the direction go', 'invoice\u202egnp.exe\u2066\u061c', 'invoicegnp.exe'],
    ['zero-width characters go', 'pass\u200b\ufeff\u00ad\u2060word', 'password'],
    ['tags and variations that hide a text go', 'a\u{e0001}\u{e0061}b\u{e0100}\u{e01ef}\ufe00c', 'abc'],
    ['fillers that look like nothing go', '\u3164\u115f\uffa0', ''],
    ['marks of annotations go', 'a\ufff9b\ufffac\ufffb', 'abc'],
    ['joiners that join nothing go', '\u200d a \u200d\ufe0fb\u200d\u200c\u200d\u200d', 'a b\u200d\u200c'],
    ['half a surrogate pair is marked', 'a\ud800b', 'a\ufffdb'],
  ])('%s', (_, text, shown) => {
    expect(plainText(text, 100)).toBe(shown);
  });

  test.each([...WORDS, 'مرحبا 你好', '\ufffd'])('%s is unchanged', (text) => {
    expect([plainText(text, 100), manyLines(text, 100), cap(text, 100)]).toEqual([text, text, text]);
  });

  test('a long text is cut between code points and says so', () => {
    expect(plainText('💥💥💥💥', 3)).toBe('💥💥…');
    expect(plainText('abc', 3)).toBe('abc');
    expect(plainText('x'.repeat(100_000), 10)).toBe('xxxxxxxxx…');
    expect(plainText(`a${'\u200b'.repeat(100_000)}b`, 10)).toBe('a…');
  });

  test('a plain text is what it would be if something hidden were removed from it', () => {
    const ascii = fc.string({
      unit: fc.constantFrom('a', 'B', '-', '~', '!', ' ', '  ', '\n', '\t', '\x7f'),
    });
    fc.assert(
      fc.property(ascii, (text) => {
        expect(plainText(text, 100)).toBe(plainText(`\u200b${text}`, 100));
        expect(manyLines(text, 100)).toBe(manyLines(`\u200b${text}`, 100));
      }),
    );
  });

  test('nothing hidden remains, it is short and well formed, and cleaning again changes nothing', () => {
    fc.assert(
      fc.property(hostile, limit, (text, max) => {
        const shown = plainText(text, max);
        expect(hiddenIn(shown)).toEqual([]);
        expect(controls.filter((control) => shown.includes(control))).toEqual([]);
        expect(shown).not.toMatch(/[\u2028\u2029]| {2}|^ | $/);
        expect([...shown].length).toBeLessThanOrEqual(max);
        expect(shown.isWellFormed()).toBe(true);
        expect(plainText(shown, max)).toBe(shown);
      }),
    );
  });

  test('words and emoji stay whatever is between them', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...WORDS), { minLength: 1 }),
        fc.constantFrom(...controls),
        (words, control) => {
          expect(plainText(words.join(`${control}\u202e`), 10_000)).toBe(words.join(' '));
        },
      ),
    );
  });
});

describe('text from outside on many lines', () => {
  test('keeps its line ends, as line feeds, and its tabs', () => {
    expect(manyLines('a\r\n\tb\rc\u2028d\u0085e\n\nf\u001b[31m\n', 100)).toBe('a\n\tb\nc\nd\ne\n\nf [31m');
  });

  test('nothing hidden remains, it is short and well formed, and cleaning again changes nothing', () => {
    fc.assert(
      fc.property(hostile, limit, (text, max) => {
        const shown = manyLines(text, max);
        expect(hiddenIn(shown)).toEqual([]);
        expect(controls.filter((control) => shown.includes(control) && !/[\n\t]/.test(control))).toEqual([]);
        expect(shown).not.toMatch(/[\u2028\u2029]/);
        expect([...shown].length).toBeLessThanOrEqual(max);
        expect(shown.isWellFormed()).toBe(true);
        expect(manyLines(shown, max)).toBe(shown);
      }),
    );
  });

  test('its first lines are those that say something, each short', () => {
    expect(firstLines('Error: x\r\n  at a\u2028  at b\n\n  at c', 3, 80)).toEqual([
      'Error: x',
      'at a',
      'at b',
      '…',
    ]);
    expect(firstLines('one', 3, 80)).toEqual(['one']);
    expect(firstLines('', 3, 80)).toEqual([]);
    expect(firstLines('\u200b\n \u3164\nabcdef', 3, 4)).toEqual(['abc…']);
  });
});

describe('a maximum length', () => {
  test.each([
    ['abcd', 4, 'abcd'],
    ['abcde', 4, 'abc…'],
    ['😀😀😀', 3, '😀😀😀'],
    ['😀😀😀😀', 3, '😀😀…'],
  ])('%s at %d is %s', (text, max, expected) => {
    expect(cap(text, max)).toBe(expected);
  });

  test('never splits a character and never exceeds its length', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), limit, (text, max) => {
        const capped = cap(text, max);
        expect([...capped].length).toBe(Math.min([...text].length, max));
        expect(capped.isWellFormed()).toBe(true);
      }),
    );
  });
});

test.each(['x', '\u200b', '\u200d', ' ', '\r\n', '\0', '\ud800', 'a\u200d\u200d\u200d'])(
  'ten megabytes of %j cost no more than their beginning',
  (unit) => {
    const text = unit.repeat(10_000_000 / unit.length);
    const processorMs = countProcessorMs();
    for (let times = 0; times < 100; times += 1) {
      plainText(text, 300);
      manyLines(text, 300);
      firstLines(text, 3, 300);
      cap(text, 300);
    }
    // A hundred passes over ten megabytes would take minutes.
    expect(processorMs()).toBeLessThan(2_000);
  },
);
