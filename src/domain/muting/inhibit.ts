/** Inhibition, with Alertmanager's meaning: while a source fires, its targets are muted. */
import { type Labels, labelOf } from '../alert/alert.ts';
import { fingerprint } from '../alert/fingerprint.ts';
import { flightFailed } from '../kinds/failures/flight-failed.ts';
import { sharedCause } from '../kinds/failures/shared-cause.ts';
import { KINDS } from '../kinds/kinds.ts';
import { createMatcher, type Matcher, matchesAll, workOf } from '../matchers/matcher.ts';

export interface InhibitRule {
  readonly sourceMatchers: readonly Matcher[];
  readonly targetMatchers: readonly Matcher[];
  /** Labels whose values must be equal in source and target; a label that both lack counts as equal. */
  readonly equal: readonly string[];
  /**
   * The source tells of its targets, so it mutes them only for receivers that are told of the source, and neither the
   * end of what was told before nor a summary of what is old.
   */
  readonly standsIn?: true;
}

const SOURCES = KINDS.filter((kind) => kind.inhibitsRegion);
const OTHERS = KINDS.filter((kind) => kind.isOfNoRegion);

const causeOf = (region: '=' | '!=', equal: readonly string[]): InhibitRule => ({
  sourceMatchers: [
    createMatcher('alertname', '=', sharedCause.name),
    createMatcher('region', region, 'all'),
    createMatcher('error', '!=', ''),
  ],
  targetMatchers: [createMatcher('alertname', '=', flightFailed.name)],
  equal,
  standsIn: true,
});

/**
 * While a region cannot be read, its other alerts are a consequence of that. Deliveries belong to no region. While Birds
 * fail with one error, the alert about that stands for theirs.
 */
export const BUILT_IN_INHIBITIONS: readonly InhibitRule[] = [
  {
    sourceMatchers: [createMatcher('alertname', '=~', anyOf(SOURCES))],
    targetMatchers: [createMatcher('alertname', '!~', anyOf([...SOURCES, ...OTHERS]))],
    equal: ['region'],
  },
  causeOf('!=', ['region', 'error']),
  causeOf('=', ['error']),
];

function anyOf(kinds: typeof KINDS): string {
  return kinds.map(({ name }) => name).join('|');
}

/**
 * The alertnames that inhibiting alerts can have, so that only those need to be loaded; null if a rule does not
 * restrict them.
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

/** The names that a matcher lists; none if it is not about the name, or is more than a list. */
function namesOf({ name, op, value }: Matcher): string[] {
  if (name !== 'alertname' || value === '') return [];
  if (op === '=') return [value];
  return op === '=~' && /^[\w|]+$/.test(value) ? value.split('|') : [];
}

/** The work of evaluating a rule for one alert, in the unit of `workOf`. */
export function workOfRule({ sourceMatchers, targetMatchers }: InhibitRule): number {
  return workOf(sourceMatchers) + workOf(targetMatchers);
}

/** An alert that inhibits others. */
interface Source {
  readonly fingerprint: string;
  readonly labels: Labels;
  /** See `InhibitRule`. */
  readonly standsIn: boolean;
}

export interface Inhibitor {
  /** Adds the labels of an alert that fires. */
  fires(labels: Labels): void;
  /** The alert that inhibits these labels, the first among the firing ones; undefined for none. */
  sourceOf(labels: Labels): Source | undefined;
}

/** Evaluates one rule against the firing alerts that it is told about. */
export function createInhibitor(rule: InhibitRule): Inhibitor {
  const { sourceMatchers, targetMatchers } = rule;
  /** By the values that must be equal: the first source, and the first that is not also a target. */
  const sources = new Map<string, { readonly first: Labels; noTarget: Labels | undefined }>();
  return {
    fires(labels) {
      if (!matchesAll(sourceMatchers, labels)) return;
      const key = keyOf(rule, labels);
      const known = sources.get(key) ?? { first: labels, noTarget: undefined };
      if (!known.noTarget && !matchesAll(targetMatchers, labels)) known.noTarget = labels;
      sources.set(key, known);
    },
    sourceOf(labels) {
      if (sources.size === 0 || !matchesAll(targetMatchers, labels)) return undefined;
      const known = sources.get(keyOf(rule, labels));
      // Alerts that are both source and target inhibit neither each other nor themselves.
      const source = matchesAll(sourceMatchers, labels) ? known?.noTarget : known?.first;
      return source && { fingerprint: fingerprint(source), labels: source, standsIn: rule.standsIn ?? false };
    },
  };
}

function keyOf({ equal }: InhibitRule, labels: Labels): string {
  return JSON.stringify(equal.map((name) => labelOf(labels, name) ?? ''));
}
