import { formatMatcher, type Matcher } from '../matchers/matcher.ts';
import type { Labels } from './alert.ts';
import { hash64 } from './fingerprint.ts';

/**
 * An alert with this many changes within this time counts as flapping: it fires on until it has been over for
 * `calmMs`.
 */
interface FlappingLimit {
  /** How often it fired or resolved; 2 or more. */
  readonly changes: number;
  readonly withinMs: number;
  readonly calmMs: number;
}

/** What an annotation's template may use. */
export interface WhatIsAnnotated {
  readonly labels: Labels;
  /** nestwatch's own text. */
  readonly summary: string;
  readonly description: string;
}

/**
 * How alerts of one kind are judged. If a kind has several rules, the first whose `match` fits the labels decides.
 * Every kind has a default rule after the configured ones, except those on request, of which every fitting rule decides. A rule also has the values of its kind's parameters
 * (`RuleOf`).
 */
export interface Rule {
  /** Unique among the rules, and the same after every restart: alerts refer to it. */
  readonly id: string;
  /** The name of its kind. */
  readonly kind: string;
  readonly match: readonly Matcher[];
  /** Undefined: the kind's own choice, which may depend on the fact. */
  readonly severity?: string | undefined;
  readonly labels: Labels;
  readonly annotations: Labels;
  /** Renders those annotations that are templates, for one alert; absent if there are none. */
  readonly writtenAnnotations?: (about: WhatIsAnnotated) => Labels;
  /** How long the condition must last before the alert fires. */
  readonly forMs: number;
  /** How long the alert fires on after the condition ended. */
  readonly keepFiringForMs: number;
  /** Null: it may change any number of times. */
  readonly flapping: FlappingLimit | null;
  /** Resolves when nothing new came for this long; null for never. */
  readonly resolveAfterMs: number | null;
}

/** The values of a rule that sets nothing; the parameters of some kinds have other defaults. */
export const PLAIN_RULE = {
  labels: {},
  annotations: {},
  forMs: 0,
  keepFiringForMs: 0,
  flapping: { changes: 4, withinMs: 3_600_000, calmMs: 1_800_000 },
  resolveAfterMs: null,
} as const;

/** The id of a rule without a name. It changes only with the rule's kind or match, not when the rule moves. */
export function ruleId(kind: string, match: readonly Matcher[]): string {
  return hash64([kind, ...match.map(formatMatcher).toSorted()]).slice(-8);
}

/** The name that somebody gave it; undefined for none. */
export function nameOfRule({ id, kind, match }: Rule): string | undefined {
  const own = ruleId(kind, match);
  return id === own || id.startsWith(`${own}-`) ? undefined : id;
}

/** The id itself, or, if taken, the first free one of `id-2`, `id-3`, … */
export function freeId(id: string, isTaken: (id: string) => boolean): string {
  let free = id;
  for (let number = 2; isTaken(free); number += 1) free = `${id}-${number}`;
  return free;
}
