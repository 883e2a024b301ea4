import { dirname, resolve } from 'node:path';
import type * as z from 'zod';
import { type Secret, secret, secretFrom } from '../secret.ts';
import { meantOr, messageOf } from '../text/mistake-words.ts';
import type { ConfigDocument } from './document.ts';
import { areEnough, ConfigError, formatPath, type Path, type Problem } from './problem.ts';
import {
  type Environment,
  type FileRereads,
  MOST_CONFIG_BYTES,
  MOST_SECRET_BYTES,
  type ReadFile,
  type Take,
  whyUnreadable,
} from './read-file.ts';
import { keysOf, unknownKey } from './value-shape.ts';

interface SecretOptions {
  readonly isRequired?: boolean;
  /** What is wrong with the text, without quoting it. */
  readonly mistake?: (text: string) => string | undefined;
  /** How large its file may be. */
  readonly mostBytes?: number;
}

/** Whether the key or its `_file` twin is given, even if its value is wrong, which is reported elsewhere. */
export function isGiven(check: Check, path: Path, key: string): boolean {
  return check.raw([...path, key]) !== undefined || check.raw([...path, `${key}_file`]) !== undefined;
}

/** The path of the key, or of its `_file` twin if that is given. */
export function givenKey(check: Check, path: Path, key: string): Path {
  return [...path, check.raw([...path, key]) === undefined ? `${key}_file` : key];
}

interface CheckOptions {
  readonly document: ConfigDocument;
  /** The path of the configuration file; secret files are relative to its folder. */
  readonly file: string;
  readonly readFile: ReadFile;
  readonly environment: Environment;
  readonly unread?: Map<string, string>;
  readonly rereads?: FileRereads;
  readonly parts?: Map<string, string>;
}

/**
 * Reads parts of a document and collects what is wrong with them. It does not throw for mistakes: a part that is
 * wrong reads as undefined, and the others are still checked. For each place only the first problem is kept. Throws
 * `ConfigError` once there are enough.
 */
export class Check {
  readonly #document: ConfigDocument;
  readonly #file: string;
  readonly #readFile: ReadFile;
  readonly #environment: Environment;
  readonly #unread: Map<string, string> | undefined;
  readonly #rereads: FileRereads | undefined;
  readonly #parts: Map<string, string> | undefined;
  readonly #problems: Problem[];
  /** Paths that already have a problem. */
  readonly #settled: Set<string>;

  constructor({ document, file, readFile, environment, unread, rereads, parts }: CheckOptions) {
    this.#document = document;
    this.#file = file;
    this.#readFile = readFile;
    this.#environment = environment;
    this.#unread = unread;
    this.#rereads = rereads;
    this.#parts = parts;
    this.#problems = [...document.problems];
    this.#settled = new Set(document.problems.map(({ path }) => path));
  }

  /** The value as written, unchecked; undefined if there is none. */
  raw(path: Path): unknown {
    return path.reduce<unknown>((value, step) => {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
      return (value as Record<string | number, unknown>)[step];
    }, this.#document.value);
  }

  /** The value as written, or the number or boolean that a text from the environment stands for. */
  plain(path: Path): unknown {
    const value = this.raw(path);
    if (typeof value !== 'string' || !this.isExpanded(path)) return value;
    const number = converted(value.trim(), 'number');
    return typeof number === 'number' ? number : converted(value.trim(), 'boolean');
  }

  /** Whether the key is written, even without a value. */
  #hasKey(path: Path): boolean {
    const parent = this.raw(path.slice(0, -1));
    return typeof parent === 'object' && parent !== null && Object.hasOwn(parent, path.at(-1)!);
  }

  /** The value as the shape parses it, including defaults; undefined if it is wrong. */
  read<Shape extends z.ZodType>(shape: Shape, path: Path): z.output<Shape> | undefined {
    const value = this.raw(path);
    let result = shape.safeParse(value, { error: messageOf });
    if (!result.success) {
      const issues = result.error.issues.filter((issue) =>
        this.isExpanded([...path, ...(issue.path as Path)]),
      );
      const converted = withConverted(value, issues);
      if (converted !== undefined) result = shape.safeParse(converted, { error: messageOf });
    }
    for (const issue of result.error?.issues ?? []) this.#addIssue(shape, path, issue);
    return result.data;
  }

