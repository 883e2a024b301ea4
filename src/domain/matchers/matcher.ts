import { type Labels, labelOf } from '../alert/alert.ts';
import { MatcherSyntaxError, type MatchOp, readMatcher, readMatchers } from './matcher-syntax.ts';
import { compileRegex, RegexSyntaxError } from './regex.ts';

/** One condition on a label. A label that is absent counts as empty, as in Alertmanager. */
export interface Matcher {
  readonly name: string;
  readonly op: MatchOp;
  readonly value: string;
  matches(labels: Labels): boolean;
}

/** Values whose answer a matcher remembers: labels repeat, and matchers are asked for every event. */
const REMEMBERED_ANSWERS = 512;

/**
 * Reads `a="b"`, `a="b",c=~"d"` or `{a="b",c=~"d"}` as Alertmanager reads it. Throws a `MatcherSyntaxError` whose
 * message says what is wrong and where.
 */
export function parseMatchers(text: string): Matcher[] {
  return readMatchers(text).map(({ name, op, value }) => createMatcher(name, op, value));
}

/**
 * Reads an argument or a `filter` as amtool and Alertmanager's API do: all of `nest=Marketing, EMEA` is one matcher.
 * Several in one text, and braces around them, are read as well where each value is quoted. Throws as `parseMatchers`.
 */
export function parseMatcher(text: string): Matcher[] {
  return readMatcher(text).map(({ name, op, value }) => createMatcher(name, op, value));
}

/** Regular expressions are RE2's and match the whole value. Throws a `MatcherSyntaxError` for one that is not valid. */
export function createMatcher(name: string, op: MatchOp, value: string): Matcher {
  if (name === '') throw new MatcherSyntaxError('a label name is empty');
  const test = op === '=~' || op === '!~' ? regexTest(name, op, value) : (text: string) => text === value;
  const isNegated = op === '!=' || op === '!~';
  return { name, op, value, matches: (labels) => test(labelOf(labels, name) ?? '') !== isNegated };
}

export function matchesAll(matchers: readonly Matcher[], labels: Labels): boolean {
  return matchers.every((matcher) => matcher.matches(labels));
}

function regexTest(name: string, op: MatchOp, pattern: string): (text: string) => boolean {
  let match: (text: string) => boolean;
  try {
    match = compileRegex(pattern);
  } catch (error) {
    if (!(error instanceof RegexSyntaxError)) throw error;
    throw new MatcherSyntaxError(`${error.message} (in ${name}${op}${quote(pattern)})`);
  }
  const answers = new Map<string, boolean>();
  return (text) => {
    const known = answers.get(text);
    if (known !== undefined) return known;
    const answer = match(text);
    if (answers.size >= REMEMBERED_ANSWERS) answers.clear();
    answers.set(text, answer);
    return answer;
  };
}

/** Alertmanager's form, as it stands in the keys of routes. `parseMatchers` reads it back. */
export function formatMatcher({ name, op, value }: Pick<Matcher, 'name' | 'op' | 'value'>): string {
  if (/[\s{}!=~,\\"'`]/u.test(name)) return `${goQuote(name)}${op}${goQuote(value)}`;
  return `${name}${op}${quote(value)}`;
}

function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')}"`;
}

const GO_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['"', '\\"'],
  ['\\', '\\\\'],
]);

/** A string as Go's `%q` writes it: what does not print is escaped. */
export function goQuote(text: string): string {
  const body = text.toWellFormed().replace(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (char) => {
    const short = GO_ESCAPES.get(char);
    if (short) return short;
    const codePoint = char.codePointAt(0)!;
    const hex = codePoint.toString(16);
    if (codePoint < 128) return `\\x${hex.padStart(2, '0')}`;
    return codePoint < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  });
  return `"${body}"`;
}
