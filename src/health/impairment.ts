/**
 * Defines impairments: what keeps the watch from being worth what people take it for. The list of reasons is closed;
 * each is a value of `nestwatch_watch_impaired{reason}`. The page says "All quiet" only if there is none.
 */
import type { Feed } from '../domain/alert/event.ts';
import type { AlertKind } from '../domain/kinds/kinds.ts';
import { dayAndTime } from '../text/instant-words.ts';
import { ENGLISH_FINDINGS, type Finding, type Said, sayFinding } from './finding.ts';

interface Meaning {
  readonly means: string;
  /** When the heartbeat to the outside watchdog stops. */
  readonly stopsHeartbeat: string;
  /** The kind of alert that notifies receivers of it; null if none can be raised. */
  readonly alert: AlertKind | null;
  /** Set if it usually ends by itself. Then it is notified only if it does not, and nothing else explains it. */
  readonly endsByItself?: true;
}

/** Every reason, as documented; most severe first. */
export const IMPAIRMENTS = {
  store_failing: {
    means: 'the store is full, or cannot be read or written: nothing new can be kept or sent',
    stopsHeartbeat: 'yes',
    alert: null,
  },
  region_unauthorized: {
    means: 'a region refuses the token',
    stopsHeartbeat: 'yes',
    alert: 'RegionUnauthorized',
  },
  region_down: { means: 'a region does not answer', stopsHeartbeat: 'yes', alert: 'RegionDown' },
  nobody_notified: {
    means:
      'no route leads to a receiver that notifies anybody, or a single route or its `escalate_to` does not, and its receiver is not named `null` or `blackhole`',
    stopsHeartbeat: 'if nobody at all is notified',
    alert: 'WatchImpaired',
  },
  inventory_failing: {
    means:
      'a region answers, but its Nests and Birds cannot be listed, three times in a row at the start and five times later: because of a wrong path in `base_url`, say, or of a gateway that answers in its place',
    stopsHeartbeat: 'unless all else of the region can be read',
    alert: 'WatchImpaired',
  },
  no_birds: {
    means:
      'a region was read, but none of its Birds is watched, for example because of a mistake in `nests.include`',
    stopsHeartbeat: 'yes',
    alert: 'WatchImpaired',
  },
  receivers_failing: {
    means:
      'an integration of a receiver has accepted nothing in two attempts and for a second, or for ten seconds',
    stopsHeartbeat: 'if none of the receivers that were tried accepts anything',
    alert: 'DeliveryFailing',
  },
  deliveries_dead: {
    means: 'notifications of the last seven days were given up',
    stopsHeartbeat: 'no',
    alert: 'WatchImpaired',
  },
  streams_overdue: {
    means: 'streams are not read as often as `poll.max_interval` requires',
    stopsHeartbeat: 'if half of the streams of a feed are overdue',
    alert: 'FeedBehind',
  },
  feed_unproven: {
    means: 'a feed was last proven complete more than an hour, or three audits, ago; Flights an hour more',
    stopsHeartbeat: 'no',
    alert: 'WatchImpaired',
    endsByItself: true,
  },
  faults_set_aside: {
    means:
      'a silence, rule, group, alert or stored row failed and was set aside, or a receiver does not accept one notification although it accepts others',
    stopsHeartbeat: 'no',
    alert: 'WatchImpaired',
  },
  config_refused: {
    means:
      'the configuration file has mistakes, or the file of a secret cannot be read again; what was last read stays in force',
    stopsHeartbeat: 'no',
    alert: 'WatchImpaired',
  },
  configs_differ: {
    means:
      'replicas have run with different configurations for a quarter of an hour, although none refuses its file',
    stopsHeartbeat: 'no',
    alert: 'WatchImpaired',
  },
  quarantine_growing: {
    means: 'entries of the last hour could not be parsed',
    stopsHeartbeat: 'no',
    alert: 'SchemaDrift',
  },
  clock_wrong: {
    means:
      "the clock of this machine (with replicas: of the store's server) differs from the service's by more than a minute",
    stopsHeartbeat: 'no',
    alert: 'WatchImpaired',
  },
  disk_low: {
    means: 'less than 512 MiB, or on a small disk less than a tenth, is free on the disk of the store',
    stopsHeartbeat: 'no',
    alert: 'WatchImpaired',
  },
  first_pass: {
    means: 'not every stream has been read yet since the start',
    stopsHeartbeat: 'until Nests and Birds were listed',
    alert: 'FeedBehind',
  },
} as const satisfies Readonly<Record<string, Meaning>>;

export type ImpairmentReason = keyof typeof IMPAIRMENTS;

export const IMPAIRMENT_REASONS = Object.keys(IMPAIRMENTS) as readonly ImpairmentReason[];

/**
 * - `critical`: what happens may reach nobody until a person acts
 * - `warning`: the watch works, but with a limitation
 * - `info`: it ends by itself
 */
export type ImpairmentSeverity = 'critical' | 'warning' | 'info';

/** Whom or what an impairment concerns. Without any of these fields it concerns nestwatch as a whole. */
interface Concern {
  readonly region?: string;
  readonly feed?: Feed | 'inventory';
  readonly receiver?: string;
  /** Names of replicas, separated by commas. */
  readonly replica?: string;
  /** A path in the configuration, such as `route.routes[1]`. */
  readonly path?: string;
}

export interface Impairment extends Concern, Said {
  readonly reason: ImpairmentReason;
  readonly severity: ImpairmentSeverity;
  /** When it began, if known; otherwise when it was first seen. */
  readonly sinceUs: number;
  /** What was found; `title`, `summary` and `action` word it in English. */
  readonly finding: Finding;
  /** Whether it stops the heartbeat to the outside watchdog. */
  readonly stopsHeartbeat: boolean;
}

/** Creates an impairment with the English words of its finding. */
export function impairment(finding: Finding, rest: Omit<Impairment, keyof Said | 'finding'>): Impairment {
  return { ...rest, finding, ...sayFinding(ENGLISH_FINDINGS, finding, dayAndTime) };
}

/** Identifies an impairment over time and tells it from all others. */
export function impairmentKey({ reason, region, feed, receiver, replica, path }: Impairment): string {
  return JSON.stringify([reason, region, feed, receiver, replica, path]);
}

/** Orders by severity, then in the order of the reasons. */
export function byGravity(a: Impairment, b: Impairment): number {
  return (
    SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
    IMPAIRMENT_REASONS.indexOf(a.reason) - IMPAIRMENT_REASONS.indexOf(b.reason)
  );
}

const SEVERITIES: readonly ImpairmentSeverity[] = ['critical', 'warning', 'info'];
