import type { Check } from './check.ts';
import { nearest } from './nearest.ts';
import type { Path } from './problem.ts';

/** Adds a problem when no receiver has the name that stands at `path`; `names` are those that exist. */
export function checkReceiver(check: Check, path: Path, name: string, names: readonly string[]): void {
  if (name === '' || names.includes(name)) return;
  const shown = check.isExpanded(path) ? 'this name' : `the name ${JSON.stringify(name)}`;
  const meant = nearest(name, names);
  const others = [...new Set(names)].filter((one) => one !== '').join(', ');
  const help = meant ? `did you mean ${meant}?` : `there is ${others || 'none'}`;
  check.problem(path, `no receiver has ${shown}; ${help}`);
}

/**
 * Names of all receivers in their order, also of those that are wrong otherwise: a route to one of them is not a
 * mistake. Empty where one has no name.
 */
export function receiverNames(check: Check): string[] {
  const list = check.raw(['receivers']);
  if (!Array.isArray(list)) return [];
  return list.map((_, index) => {
    const name = check.raw(['receivers', index, 'name']);
    return typeof name === 'string' ? name : '';
  });
}
