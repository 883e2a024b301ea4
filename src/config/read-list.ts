import { type Matcher, parseMatchers } from '../alerts/matcher.ts';
import type { Check } from './check.ts';
import type { Path } from './problem.ts';

/** The paths of a list's items; what is no list is told as a problem. */
export function readList(check: Check, path: Path): Path[] {
  const list = check.raw(path);
  if (list === undefined) return [];
  if (Array.isArray(list)) return list.map((_, index) => [...path, index]);
  check.problem(path, 'must be a list');
  return [];
}

/** The matchers of a list of texts, each of which may hold several. */
export function readMatchers(check: Check, path: Path): Matcher[] {
  const list = check.raw(path);
  if (!Array.isArray(list)) return [];
  return list.flatMap((text, index) => {
    if (typeof text !== 'string' || text === '') return [];
    try {
      return parseMatchers(text);
    } catch (error) {
      const isShown = error instanceof Error && !check.isExpanded([...path, index]);
      check.problem(
        [...path, index],
        isShown ? error.message : 'is not a matcher such as severity="critical"',
      );
      return [];
    }
  });
}
