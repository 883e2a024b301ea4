import type { Labels } from './alert.ts';
import type { Matcher } from './matcher.ts';

/** The kinds of alerts that rules can speak of. */
export const ALERT_KINDS = [
  'FlightFailed',
  'BirdDeactivated',
  'BirdTriggerFailing',
  'ConnectionDisconnected',
  'ServiceNotification',
  'RegionDown',
  'RegionUnauthorized',
  'FeedBehind',
  'FeedIncomplete',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/**
 * How one kind is judged. Of several rules of one kind the first whose `match` fits the labels decides.
 * Every kind has a default rule behind the configured ones; durations are milliseconds.
 */
export interface Rule {
  readonly kind: AlertKind;
  readonly match: readonly Matcher[];
  /** Undefined: the kind's own choice, which may depend on the fact. */
  readonly severity?: string | undefined;
  readonly labels: Labels;
  readonly annotations: Labels;
  /** FlightFailed: one alert per Bird, per Flight or per error signature of the Bird. */
  readonly forEach: 'bird' | 'flight' | 'error';
  /** FlightFailed: failures within `windowMs`; BirdTriggerFailing: EventErrors in a row. 1 or more. */
  readonly threshold: number;
  readonly windowMs: number;
  /** RegionDown, RegionUnauthorized, FeedBehind: how long it must last before it fires. */
  readonly forMs: number;
  /** Resolved when nothing new came for this long; null for never. */
  readonly resolveAfterMs: number | null;
}

/** What the rules of a kind start from. */
export type RuleDefaults = Pick<Rule, 'forEach' | 'threshold' | 'windowMs' | 'forMs' | 'resolveAfterMs'>;
export const RULE_DEFAULTS: Readonly<Record<AlertKind, RuleDefaults>> = {
  FlightFailed: { forEach: 'bird', threshold: 1, windowMs: 600_000, forMs: 0, resolveAfterMs: 86_400_000 },
  BirdDeactivated: { forEach: 'bird', threshold: 1, windowMs: 0, forMs: 0, resolveAfterMs: null },
  BirdTriggerFailing: { forEach: 'bird', threshold: 2, windowMs: 0, forMs: 0, resolveAfterMs: 7_200_000 },
  ConnectionDisconnected: {
    forEach: 'bird',
    threshold: 1,
    windowMs: 0,
    forMs: 0,
    resolveAfterMs: 93_600_000,
  },
  ServiceNotification: { forEach: 'bird', threshold: 1, windowMs: 0, forMs: 0, resolveAfterMs: 3_600_000 },
  RegionDown: { forEach: 'bird', threshold: 1, windowMs: 0, forMs: 60_000, resolveAfterMs: null },
  RegionUnauthorized: { forEach: 'bird', threshold: 1, windowMs: 0, forMs: 0, resolveAfterMs: null },
  FeedBehind: { forEach: 'bird', threshold: 1, windowMs: 0, forMs: 300_000, resolveAfterMs: null },
  FeedIncomplete: { forEach: 'bird', threshold: 1, windowMs: 0, forMs: 0, resolveAfterMs: null },
};

/** The rule behind the configured ones of a kind. */
export function defaultRule(kind: AlertKind): Rule {
  return { kind, match: [], labels: {}, annotations: {}, ...RULE_DEFAULTS[kind] };
}
