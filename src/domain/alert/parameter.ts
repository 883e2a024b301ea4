import type { DeclaredBird } from './declared-bird.ts';
import type { Rule } from './rule.ts';

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
