import { LIMITS } from '../../limits.ts';
import { type Labels, labelOf } from '../alert/alert.ts';
import {
  MatcherSyntaxError,
  type MatcherText,
  type MatchOp,
  readMatcher,
  readMatchers,
} from './matcher-syntax.ts';
import { knownRegex, RegexSyntaxError, regexSize } from './regex.ts';

/** One condition on a label. A missing label counts as empty, as in Alertmanager. */
export interface Matcher {
  readonly name: string;
  readonly op: MatchOp;
  readonly value: string;
  matches(labels: Labels): boolean;
}

/**
 * Reads `a="b"`, `a="b",c=~"d"` or `{a="b",c=~"d"}` as Alertmanager does. Throws a `MatcherSyntaxError` that says
 * what is wrong and where.
 */
export function parseMatchers(text: string): Matcher[] {
  return parseMatcherLists([text]);
}

/** Like `parseMatchers`, for several texts that are used together. */
export function parseMatcherLists(texts: readonly string[]): Matcher[] {
  return createMatchers(texts.flatMap(readMatchers));
}

/**
 * Reads an argument or a `filter` as amtool and Alertmanager's API do: all of `nest=Marketing, EMEA` is one matcher.
 * Several matchers in one text, and braces around them, are accepted if each value is quoted. Throws like
 * `parseMatchers`.
 */
export function parseMatcher(text: string): Matcher[] {
  return parseFilters([text]);
}

/** Like `parseMatcher`, for several texts that are used together. */
export function parseFilters(texts: readonly string[]): Matcher[] {
  return createMatchers(texts.flatMap(readMatcher));
}

/**
 * Creates matchers that are used together. Stops at the first that exceeds their number or the total size of their
 * regular expressions. Throws like `createMatcher`.
 */
export function createMatchers(parts: readonly MatcherText[]): Matcher[] {
  if (parts.length > LIMITS.matchers.most) {
    throw new MatcherSyntaxError(`there are more than ${LIMITS.matchers.most} matchers`);
  }
  let instructions = 0;
  return parts.map(({ name, op, value }) => {
    const matcher = createMatcher(name, op, value);
    instructions += sizeOf(matcher);
    if (instructions > LIMITS.pattern_instructions.most) {
      throw new MatcherSyntaxError('the regular expressions are too large together');
    }
    return matcher;
  });
}

/** Regular expressions are RE2's and match the whole value. Throws a `MatcherSyntaxError` for an invalid one. */
export function createMatcher(name: string, op: MatchOp, value: string): Matcher {
  if (name === '') throw new MatcherSyntaxError('a label name is empty');
  try {
    sizeOf({ op, value });
  } catch (error) {
    if (!(error instanceof RegexSyntaxError)) throw error;
    throw new MatcherSyntaxError(`${error.message} (in ${name}${op}${quote(shortened(value))})`);
  }
  return knownMatcher({ name, op, value });
}

/** How much of a refused value is quoted. */
const QUOTED_CHARACTERS = 100;

function shortened(value: string): string {
  return value.length > QUOTED_CHARACTERS ? `${value.slice(0, QUOTED_CHARACTERS).toWellFormed()}…` : value;
}

/** A matcher that was validated before it was stored. If it is invalid after all, matching throws. */
export function knownMatcher({ name, op, value }: MatcherText): Matcher {
  const test = isRegex(op) ? knownRegex(value) : (text: string) => text === value;
  const isNegated = op === '!=' || op === '!~';
  return { name, op, value, matches: (labels) => test(labelOf(labels, name) ?? '') !== isNegated };
}

/** The work of a matcher: the instructions of its regular expression; 0 if it has none. */
export function sizeOf({ op, value }: Pick<Matcher, 'op' | 'value'>): number {
  return isRegex(op) ? regexSize(value) : 0;
}

/** The work of evaluating all of these; an invalid matcher counts as none. */
export function workOf(matchers: readonly Matcher[]): number {
  return matchers.reduce((sum, matcher) => sum + 1 + knownSizeOf(matcher), 0);
}

function knownSizeOf(matcher: Matcher): number {
  try {
    return sizeOf(matcher);
  } catch {
    return 0;
  }
}

function isRegex(op: MatchOp): boolean {
  return op === '=~' || op === '!~';
}

export function matchesAll(matchers: readonly Matcher[], labels: Labels): boolean {
  return matchers.every((matcher) => matcher.matches(labels));
}

/** Alertmanager's form, as in the keys of routes. `parseMatchers` reads it back. */
export function formatMatcher({ name, op, value }: Pick<Matcher, 'name' | 'op' | 'value'>): string {
  if (/[\s{}!=~,\\"'`]/u.test(name)) return `${goQuote(name)}${op}${goQuote(value)}`;
  return `${name}${op}${quote(value)}`;
}

/** Matchers for labels with these values, one per line; without the names that have none. */
export function matchersOf(labels: Labels, names: readonly string[] = Object.keys(labels)): string {
  return names
    .flatMap((name) => {
      const value = labelOf(labels, name);
      return value ? [formatMatcher({ name, op: '=', value })] : [];
    })
    .join('\n');
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

/** A string as Go's `%q` writes it: characters that are not printable are escaped. */
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

/** A matcher in the JSON of Alertmanager's API v2. */
export interface MatcherJson {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
  readonly isEqual: boolean;
}

interface MatcherParts {
  readonly name: string;
  readonly op: MatchOp;
  readonly value: string;
}

export function matcherJson({ name, op, value }: MatcherParts): MatcherJson {
  return { isEqual: op === '=' || op === '=~', isRegex: op === '=~' || op === '!~', name, value };
}

export function matcherParts({ name, value, isRegex, isEqual }: MatcherJson): MatcherParts {
  return { name, op: isRegex ? (isEqual ? '=~' : '!~') : isEqual ? '=' : '!=', value };
}
