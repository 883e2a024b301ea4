/** Inhibition, with Alertmanager's meaning: while a source fires, its targets are muted. */
import { type Labels, labelOf } from '../alert/alert.ts';
import { fingerprint } from '../alert/fingerprint.ts';
import { KINDS } from '../kinds/kinds.ts';
import { createMatcher, type Matcher, matchesAll } from '../matchers/matcher.ts';

export interface InhibitRule {
  readonly sourceMatchers: readonly Matcher[];
  readonly targetMatchers: readonly Matcher[];
  /** Labels that have the same values in source and target; one that both lack counts as the same. */
  readonly equal: readonly string[];
}

const SOURCES = KINDS.filter((kind) => kind.inhibitsRegion);
const OTHERS = KINDS.filter((kind) => kind.isOfNoRegion);

/** While a region cannot be read, its other alerts follow from that. Deliveries belong to no region. */
export const BUILT_IN_INHIBITIONS: readonly InhibitRule[] = [
  {
    sourceMatchers: [createMatcher('alertname', '=~', anyOf(SOURCES))],
    targetMatchers: [createMatcher('alertname', '!~', anyOf([...SOURCES, ...OTHERS]))],
    equal: ['region'],
  },
];

function anyOf(kinds: typeof KINDS): string {
  return kinds.map(({ name }) => name).join('|');
}

/**
 * The names that the alerts which inhibit can have, so that only those need be loaded; null where a rule leaves that
 * open.
 */
export function sourceNames(rules: readonly InhibitRule[]): string[] | null {
  const names = new Set<string>();
  for (const { sourceMatchers } of rules) {
    const own = sourceMatchers.flatMap(namesOf);
    if (own.length === 0) return null;
    for (const name of own) names.add(name);
  }
  return [...names];
}

/** The names that a matcher lists; none for one that says nothing of the name, or says it by more than a list. */
function namesOf({ name, op, value }: Matcher): string[] {
  if (name !== 'alertname' || value === '') return [];
  if (op === '=') return [value];
  return op === '=~' && /^[\w|]+$/.test(value) ? value.split('|') : [];
}

/** An alert that inhibits others. */
export interface Source {
  readonly fingerprint: string;
  readonly labels: Labels;
}

/** The alerts that inhibit these labels, one for each rule; empty for none. */
export function createInhibitor(
  rules: readonly InhibitRule[],
  firing: readonly Labels[],
): (labels: Labels) => Source[] {
  const compiled = rules.map((rule) => {
    const sources = firing.filter((labels) => matchesAll(rule.sourceMatchers, labels));
    return { ...rule, sources: Map.groupBy(sources, (labels) => keyOf(rule, labels)) };
  });
  return (labels) =>
    compiled.flatMap((rule) => {
      if (rule.sources.size === 0 || !matchesAll(rule.targetMatchers, labels)) return [];
      // Alerts that are both source and target do not inhibit each other, nor themselves.
      const isSource = matchesAll(rule.sourceMatchers, labels);
      const source = rule.sources
        .get(keyOf(rule, labels))
        ?.find((one) => !isSource || !matchesAll(rule.targetMatchers, one));
      return source ? [{ fingerprint: fingerprint(source), labels: source }] : [];
    });
}

function keyOf({ equal }: InhibitRule, labels: Labels): string {
  return JSON.stringify(equal.map((name) => labelOf(labels, name) ?? ''));
}