  problem(path: Path, message: string): void {
    this.#add(path, message, 'value');
  }

  /** A problem with the name of a key, placed at the key rather than its value. */
  keyProblem(path: Path, message: string): void {
    this.#add(path, message, 'key');
  }

  /** Whether the text came from the environment and must not be quoted. */
  isExpanded(path: Path): boolean {
    return this.#document.isExpanded(path);
  }

  /** An environment variable; undefined if it is not set. */
  variable(name: string): string | undefined {
    return Object.hasOwn(this.#environment, name) ? this.#environment[name] : undefined;
  }

  problems(): readonly Problem[] {
    return this.#problems;
  }

  /** The secret in `key`, or in the file that `key_file` names; null if neither is given or it is wrong. */
  secret(path: Path, key: string, { isRequired = false, ...options }: SecretOptions): Secret | null {
    const own = [...path, key];
    const twin = [...path, `${key}_file`];
    const text = this.raw(own);
    const name = this.raw(twin);
    if (text !== undefined && name !== undefined) {
      this.problem(twin, `give either \`${key}\` or \`${key}_file\`, not both`);
      return null;
    }
    if (text === undefined && name === undefined) {
      if (isRequired) this.problem(own, `is missing: give \`${key}\` or \`${key}_file\``);
      // An empty secret must not silently mean "none": it may be there to keep others out.
      for (const empty of [own, twin]) {
        if (this.#hasKey(empty)) this.problem(empty, 'is empty: give it a value, or leave the key out');
      }
      return null;
    }
    if (name !== undefined) return this.secretFile(twin, options);
    if (typeof text !== 'string' || text === '') return null;
    const wrong = options.mistake?.(text);
    if (wrong) this.problem(own, wrong);
    return secret(text);
  }

  /**
   * The file named at `path`, which is a part of the configuration: if it changes, the configuration has changed. Undefined
   * if there is none or it cannot be read.
   */
  part(path: Path): { readonly file: string; readonly text: string } | undefined {
    const name = this.raw(path);
    if (typeof name !== 'string' || name === '') return undefined;
    const file = resolve(dirname(this.#file), name);
    try {
      const text = this.#readFile(file, MOST_CONFIG_BYTES);
      this.#parts?.set(file, text);
      return { file, text };
    } catch (error) {
      const why = whyUnreadable(error);
      this.#parts?.set(file, why);
      this.problem(path, `${this.isExpanded(path) ? 'the file' : file} ${why}`);
      return undefined;
    }
  }

  /** The secret in the file named at `path`; null if it is wrong. */
  secretFile(path: Path, { mistake, mostBytes = MOST_SECRET_BYTES }: SecretOptions): Secret | null {
    const name = this.raw(path);
    if (typeof name !== 'string' || name === '') return null;
    const target = resolve(dirname(this.#file), name);
    const shown = this.isExpanded(path) ? 'the file' : target;
    const read = () => this.#readFile(target, mostBytes);
    let last: string;
    try {
      last = trimmed(read());
    } catch (error) {
      this.problem(path, `${shown} ${whyUnreadable(error)}`);
      return null;
    }
    const wrongWith = (text: string) => (text === '' ? 'is empty' : mistake?.(text));
    const wrong = wrongWith(last);
    if (wrong) {
      this.problem(path, `${shown}: ${wrong}`);
      return null;
    }
    let seen = { text: last, why: '' };
    function problemOf(read: () => string): string {
      try {
        const text = trimmed(read());
        if (text !== seen.text) seen = { text, why: wrongWith(text) ?? '' };
        if (seen.why === '') last = text;
        return seen.why && `${shown}: ${seen.why}`;
      } catch (error) {
        return `${shown} ${whyUnreadable(error)}`;
      }
    }
    // A file that is being replaced, is gone or holds an invalid secret must not stop what works: the last valid text
    // stays in use.
    const take: Take = (read) => {
      const problem = problemOf(read);
      if (problem === '') this.#unread?.delete(formatPath(path));
      else this.#unread?.set(formatPath(path), problem);
    };
    // A command that runs once reads the file at each use; the daemon must not wait for it.
    const readAgain = this.#rereads?.of(target, mostBytes, take) ?? (() => take(read));
    return secretFrom(() => {
      readAgain();
      return last;
    }, `file ${target}`);
  }

  #addIssue(shape: z.ZodType, base: Path, issue: z.core.$ZodIssue): void {
    const path = [...base, ...(issue.path as Path)];
    if (issue.code === 'unrecognized_keys') {
      const known = keysOf(shape, issue.path as Path);
      for (const key of issue.keys) this.keyProblem([...path, key], unknownKey(key, known));
    } else if (issue.code === 'invalid_key') {
      this.keyProblem(path, issue.issues[0]?.message ?? issue.message);
    } else if (this.isExpanded(path) && issue.code === 'invalid_type') {
      this.problem(path, `${issue.message} (it comes from the environment)`);
    } else {
      this.problem(path, issue.message);
    }
  }

  #add(path: Path, message: string, at: 'key' | 'value'): void {
    const name = formatPath(path);
    if (this.#settled.has(name) || this.#document.isFaulty(path)) return;
    this.#settled.add(name);
    const { line, column } = at === 'key' ? this.#document.placeOfKey(path) : this.#document.placeOf(path);
    this.#problems.push({ line, column, path: name, message });
    if (areEnough(this.#problems)) throw new ConfigError(this.#file, this.#problems);
  }
}

/** Removes the final newline that editors add and a leading byte order mark: neither is part of the secret. */
function trimmed(text: string): string {
  return text.replace(/^\uFEFF/, '').replace(/[\r\n]+$/, '');
}

/** A copy in which texts are converted to the numbers and booleans that the issues ask for; undefined if none is. */
function withConverted(value: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  let copy: unknown;
  for (const issue of issues) {
    if (issue.code !== 'invalid_type' || issue.path.length === 0) continue;
    copy ??= structuredClone(value);
    let parent = copy as Record<PropertyKey, unknown>;
    for (const step of issue.path.slice(0, -1)) parent = parent[step] as Record<PropertyKey, unknown>;
    const last = issue.path.at(-1)!;
    parent[last] = converted(String(parent[last]).trim(), issue.expected);
  }
  return copy;
}

function converted(text: string, expected: string): unknown {
  if (expected === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  if ((expected === 'number' || expected === 'int') && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return text;
}

// Reads lists of the file, and names by which other parts of it refer to their items.

/** The paths of a list's items. Adds a problem if the value is not a list. */
export function readList(check: Check, path: Path): Path[] {
  const list = check.raw(path);
  if (list === undefined) return [];
  if (Array.isArray(list)) return list.map((_, index) => [...path, index]);
  check.problem(path, 'must be a list');
  return [];
}

/** Adds a problem for each item whose name one before it has. `what` is one of them: `receiver`. */
export function refuseRepeated(check: Check, items: readonly Path[], what: string): void {
  const taken = new Set<unknown>();
  for (const path of items) {
    const name = check.raw([...path, 'name']);
    if (typeof name !== 'string') continue;
    if (taken.has(name)) check.problem([...path, 'name'], `another ${what} has this name already`);
    taken.add(name);
  }
}

/**
 * The names of a list's items in order, also of those with other mistakes, so that what refers to one is not reported as
 * well. A missing name is ''.
 */
export function namesIn(check: Check, key: string): string[] {
  const list = check.raw([key]);
  if (!Array.isArray(list)) return [];
  return list.map((one) => (typeof one?.name === 'string' ? one.name : ''));
}

/** Adds a problem if the text at `path` is none of the names; `what` is what they name: `receiver`. */
export function checkName(check: Check, path: Path, names: readonly string[], what: string): void {
  const name = check.raw(path);
  if (typeof name !== 'string' || name === '' || names.includes(name)) return;
  const shown = check.isExpanded(path) ? 'this name' : `the name ${JSON.stringify(name)}`;
  const others = [...new Set(names)].filter((one) => one !== '').join(', ');
  check.problem(path, `no ${what} has ${shown}; ${meantOr(name, names, `there is ${others || 'none'}`)}`);
}

/** Whether a value of the file is a map. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
