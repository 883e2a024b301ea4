import { dirname, resolve } from 'node:path';
import * as z from 'zod';
import { type Secret, secret, secretFrom } from '../../secret.ts';
import type { ConfigDocument } from './document.ts';
import { nearest } from './nearest.ts';
import { formatPath, type Path, type Problem } from './problem.ts';
import { isRefused } from './refused-key.ts';
import { whyUnreadable } from './why-unreadable.ts';

/**
 * Reads parts of a document and collects what is wrong with them. It never throws: a part that is wrong reads as
 * undefined, and the others are checked all the same. At most one problem is told of each place.
 */
export interface Check {
  /** The value as it stands, unchecked; undefined where there is none. */
  raw(path: Path): unknown;
  /** The value as the shape gives it, with its defaults. */
  read<Shape extends z.ZodType>(shape: Shape, path: Path): z.output<Shape> | undefined;
  problem(path: Path, message: string): void;
  /** A problem with the name of a key, told at the key instead of at its value. */
  keyProblem(path: Path, message: string): void;
  /** Nothing more is told of this place: what is wrong there was told of another. */
  settle(path: Path): void;
  /** The secret of `key` or of the file that `key_file` names; null where neither is given, or it is wrong. */
  secret(path: Path, key: string, options: SecretOptions): Secret | null;
  /** Whether the text came from the environment and must not be quoted. */
  isExpanded(path: Path): boolean;
  problems(): readonly Problem[];
}

export interface SecretOptions {
  readonly isRequired?: boolean;
  /** What is wrong with the text, said without quoting it. */
  readonly mistake?: (text: string) => string | undefined;
}

/** Whether a key, or the file in its place, is given; also when it is wrong, which is told already. */
export function isGiven(check: Check, path: Path, key: string): boolean {
  return check.raw([...path, key]) !== undefined || check.raw([...path, `${key}_file`]) !== undefined;
}

export interface CheckOptions {
  readonly document: ConfigDocument;
  /** The file's own path: secret files are found from its folder. */
  readonly file: string;
  readonly readFile: (path: string) => string;
}

export function createCheck({ document, file, readFile }: CheckOptions): Check {
  const problems: Problem[] = [...document.problems];
  const told = new Set<string>();

  const raw = (path: Path): unknown =>
    path.reduce<unknown>((value, step) => {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
      return (value as Record<string | number, unknown>)[step];
    }, document.value);

  function tell(path: Path, message: string, place: 'key' | 'value'): void {
    const name = formatPath(path);
    if (told.has(name) || document.isFaulty(path)) return;
    told.add(name);
    const { line, column } = place === 'key' ? document.placeOfKey(path) : document.placeOf(path);
    problems.push({ line, column, path: name, message });
  }
  const problem = (path: Path, message: string) => tell(path, message, 'value');
  const keyProblem = (path: Path, message: string) => tell(path, message, 'key');

  function tellIssue(shape: z.ZodType, base: Path, issue: z.core.$ZodIssue): void {
    const path = [...base, ...(issue.path as Path)];
    if (issue.code === 'unrecognized_keys') {
      const known = keysOf(shape, issue.path as Path);
      for (const key of issue.keys) keyProblem([...path, key], unknownKey(key, known));
    } else if (issue.code === 'invalid_key') {
      keyProblem(path, issue.issues[0]?.message ?? issue.message);
    } else if (document.isExpanded(path) && issue.code === 'invalid_type') {
      problem(path, `${issue.message} (it comes from the environment)`);
    } else {
      problem(path, issue.message);
    }
  }

  function secretFile(path: Path, mistake: SecretOptions['mistake']): Secret | null {
    const name = raw(path);
    if (typeof name !== 'string' || name === '') return null;
    const target = resolve(dirname(file), name);
    const shown = document.isExpanded(path) ? 'the file' : target;
    const read = () => trimmed(readFile(target));
    let last: string;
    try {
      last = read();
    } catch (error) {
      problem(path, `${shown} ${whyUnreadable(error)}`);
      return null;
    }
    const wrong = last === '' ? 'is empty' : mistake?.(last);
    if (wrong) {
      problem(path, `${shown}: ${wrong}`);
      return null;
    }
    // Read at every use: a file replaced in the same second is seen as well. A file that is being replaced, or
    // that is gone, must not stop what works: the last text that could be read stays good.
    return secretFrom(() => {
      try {
        last = read() || last;
      } catch {}
      return last;
    });
  }

  return {
    raw,
    problem,
    keyProblem,
    settle: (path) => void told.add(formatPath(path)),
    isExpanded: document.isExpanded,
    problems: () => problems,

    read(shape, path) {
      const value = raw(path);
      let result = shape.safeParse(value, { error: messageOf });
      if (!result.success) {
        const issues = result.error.issues.filter((issue) =>
          document.isExpanded([...path, ...(issue.path as Path)]),
        );
        const converted = withConverted(value, issues);
        if (converted !== undefined) result = shape.safeParse(converted, { error: messageOf });
      }
      if (result.success) return result.data;
      for (const issue of result.error.issues) tellIssue(shape, path, issue);
      return undefined;
    },

    secret(path, key, { isRequired = false, mistake }) {
      const own = [...path, key];
      const twin = [...path, `${key}_file`];
      const text = raw(own);
      const name = raw(twin);
      if (text !== undefined && name !== undefined) {
        problem(twin, `give either \`${key}\` or \`${key}_file\`, not both`);
        return null;
      }
      if (text === undefined && name === undefined) {
        if (isRequired) problem(own, `is missing: give \`${key}\` or \`${key}_file\``);
        return null;
      }
      if (name !== undefined) return secretFile(twin, mistake);
      if (typeof text !== 'string' || text === '') return null;
      const wrong = mistake?.(text);
      if (wrong) problem(own, wrong);
      return secret(text);
    },
  };
}

/** Editors end files with a newline, and some begin them with a byte order mark: neither belongs to the secret. */
function trimmed(text: string): string {
  return text.replace(/^\uFEFF/, '').replace(/[\r\n]+$/, '');
}

/** What people read where a shape says nothing itself. Values are never quoted: they may be secrets. */
function messageOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is missing';
      if (issue.input === null) return 'is empty';
      return TYPES[issue.expected] ?? `must be ${issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array') return 'must not be empty';
      return `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    default:
      return 'is not valid';
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'must be text: put it in quotes',
  number: 'must be a number',
  int: 'must be a whole number',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be a map of keys and values',
  record: 'must be a map of keys and values',
};

function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant ? `unknown key; did you mean \`${meant}\`?` : `unknown key; known here: ${known.join(', ')}`;
}

/** A copy in which texts stand as the numbers and booleans that the issues ask for; undefined without any. */
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

/** The keys that a shape knows at a path and supports; `refused` ones are not worth a suggestion. */
function keysOf(shape: z.ZodType, path: Path): string[] {
  const target = path.reduce<unknown>((at, step) => {
    const inner = unwrapped(at);
    if (inner instanceof z.ZodObject) return inner.shape[step];
    if (inner instanceof z.ZodRecord) return inner.valueType;
    return inner instanceof z.ZodArray ? inner.element : undefined;
  }, shape);
  const object = unwrapped(target);
  if (!(object instanceof z.ZodObject)) return [];
  return Object.entries(object.shape)
    .filter(([, inner]) => !isRefused(inner as z.ZodType))
    .map(([key]) => key);
}

function unwrapped(shape: unknown): unknown {
  let inner = shape;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodPrefault || inner instanceof z.ZodDefault) {
    inner = inner.unwrap();
  }
  return inner;
}
