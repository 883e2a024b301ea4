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
