import { formatMatcher, type Matcher } from '../matchers/matcher.ts';
import { hash64, type Labels } from './alert.ts';

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
 * How alerts of one kind are judged. Of several rules of a kind, the first whose `match` fits the labels decides; the last
 * is its default rule, which fits all. A kind on request has no default rule, and each of its rules that fits decides
 * about an alert of its own. A rule also has the values of its kind's parameters (`RuleOf`).
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

/**
 * The id of a rule without a name. It stays when the rule moves, or anything but its kind and match changes. Of several
 * with the same kind and match, all but the first have a number behind it (`freeId`).
 */
export function ruleId(kind: string, match: readonly Matcher[]): string {
  return hash64([kind, ...match.map(formatMatcher).toSorted()]).slice(-8);
}

/** The name that somebody gave it; undefined for none. */
export function nameOfRule({ id, kind, match }: Rule): string | undefined {
  const own = ruleId(kind, match);
  return id === own || id.startsWith(`${own}-`) ? undefined : id;
}

/**
 * Describes a parameter of a kind's rules as plain data, from which the configuration's shape, its JSON schema and
 * its documentation are made. Those without a default may be undefined.
 */
export type Parameter = {
  /** A sentence for people. */
  readonly description: string;
} & (
  | {
      readonly type: 'duration';
      readonly leastMs?: number;
      readonly mostMs?: number;
      readonly default?: number;
    }
  | { readonly type: 'duration or never'; readonly default: number | null }
  | { readonly type: 'count'; readonly least: number; readonly most: number; readonly default?: number }
  /** A number above 0 and at most 1. */
  | { readonly type: 'part'; readonly default?: number }
  /** A number above 1 and at most 100. */
  | { readonly type: 'factor'; readonly default?: number }
  | { readonly type: 'choice'; readonly of: readonly string[]; readonly default?: string }
  | { readonly type: 'flag'; readonly default?: boolean }
  | { readonly type: 'text'; readonly default?: string }
  /** At least one. */
  | { readonly type: 'texts'; readonly default?: undefined }
  /** The name of a file of declared Birds; the rule has what it says. */
  | { readonly type: 'birds file'; readonly default?: undefined }
  /** Names of `time_intervals`. */
  | { readonly type: 'time intervals'; readonly default: readonly string[] }
);

/** Parameters by the field of the rule that holds the value: durations in milliseconds, `never` as null. */
export type Parameters = Readonly<Record<string, Parameter>>;

/** The key of a field in the configuration, such as `max_duration` for `maxDurationMs`. */
export function keyOf(field: string): string {
  return field.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

type ValueOf<P> = P extends { readonly type: 'choice'; readonly of: readonly (infer Choice)[] }
  ? Choice | Absent<P>
  : P extends { readonly type: 'duration or never' }
    ? number | null
    : P extends { readonly type: 'time intervals' }
      ? readonly string[]
      : P extends { readonly type: 'flag' }
        ? boolean | Absent<P>
        : P extends { readonly type: 'birds file' }
          ? readonly DeclaredBird[] | undefined
          : P extends { readonly type: 'texts' }
            ? readonly string[] | undefined
            : P extends { readonly type: 'text' }
              ? string | Absent<P>
              : number | Absent<P>;

/** What a parameter without a default may be. */
type Absent<P> = P extends { readonly default: unknown } ? never : undefined;

/** A rule of a kind that has these parameters. */
export type RuleOf<P extends Parameters> = string extends keyof P
  ? Rule
  : Rule & { readonly [Field in keyof P]: ValueOf<P[Field]> };

/** The parameter `for`, for kinds whose condition may be required to last. */
export function lasting(ms = 0) {
  const description = 'How long the condition must last before the alert fires.';
  return { forMs: { type: 'duration', default: ms, description } } as const;
}

/** The parameter `resolve_after`, for kinds that learn of no end, or not of every one. */
export function resolvedAfter(ms: number) {
  const description = 'Resolves the alert after this long without a new event; `never` does not.';
  return {
    resolveAfterMs: { type: 'duration or never', default: ms, description },
  } as const;
}

/** One Bird of a file of declared Birds: what is absent is not declared. */
export interface DeclaredBird {
  readonly region: string;
  readonly nest: string;
  readonly bird: string;
  readonly id?: string | undefined;
  readonly status?: string | undefined;
  readonly trigger?: string | undefined;
  readonly published?: boolean | undefined;
}
