import * as z from 'zod';
import { createMatchers, formatMatcher, type Matcher, parseMatchers } from '../domain/matchers/matcher.ts';
import { type Check, isMap } from './check.ts';
import type { Path } from './problem.ts';
import { words } from './value-shape.ts';

/** Parses a list of texts, each of which may contain several matchers. */
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

/** Alertmanager's older keys: maps of names and values. The key determines the operator. */
const OLD_MATCHERS = [
  ['match', '='],
  ['match_re', '=~'],
] as const;

type Prefix = '' | 'source_' | 'target_';

/**
 * The shapes of the older keys beside `matchers`, or beside `source_matchers` or `target_matchers` with that prefix.
 */
export function oldMatcherKeys<P extends Prefix>(prefix: P) {
  const map = () => z.record(words, z.union([z.string(), z.number(), z.boolean()])).optional();
  return {
    [`${prefix}match`]: map().describe(`Older form of \`${prefix}matchers\`: names and their values.`),
    [`${prefix}match_re`]: map().describe(`The same with regular expressions.`),
  } as Record<`${P}match` | `${P}match_re`, ReturnType<typeof map>>;
}

/** All matchers: those of the list and those of the older keys. */
export function readAllMatchers(check: Check, path: Path, prefix: Prefix = ''): Matcher[] {
  const older = oldMatchers(check, path, prefix).flatMap(({ at, matchers }) =>
    matchers.flatMap(({ name, op, value }) => {
      try {
        return createMatchers([{ name, op, value }]);
      } catch (error) {
        const isShown = error instanceof Error && !check.isExpanded([...at, name]);
        check.problem([...at, name], isShown ? error.message : 'is not a regular expression');
        return [];
      }
    }),
  );
  return [...older, ...readMatchers(check, [...path, `${prefix}matchers`])];
}

/** Adds a problem for each older key, with what to write instead. Values from the environment are not quoted. */
export function nameNewMatchers(check: Check, path: Path, prefix: Prefix = ''): void {
  for (const { at, matchers } of oldMatchers(check, path, prefix)) {
    const texts = matchers.map(({ name, op, value }) =>
      yamlText(formatMatcher({ name, op, value: check.isExpanded([...at, name]) ? '…' : value })),
    );
    check.problem(at, `is an older form: write \`${prefix}matchers: [${texts.join(', ')}]\``);
  }
}

function oldMatchers(check: Check, path: Path, prefix: Prefix) {
  return OLD_MATCHERS.flatMap(([old, op]) => {
    const at = [...path, `${prefix}${old}`];
    const map = check.raw(at);
    if (!isMap(map)) return [];
    // A map could define its own conversion to text.
    const textOf = (value: unknown) => (typeof value === 'object' ? '' : String(value));
    const matchers = Object.entries(map).map(([name, value]) => ({ name, op, value: textOf(value) }));
    return [{ at, matchers }];
  });
}

/** The text in single quotes, as YAML reads it. */
function yamlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
