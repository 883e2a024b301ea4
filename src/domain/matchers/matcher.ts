import { RE2JS, RE2JSException } from 're2js';
import { LIMITS } from '../../limits.ts';
import { type Labels, labelOf } from '../alert/alert.ts';
import {
  MatcherSyntaxError,
  type MatcherText,
  type MatchOp,
  readMatcher,
  readMatchers,
} from './matcher-syntax.ts';

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

// Matches whole texts against RE2 patterns as Alertmanager does. RE2JS takes time in proportion to program times
// text, but limits the program only to a million instructions. Patterns that would cost seconds or a gigabyte are
// refused here.

/** A pattern with a larger estimate is not even compiled: that alone may take seconds. */
const MAX_ESTIMATE = 30_000;
/** A Unicode class such as `\pL` is one instruction with up to 650 ranges, which take as long as this many others. */
const UNICODE_CLASS = 100;
/** This many characters of a listed class count as one instruction. */
const LISTED_CHARACTERS = 8;
/** RE2's own limit for a repetition, and for the product of nested ones. */
const MAX_REPEAT = 1000;
/** Instructions kept compiled in each of two generations: more than all silences together may have. */
const KEPT_INSTRUCTIONS = 2 * LIMITS.silences_instructions.most;
/** Texts whose result a pattern caches: labels repeat, and matchers are evaluated for every alert. */
const REMEMBERED_ANSWERS = 4_096;
/** The same for all patterns of a generation together. */
const REMEMBERED_IN_ALL = 200_000;

export class RegexSyntaxError extends Error {
  override readonly name = 'RegexSyntaxError';
}

interface Program {
  readonly matcher: RE2JS;
  /** In instructions; large classes count for more. */
  readonly size: number;
  readonly answers: Map<string, boolean>;
}

/** Caches compiled patterns by text: as many recently used ones as fit. Compiled programs never change. */
class Programs {
  #young = new Map<string, Program>();
  #old = new Map<string, Program>();
  #instructions = 0;
  #answers = 0;

  of(pattern: string): Program {
    const known = this.#young.get(pattern);
    if (known) return known;
    const program = this.#old.get(pattern) ?? createProgram(pattern);
    this.#makeRoom(program);
    this.#young.set(pattern, program);
    this.#instructions += program.size;
    this.#answers += program.answers.size;
    return program;
  }

  matches(pattern: string, text: string): boolean {
    const program = this.of(pattern);
    const { answers } = program;
    const known = answers.get(text);
    if (known !== undefined) return known;
    // Not `test`: it keeps up to 8 MB of states per pattern, and a hostile pattern makes it refill them for each
    // text.
    const answer = program.matcher.matcher(text).matches();
    if (answers.size >= REMEMBERED_ANSWERS) {
      this.#answers -= answers.size;
      answers.clear();
    }
    answers.set(text, answer);
    this.#answers += 1;
    if (this.#answers > REMEMBERED_IN_ALL) this.#turn();
    return answer;
  }

  #makeRoom({ size, answers }: Program): void {
    const isFull =
      this.#instructions + size > KEPT_INSTRUCTIONS || this.#answers + answers.size > REMEMBERED_IN_ALL;
    if (isFull) this.#turn();
  }

  #turn(): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#instructions = 0;
    this.#answers = 0;
  }
}

const PROGRAMS = new Programs();

/** Returns a test for whole texts. Throws a `RegexSyntaxError` for what RE2 refuses and for what is too large. */
export function compileRegex(pattern: string): (text: string) => boolean {
  PROGRAMS.of(pattern);
  return (text) => PROGRAMS.matches(pattern, text);
}

/** Like `compileRegex`, for a pattern that was validated before it was stored: it is compiled on first use. */
function knownRegex(pattern: string): (text: string) => boolean {
  return (text) => PROGRAMS.matches(pattern, text);
}

/** How many instructions a pattern compiles to; large classes count for more. Throws like `compileRegex`. */
export function regexSize(pattern: string): number {
  return PROGRAMS.of(pattern).size;
}

function createProgram(pattern: string): Program {
  const { most } = LIMITS.pattern_instructions;
  const classes = sizeOfClasses(pattern);
  if (classes > most || estimate(pattern) > MAX_ESTIMATE) throw new RegexSyntaxError(TOO_LARGE);
  // Compiled alone first, so that the message quotes what was written, and `a)|(b` cannot escape the anchors.
  const size = Math.max(compile(pattern).programSize(), classes);
  if (size > most) throw new RegexSyntaxError(TOO_LARGE);
  return { matcher: compile(`^(?:${pattern})$`), size, answers: new Map() };
}

const TOO_LARGE = 'its length, repetitions or classes make it too large';

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSException) throw new RegexSyntaxError(beginningOf(error.message));
    throw error;
  }
}

/** RE2 quotes what it refuses, up to the whole pattern. */
const MAX_MESSAGE = 200;

function beginningOf(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE).toWellFormed()}…` : message;
}

/** A lower bound of the pattern's size. It grows with the ranges of its classes, which are not instructions. */
function sizeOfClasses(pattern: string): number {
  const unicode = pattern.match(/\\[pP]/g)?.length ?? 0;
  return UNICODE_CLASS * unicode + Math.ceil(pattern.length / LISTED_CHARACTERS);
}

/**
 * Roughly the most instructions that the pattern can have: every repeated group counts as if it contained the others.
 */
function estimate(pattern: string): number {
  let size = pattern.length;
  let groups = 1;
  for (const [, group, min, max] of pattern.matchAll(/(\)?)\{(\d+)(?:,(\d*))?\}/g)) {
    const count = Math.min(Math.max(1, Number(min), Number(max ?? 0)), MAX_REPEAT);
    if (group) groups = Math.min(groups * count, MAX_REPEAT);
    else size += count;
  }
  return groups * size;
}
