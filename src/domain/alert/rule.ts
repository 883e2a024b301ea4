import type { Matcher } from '../matchers/matcher.ts';
import type { Labels } from './alert.ts';

/**
 * The kinds of alerts that rules can speak of. A new one is added behind the others: the place of its default rule is
 * part of the identity of alerts that are stored.
 */
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
  'DeliveryFailing',
  'FlightStuck',
  'BirdStale',
  'SchemaDrift',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** An alert that changed so often within a time fires on until it has been over for the calm. */
export interface Flapping {
  /** Times that it began to fire or was resolved; 2 or more. */
  readonly changes: number;
  readonly withinMs: number;
  readonly calmMs: number;
}

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
  /** FlightFailed, in place of `threshold`: so many of the Bird's Flights failed in a row. */
  readonly consecutive?: number | undefined;
  /** FlightFailed, in place of `threshold`: the part of the Bird's last `ofLast` Flights that failed, above 0. */
  readonly ratio?: { readonly least: number; readonly ofLast: number } | undefined;
  /** FlightStuck: how long a Flight may be active; undefined to learn it from the Bird's own Flights. */
  readonly maxDurationMs?: number | undefined;
  /** BirdStale: how long a Bird may be without a Flight; undefined to learn it from a scheduled Bird's own. */
  readonly expectEveryMs?: number | undefined;
  /** How long it must last before it fires. */
  readonly forMs: number;
  /** How long it fires on when it is over. */
  readonly keepFiringForMs: number;
  /** Null: it may change as often as it likes. */
  readonly flapping: Flapping | null;
  /** Resolved when nothing new came for this long; null for never. */
  readonly resolveAfterMs: number | null;
}

/** What the rules of a kind start from. */
export type RuleDefaults = Omit<Rule, 'kind' | 'match' | 'severity' | 'labels' | 'annotations'>;

const PLAIN: RuleDefaults = {
  forEach: 'bird',
  threshold: 1,
  windowMs: 0,
  forMs: 0,
  keepFiringForMs: 0,
  flapping: { changes: 4, withinMs: 3_600_000, calmMs: 1_800_000 },
  resolveAfterMs: null,
};

export const RULE_DEFAULTS: Readonly<Record<AlertKind, RuleDefaults>> = {
  FlightFailed: { ...PLAIN, windowMs: 600_000, resolveAfterMs: 86_400_000 },
  FlightStuck: PLAIN,
  BirdStale: PLAIN,
  BirdDeactivated: PLAIN,
  BirdTriggerFailing: { ...PLAIN, threshold: 2, resolveAfterMs: 7_200_000 },
  ConnectionDisconnected: { ...PLAIN, resolveAfterMs: 93_600_000 },
  ServiceNotification: { ...PLAIN, resolveAfterMs: 3_600_000 },
  RegionDown: { ...PLAIN, forMs: 60_000 },
  RegionUnauthorized: PLAIN,
  FeedBehind: { ...PLAIN, forMs: 300_000 },
  FeedIncomplete: PLAIN,
  SchemaDrift: { ...PLAIN, resolveAfterMs: 86_400_000 },
  DeliveryFailing: { ...PLAIN, forMs: 300_000 },
};

/** The rule behind the configured ones of a kind. */
export function defaultRule(kind: AlertKind): Rule {
  return { kind, match: [], labels: {}, annotations: {}, ...RULE_DEFAULTS[kind] };
}
