import { formatMatcher, type Matcher } from '../matchers/matcher.ts';
import type { Labels } from './alert.ts';
import { hash64 } from './fingerprint.ts';

/** An alert that changed so often within a time fires on until it has been over for the calm. */
interface FlappingLimit {
  /** Times that it began to fire or was resolved; 2 or more. */
  readonly changes: number;
  readonly withinMs: number;
  readonly calmMs: number;
}

/** What a template of an annotation may use. */
export interface WhatIsAnnotated {
  readonly labels: Labels;
  /** nestwatch's own words. */
  readonly summary: string;
  readonly description: string;
}

/**
 * How the alerts of one kind are judged. Of several rules of one kind the first whose `match` fits the labels decides.
 * Every kind has a default rule behind the configured ones. Beside what stands here a rule has the values of its
 * kind's parameters (`RuleOf`).
 */
export interface Rule {
  /** Unique among the rules, and the same after every restart: alerts carry it. */
  readonly id: string;
  /** The name of its kind. */
  readonly kind: string;
  readonly match: readonly Matcher[];
  /** Undefined: the kind's own choice, which may depend on the fact. */
  readonly severity?: string | undefined;
  readonly labels: Labels;
  readonly annotations: Labels;
  /** Those of the annotations that are templates, as they are for one alert; absent where there are none. */
  readonly writtenAnnotations?: (about: WhatIsAnnotated) => Labels;
  /** How long it must last before it fires. */
  readonly forMs: number;
  /** How long it fires on when it is over. */
  readonly keepFiringForMs: number;
  /** Null: it may change as often as it likes. */
  readonly flapping: FlappingLimit | null;
  /** Resolved when nothing new came for this long; null for never. */
  readonly resolveAfterMs: number | null;
}

/** What a rule has that says nothing of it; the parameters of some kinds have other defaults. */
export const PLAIN_RULE = {
  labels: {},
  annotations: {},
  forMs: 0,
  keepFiringForMs: 0,
  flapping: { changes: 4, withinMs: 3_600_000, calmMs: 1_800_000 },
  resolveAfterMs: null,
} as const;

/** The id of a rule without a name: it stays when the rule moves, or when anything but its kind and match changes. */
export function ruleId(kind: string, match: readonly Matcher[]): string {
  return hash64([kind, ...match.map(formatMatcher).toSorted()]).slice(-8);
}

/** The id itself, or where it is taken the first of `id-2`, `id-3`, … that is not. */
export function freeId(id: string, isTaken: (id: string) => boolean): string {
  let free = id;
  for (let number = 2; isTaken(free); number += 1) free = `${id}-${number}`;
  return free;
}
