import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createMatcher,
  formatMatcher,
  goQuote,
  parseMatcher,
  parseMatchers,
} from '../../../src/domain/matchers/matcher.ts';
import { MatcherSyntaxError, type MatchOp } from '../../../src/domain/matchers/matcher-syntax.ts';
import { anyCharacter } from '../../any-character.ts';

const OPS: readonly MatchOp[] = ['=', '!=', '=~', '!~'];

function read(text: string): string[] {
  return parseMatchers(text).map(({ name, op, value }) => `${name} ${op} ${value}`);
}

function message(text: string): string {
  try {
    parseMatchers(text);
  } catch (error) {
    expect(error).toBeInstanceOf(MatcherSyntaxError);
    return (error as Error).message;
  }
  throw new Error(`${text} was read`);
}

describe('parseMatchers', () => {
  test.each([
    ['severity="critical"', ['severity = critical']],
    ['a!=b', ['a != b']],
    ['nest =~ "Prod.*"', ['nest =~ Prod.*']],
    [' a !~ "x|y" ', ['a !~ x|y']],
    ['{a="b",c=~"d"}', ['a = b', 'c =~ d']],
    ['{ a = "b" , c = d , }', ['a = b', 'c = d']],
    ['a="b",c="d"', ['a = b', 'c = d']],
    ['a="x,y"', ['a = x,y']],
    ['a="{}"', ['a = {}']],
    ['', []],
    ['{}', []],
    ['a=""', ['a = ']],
    ['a="\\"quoted\\" \\\\ and\\nline"', ['a = "quoted" \\ and\nline']],
    ['Größe="10"', ['Größe = 10']],
    ['"label with spaces"="x"', ['label with spaces = x']],
    ['{"a=b"=~"c"}', ['a=b =~ c']],
    ['"a"="\\u00e9\\x41\\101\\U0001F426\\t"', ['a = éAA🐦\t']],
    ['"a b"="\\xf0\\x9f\\x90\\xa6 \\303\\251\\ufeff"', ['a b = 🐦 é\ufeff']],
    ['a=🐦', ['a = 🐦']],
  ])('reads %s', (text, matchers) => {
    expect(read(text)).toEqual(matchers);
  });

  test.each([
    ['a value without quotes that needs them', 'foo=bar baz', ['foo = bar baz']],
    ['no value', 'foo=', ['foo = ']],
    ['a brace that is not closed', '{foo="bar"', ['foo = bar']],
    ['a brace that was not opened', 'foo="bar"}', ['foo = bar']],
    ['a backslash that escapes nothing', 'foo=~"a\\d+"', ['foo =~ a\\d+']],
    ['an unquoted expression', 'nest=~Prod (a|b)', ['nest =~ Prod (a|b)']],
    ['a line break', 'foo="a\nb"', ['foo = a\nb']],
    ['an escape that the parsers read differently', 'foo="a\\tb"', ['foo = a\\tb']],
  ])('reads %s as the classic parser does', (_what, text, matchers) => {
    expect(read(text)).toEqual(matchers);
  });

  test.each([
    ['a', 'it ends where one of = != =~ !~ should stand (at character 2 of a)'],
    ['="b"', 'there is = where a label name should stand (at character 1 of ="b")'],
    ['a="b" c="d"', 'there is c where a comma should stand (at character 7 of a="b" c="d")'],
    ['a="b",,c="d"', 'there is , where a label name should stand (at character 7 of a="b",,c="d")'],
    ['{"a b"="c"', 'it ends where a closing } should stand (at character 11 of {"a b"="c")'],
    ['"a b"="c"}', 'there is } where the end should stand (at character 10 of "a b"="c"})'],
    ['a="b', 'a quote is not closed (at character 3 of a="b)'],
    // Both of Alertmanager's parsers refuse it: for the classic one, the quote after `\\,` is escaped.
    ['a=~"\\,",', 'the escape \\, is unknown (at character 4 of a=~"\\,",)'],
    ["'a b'=c", "' needs quotes around it (at character 1 of 'a b'=c)"],
    ['"a b"="\\q"', 'the escape \\q is unknown (at character 7 of "a b"="\\q")'],
    ['"a b"="\\xff"', 'the escape \\xff is unknown (at character 7 of "a b"="\\xff")'],
    [
      '"a b"="\\x41\\xf0\\x9f"',
      'the escape \\x41\\xf0\\x9f is unknown (at character 7 of "a b"="\\x41\\xf0\\x9f")',
    ],
    ['"a b"="\\ud800"', 'the escape \\ud800 is unknown (at character 7 of "a b"="\\ud800")'],
    ['""="x"', 'a label name is empty'],
    ['a=~"("', 'error parsing regexp: missing closing ): `(` (in a=~"(")'],
    ['a=~"x(?=y)"', 'error parsing regexp: invalid or unsupported Perl syntax: `(?=` (in a=~"x(?=y)")'],
    ['a!~"(x)\\\\1"', 'error parsing regexp: invalid escape sequence: `\\1` (in a!~"(x)\\\\1")'],
  ])('refuses %s and says where', (text, expected) => {
    expect(message(text)).toBe(expected);
  });

  test('reads back what formatMatcher writes', () => {
    const name = fc.oneof(
      fc.stringMatching(/^[a-zA-Z_:][a-zA-Z0-9_:]{0,9}$/),
      fc.string({ minLength: 1, unit: anyCharacter }).filter((text) => text.isWellFormed()),
    );
    const value = fc.string({ unit: anyCharacter }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.constantFrom('=', '!='), value)), (parts) => {
        const written = parts.map(([one, op, text]) =>
          formatMatcher({ name: one, op: op as MatchOp, value: text }),
        );
        const expected = parts.map(([one, op, text]) => `${one} ${op} ${text}`);
        expect(read(`{${written.join(',')}}`)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  test('fails only with its own error [long]', () => {
    const soup = fc.array(
      fc.constantFrom('a', '=', '~', '!', '"', '\\', ',', '{', '}', ' ', 'ü', '(', '\n', '\\x4'),
    );
    fc.assert(
      fc.property(soup, (parts) => {
        try {
          parseMatchers(parts.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(MatcherSyntaxError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('parseMatcher', () => {
  // What amtool 0.25 makes of the same arguments, and Alertmanager 0.25 of the same filters.
  test.each([
    ['nest=Marketing, EMEA', ['nest = Marketing, EMEA']],
    ['nest=a,b', ['nest = a,b']],
    ['nest=~a,b', ['nest =~ a,b']],
    ['a=b,c=d', ['a = b,c=d']],
    ["a='b, c'", ["a = 'b, c'"]],
    ['a="b, c"', ['a = b, c']],
    ['a={b}', ['a = {b}']],
    ['a=b,', ['a = b,']],
    ['a=', ['a = ']],
  ])('reads all of %s as one', (text, expected) => {
    expect(parseMatcher(text).map(({ name, op, value }) => `${name} ${op} ${value}`)).toEqual(expected);
  });

  test.each(['a="b",c="d"', '{a="b",c="d"}', '{a=b}', '"a b"="c"'])('reads %s as any text', (text) => {
    expect(parseMatcher(text).map(formatMatcher)).toEqual(parseMatchers(text).map(formatMatcher));
  });

  test('refuses what is not a matcher in either form', () => {
    expect(() => parseMatcher('a="b" c="d"')).toThrow(MatcherSyntaxError);
    expect(() => parseMatcher('nest=~(a,b')).toThrow('missing closing )');
    for (const nothing of ['', '{}', ' ']) expect(() => parseMatcher(nothing)).toThrow('there is no matcher');
  });
});

describe('a matcher', () => {
  test.each([
    ['=', 'x', { a: 'x' }, true],
    ['=', 'x', { a: 'xy' }, false],
    ['!=', 'x', { a: 'y' }, true],
    ['=~', 'x|y', { a: 'y' }, true],
    ['=~', 'x|y', { a: 'xy' }, false],
    ['!~', 'x|y', { a: 'xy' }, true],
    ['=', '', {}, true],
    ['!=', '', {}, false],
    ['=~', '.*', {}, true],
    ['=~', '.+', {}, false],
    ['!=', 'x', {}, true],
  ] as const)('a%s"%s" on %j: %s', (op, value, labels, expected) => {
    const matcher = createMatcher('a', op, value);
    expect(matcher.matches(labels)).toBe(expected);
    expect(matcher.matches(labels)).toBe(expected);
  });

  test.each(['constructor', 'toString', '__proto__'])('a label %s is absent if nobody set it', (name) => {
    expect(createMatcher(name, '=', '').matches({})).toBe(true);
    expect(createMatcher(name, '=~', '.+').matches({})).toBe(false);
    const own = Object.fromEntries([[name, 'x']]);
    expect(createMatcher(name, '=~', '.+').matches(own)).toBe(true);
  });

  test('each operator is the opposite of its negation, for every value', () => {
    const value = fc.constantFrom('', 'a', 'b', 'ab', 'a\nb');
    fc.assert(
      fc.property(fc.constantFrom('a', 'a|b', '.*', '', 'a?b'), value, (pattern, label) => {
        const [is, isNot, like, unlike] = OPS.map((op) =>
          createMatcher('x', op, pattern).matches({ x: label }),
        );
        expect([isNot, unlike]).toEqual([!is, !like]);
      }),
    );
  });

  test('answers the same for more texts than it remembers', () => {
    const matcher = createMatcher('a', '=~', '[0-9]*5');
    for (let turn = 0; turn < 2; turn += 1) {
      for (let n = 0; n < 2000; n += 1) expect(matcher.matches({ a: String(n) })).toBe(n % 10 === 5);
    }
  });
});

test('goQuote writes unprintable characters as escapes', () => {
  expect(goQuote('a"\\\n\x07\x00é🐦\u200b\u{e0001}')).toBe('"a\\"\\\\\\n\\a\\x00é🐦\\u200b\\U000e0001"');
});
