import { nearest } from '../text/mistake-words.ts';
import type { Check } from './check.ts';
import type { Path } from './problem.ts';

/** Adds a problem if no receiver has the name written at `path`; `names` are those that exist. */
export function checkReceiver(check: Check, path: Path, name: string, names: readonly string[]): void {
  if (name === '' || names.includes(name)) return;
  const shown = check.isExpanded(path) ? 'this name' : `the name ${JSON.stringify(name)}`;
  const meant = nearest(name, names);
  const others = [...new Set(names)].filter((one) => one !== '').join(', ');
  const help = meant ? `did you mean ${meant}?` : `there is ${others || 'none'}`;
  check.problem(path, `no receiver has ${shown}; ${help}`);
}

/**
 * The names of all receivers in order, including receivers with other mistakes, so that a route to one of them is not
 * reported as well. A missing name is ''.
 */
export function receiverNames(check: Check): string[] {
  const list = check.raw(['receivers']);
  if (!Array.isArray(list)) return [];
  return list.map((_, index) => {
    const name = check.raw(['receivers', index, 'name']);
    return typeof name === 'string' ? name : '';
  });
}
