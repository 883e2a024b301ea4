/** Reads lists of the file, and names by which other parts of it refer to their items. */
import { meantOr } from '../text/mistake-words.ts';
import type { Check } from './check.ts';
import type { Path } from './problem.ts';

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
