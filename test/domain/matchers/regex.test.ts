import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compileRegex,
  createMatcher,
  createMatchers,
  RegexSyntaxError,
} from '../../../src/domain/matchers/matcher.ts';

describe('compileRegex', () => {
  test.each([
    ['', '', 'a'],
    ['abc', 'abc', 'abcd'],
    ['a|b|', '', 'c'],
    ['a.c', 'a\rc', 'a\nc'],
    ['(?s)a.c', 'a\nc', 'ac'],
    ['a*b+c?', 'bb', 'ac'],
    ['a{2}', 'aa', 'aaa'],
    ['a{2,}', 'aaaa', 'a'],
    ['a{1,3}', 'aaa', 'aaaa'],
    ['(ab){0,2}', 'abab', 'ababab'],
    ['a{,2}', 'a{,2}', 'aa'],
    ['a{01}', 'a{01}', 'a'],
    ['x*?y+?', 'xxyy', 'xx'],
    ['(?i)straße', 'STRAßE', 'STRASSE'],
    ['(?i)k', '\u212a', 'x'],
    ['(?i)S', '\u017f', 'x'],
    ['(?i)[^a]', 'b', 'A'],
    ['(?i)ς', 'Σ', 'S'],
    ['(?i)[a-z]', 'I', 'ı'],
    ['(?i)[[:^lower:]]', '1', 'A'],
    ['a(?i)b|c', 'C', 'A'],
    ['a(?i:b)c', 'aBc', 'aBC'],
    ['(?i-s:A)', 'a', 'b'],
    ['(?P<name>x)(?<other>y)(?:z)', 'xyz', 'xy'],
    ['(?U)a+', 'aa', ''],
    ['[a-c\\-x]+', 'abc-x', 'd'],
    ['[^a-c]', 'd', 'b'],
    ['[]a]+', ']a', 'b'],
    ['[^]a]', 'b', ']'],
    ['[a-]+', 'a-', 'b'],
    ['[\\d\\s_]+', '1 _', 'a'],
    ['[[:alpha:][:digit:]]+', 'aZ9', '-'],
    ['[[:^alpha:]]+', '12', 'a'],
    ['\\d\\D\\w\\W\\s\\S', '1ab- x', '1ab-xx'],
    ['\\p{Greek}\\pL\\P{Lu}', 'αbc', 'αbC'],
    ['\\p{^Lu}', 'a', 'A'],
    ['\\x{2014}{2}', '——', '—'],
    ['\\x41\\x{1F426}\\101\\n\\.\\_', 'A🐦A\n._', 'A'],
    ['\\Qa.b*\\E+', 'a.b**', 'aab'],
    ['\\Aa\\z', 'a', 'b'],
    ['a\\b.\\bb', 'a b', 'axb'],
    ['a\\Bb', 'ab', 'a b'],
    ['a$\\n^b', 'never', 'a\nb'],
    ['(?m)a$\\n^b', 'a\nb', 'ab'],
    ['^*a', 'a', 'b'],
    ['}{]', '}{]', '}'],
    ['.', '🐦', '🐦🐦'],
    ['(a*)*b', 'aab', 'aa'],
    ['()*', '', 'a'],
  ])('%s matches %j and not %j, as RE2 says', (pattern, yes, no) => {
    const matches = compileRegex(pattern);
    expect(matches(no)).toBe(false);
    // Between two lines, `$` and `^` match only with the flag m. So one pattern matches nothing at all.
    expect(matches(yes)).toBe(yes !== 'never');
  });

  test.each([
    ['*a', 'missing argument to repetition operator: `*`'],
    ['a|*', 'missing argument to repetition operator: `*`'],
    ['a**', 'invalid nested repetition operator: `**`'],
    ['a{2}{3}', 'invalid nested repetition operator: `{2}{3}`'],
    ['a{1001}', 'invalid repeat count: `{1001}`'],
    ['a{3,2}', 'invalid repeat count: `{3,2}`'],
    ['((a{100}){10}){2}', 'invalid repeat count: `{2}`'],
    ['(a', 'missing closing ): `(a`'],
    ['a)', 'unexpected ): `a)`'],
    ['a)|(b', 'unexpected ): `a)|(b`'],
    ['\\Qa', 'missing closing ): `^(?:\\Qa)$`'],
    ['[a', 'missing closing ]: `[a`'],
    ['[b-a]', 'invalid character class range: `b-a`'],
    ['[[:what:]]', 'invalid character class range: `[:what:]`'],
    ['[[:__proto__:]]', 'invalid character class range: `[:__proto__:]`'],
    ['[[:constructor:]]', 'invalid character class range: `[:constructor:]`'],
    ['a(?=b)', 'invalid or unsupported Perl syntax: `(?=`'],
    ['(?<!b)', 'invalid named capture: `(?<!b)`'],
    ['(?x)a', 'invalid or unsupported Perl syntax: `(?x`'],
    ['(a)\\1', 'invalid escape sequence: `\\1`'],
    ['\\Z', 'invalid escape sequence: `\\Z`'],
    ['a\\', 'trailing backslash at end of expression'],
    ['\\p{Nothing}', 'invalid character class range: `\\p{Nothing}`'],
    ['\\x{110000}', 'invalid escape sequence: `\\x{110000`'],
  ])('refuses %s in the words of Go', (pattern, message) => {
    expect(() => compileRegex(pattern)).toThrow(new RegexSyntaxError(`error parsing regexp: ${message}`));
  });

  test.each([
    ['x'.repeat(5000), 'make it too large'],
    ['(|.){0,1000}', 'make it too large'],
    ['\\pL{1000}'.repeat(200), 'make it too large'],
    ['((((){1000}){1000}){1000}){1000}', 'make it too large'],
    // One instruction with 400 times 650 ranges.
    [`(?i)[${'\\pL'.repeat(400)}]`, 'make it too large'],
    [`[^${'\\P{Greek}'.repeat(51)}]`, 'make it too large'],
    [`[${'ab'.repeat(20_001)}]`, 'make it too large'],
    ['('.repeat(2000), 'error parsing regexp: missing closing )'],
    [`${'('.repeat(1500)}${')'.repeat(1500)}`, 'error parsing regexp: expression nests too deeply'],
  ])('refuses what would take too long', (pattern, message) => {
    expect(() => compileRegex(pattern)).toThrow(RegexSyntaxError);
    expect(() => compileRegex(pattern)).toThrow(message);
  });

  test('refuses matchers whose classes are too large together', () => {
    const parts = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        name: 'bird',
        op: '=~' as const,
        value: `[${'\\pL'.repeat(10)}${at}]`,
      }));
    expect(createMatchers(parts(4))).toHaveLength(4);
    expect(() => createMatchers(parts(5))).toThrow('too large together');
  });

  test('accepts classes up to the limit', () => {
    expect(compileRegex(`(?i)[${'\\pL'.repeat(49)}]`)('é')).toBe(true);
    expect(compileRegex(`[${'ab'.repeat(14_000)}]`)('b')).toBe(true);
  });

  test('repeats no more of a refused pattern than people read', () => {
    const refused = () => compileRegex(`(${'x'.repeat(4000)}`);
    expect(refused).toThrow(/^error parsing regexp: missing closing \): `\(x{150,180}…$/);
    const matcher = () => createMatcher('bird', '=~', `(${'x'.repeat(4000)}`);
    expect(matcher).toThrow(/… \(in bird=~"\(x{99}…"\)$/);
  });

  test.each([
    ['(a+)+', 'a'.repeat(2000), true],
    ['(a|a)*b', 'a'.repeat(2000), false],
    ['(.*)*(.*)*x', 'y'.repeat(2000), false],
    ['((a?){100}){8}', 'a'.repeat(800), true],
    ['(.?a?b?c?){200}', 'abcd'.repeat(150), true],
  ])('%s takes no longer than its length allows [long]', (pattern, text, expected) => {
    expect(compileRegex(pattern)(text)).toBe(expected);
  });

  test('agrees with JavaScript when both mean the same [long]', () => {
    const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom('a', 'b', 'ab', '[ab]', '[^a]', '', 'c'),
        fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
        fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
        fc
          .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,2}', '{0,3}', '{2,}', '*?'))
          .map(([a, quantifier]) => `(?:${a})${quantifier}`),
      ),
    }));
    fc.assert(
      fc.property(pattern, fc.array(fc.constantFrom('a', 'b', 'c')), (source, letters) => {
        const text = letters.slice(0, 8).join('');
        expect(compileRegex(source)(text)).toBe(new RegExp(`^(?:${source})$`, 'u').test(text));
      }),
      { numRuns: 1000 },
    );
  });
});
