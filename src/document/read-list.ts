import { formatMatcher, type Matcher, parseMatchers } from '../domain/matchers/matcher.ts';
import type { Check } from './check.ts';
import type { Path } from './problem.ts';

/** The paths of a list's items; a problem where there is no list. */
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

/** Alertmanager's older keys: maps of names and values, whose end says the operator that they stand for. */
const OLD_MATCHERS = [
  ['match', '='],
  ['match_re', '=~'],
] as const;

/**
 * Refuses the older keys beside `matchers` (or `source_matchers`, with that prefix), each with the matchers that say
 * the same. Values that came from the environment, or are none, are not quoted.
 */
export function refuseOldMatchers(check: Check, path: Path, prefix: '' | 'source_' | 'target_' = ''): void {
  const key = `${prefix}matchers`;
  for (const [old, op] of OLD_MATCHERS) {
    const at = [...path, `${prefix}${old}`];
    const map = check.raw(at);
    if (map === undefined) continue;
    if (check.raw([...path, key]) === undefined) check.settle([...path, key]);
    if (typeof map !== 'object' || map === null || Array.isArray(map)) continue;
    const matchers = Object.entries(map).map(([name, value]) => {
      const isHidden = check.isExpanded([...at, name]) || (typeof value === 'object' && value !== null);
      return yamlText(formatMatcher({ name, op, value: isHidden ? '…' : String(value ?? '') }));
    });
    if (matchers.length > 0) {
      check.problem(at, `is not supported: write \`${key}: [${matchers.join(', ')}]\``);
    }
  }
}

/** In single quotes, as YAML reads it back. */
function yamlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
