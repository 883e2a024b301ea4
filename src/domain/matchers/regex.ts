/**
 * Matches whole texts against RE2 patterns as Alertmanager does. RE2JS takes time in proportion to program times
 * text, but limits the program only to a million instructions. Patterns that would cost seconds or a gigabyte are
 * refused here.
 */
import { RE2JS, RE2JSException } from 're2js';
import { LIMITS } from '../../limits.ts';

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
export function knownRegex(pattern: string): (text: string) => boolean {
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
