import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileRegex } from '../../../src/domain/matchers/regex.ts';
import { RegexSyntaxError } from '../../../src/domain/matchers/regex-syntax.ts';

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
    // Between two lines `$` and `^` hold only with the flag m, so that one pattern matches nothing at all.
    expect(matches(yes)).toBe(yes !== 'never');
  });

  test.each([
    ['*a', 'nothing to repeat', 0],
    ['a|*', 'nothing to repeat', 2],
    ['a**', 'a repetition of a repetition', 2],
    ['a{2}{3}', 'a repetition of a repetition', 4],
    ['a{1001}', 'the repeat count {1001} is not between 0 and 1000', 1],
    ['a{3,2}', 'the repeat count {3,2} is not between 0 and 1000', 1],
    ['(a', 'a group is not closed', 0],
    ['a)', 'a group is closed that was not opened', 1],
    ['[a', 'a bracket is not closed', 0],
    ['[b-a]', 'a range runs backwards', 1],
    ['[[:what:]]', 'unknown character class [:what:]', 1],
    ['a(?=b)', 'RE2 has no lookaround', 1],
    ['(?<!b)', 'RE2 has no lookaround', 0],
    ['(?x)a', 'unknown group (?x)', 0],
    ['(a)\\1', 'RE2 has no back-references', 3],
    ['\\Z', 'the escape \\Z is unknown', 0],
    ['a\\', 'it ends in a backslash', 1],
    ['\\p{Nothing}', 'an unknown Unicode class', 0],
    ['\\x{110000}', 'not a code point', 0],
    ['((a{100}){100}){100}', 'its repetitions make it too large', 0],
    ['x'.repeat(5000), 'longer than 4096 characters', 4096],
    ['('.repeat(2000), 'groups are nested too deeply', 1000],
  ])('refuses %s', (pattern, message, offset) => {
    expect(() => compileRegex(pattern)).toThrow(new RegexSyntaxError(message, offset));
    try {
      compileRegex(pattern);
    } catch (error) {
      expect((error as RegexSyntaxError).offset).toBe(offset);
    }
  });

  test.each([
    ['(a+)+', 'a'.repeat(2000), true],
    ['(a|a)*b', 'a'.repeat(2000), false],
    ['(.*)*(.*)*x', 'y'.repeat(2000), false],
    ['((a?){100}){20}', 'a'.repeat(1000), true],
    ['((((){1000}){1000}){1000}){1000}', '', true],
  ])('%s takes no longer than its length allows', (pattern, text, expected) => {
    expect(compileRegex(pattern)(text)).toBe(expected);
  });

  test('agrees with JavaScript where both mean the same', () => {
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
