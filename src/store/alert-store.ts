/**
 * Stores alerts: each identity once, in its current state, with its events. A written alert waits to be routed until
 * alerting has processed it, so a crash in between loses no change. Every resolved episode is kept for digests, even
 * after its alert is deleted.
 */
import type { Alert, Labels } from '../domain/alert/alert.ts';
import type { Event } from '../domain/alert/event.ts';
import type { Failing } from '../domain/context/findings.ts';
import type { Episode } from '../domain/digest/digest.ts';
import type { Link } from '../domain/evaluate/decide.ts';
import type { OldEvents } from '../domain/grouping/sorts/catch-up-sort.ts';
import type { Filter } from './filter.ts';
import type { LinkedSpan } from './outbox-store.ts';

/** Selects alerts for `page`, by what people look for. */
export interface AlertQuery extends Filter {
  /** By default firing and resolved alerts. */
  readonly state?: Alert['state'] | undefined;
  /** Whether somebody has acknowledged the current episode. */
  readonly isAcknowledged?: boolean | undefined;
  /** The `cause` of a `Cause`. */
  readonly cause?: string | undefined;
  /** `severest`: firing before resolved, unacknowledged first, then by severity, then newest first. */
  readonly order: 'severest' | 'newest';
  /** The instant at which acknowledgements must be in force. */
  readonly nowUs: number;
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

export type CauseQuery = Omit<AlertQuery, 'order' | 'state'>;

/** Firing alerts of one kind and severity that have the same cause. */
export interface Cause {
  readonly alertname: string;
  readonly severity: string;
  /** What they share: their error, or else their latest text without its variable parts. */
  readonly cause: string;
  readonly isAcknowledged: boolean;
  /** The label that all of its alerts share; undefined if they differ. */
  readonly region: string | undefined;
  readonly nestId: string | undefined;
  readonly alerts: number;
  readonly firstStartsAtUs: number;
  readonly lastStartsAtUs: number;
  /** The five that started last, latest first. */
  readonly latest: readonly Alert[];
}

export interface CausePage {
  readonly causes: Cause[];
  readonly next?: string;
}

/** A span of events, and the age from which one counts as old. */
export interface AgedSpan extends LinkedSpan {
  readonly maxAgeUs: number;
}

export interface AlertStore {
  /** One alert, in any state. */
  find(id: string): Promise<Alert | undefined>;
  /** Alerts of these scopes, in any state. */
  ofScopes(scopes: readonly string[]): Promise<Alert[]>;
  /** Regions that have an alert in the store, in any state. */
  regions(): Promise<string[]>;
  /** Scopes of a region that have an alert in the store, in any state. */
  scopes(region: string): Promise<string[]>;
  /** Firing alerts of this kind and severity in the region, at most `limit`. */
  ofKind(alertname: string, severity: string, region: string, limit: number): Promise<Alert[]>;
  /** Other alerts with events that this one has with `afterSeq < seq <= lastSeq`, each with its own last `seq` of these. */
  sharing(
    alertId: string,
    afterSeq: number,
    lastSeq: number,
  ): Promise<(readonly [alertId: string, seq: number])[]>;
  /** Those of these errors with which at least `least` alerts of kind FlightFailed fire in their region. */
  shared<T extends { readonly region: string; readonly error: string }>(
    errors: readonly T[],
    least: number,
  ): Promise<T[]>;
  /**
   * How many Birds of these regions, in how many Nests, have a firing FlightFailed with this error, among `MOST_FAILING`
   * of these alerts in each region, and one alert of each of those `limit` that began to fail last, the latest first.
   */
  failingWith(regions: readonly string[], error: string, limit: number): Promise<Failing>;
  /** Alerts whose `dueAtUs` has come, oldest first. */
  due(nowUs: number, limit: number): Promise<Alert[]>;
  /**
   * Writes alerts and marks them as changed, so that `changed` returns them until `markRouted`. The episode of a
   * resolved alert is added to the history.
   */
  put(alerts: readonly Alert[]): Promise<void>;
  /** Links events to alerts, replacing links with the same `seq`. Both must be in the store. */
  linkEvents(links: readonly Link[]): Promise<void>;
  /**
   * Of each span, its oldest events up to the first one that was observed within `maxAgeUs` of when it occurred, in the
   * order of the spans; undefined if there are none.
   */
  oldEvents(spans: readonly AgedSpan[]): Promise<(OldEvents | undefined)[]>;
  /** The alert's events with `afterSeq < seq`, and `seq <= lastSeq` if given: the newest `limit`, newest first. */
  events(alertId: string, afterSeq: number, limit: number, lastSeq?: number): Promise<Link[]>;
  /** The newest `limit` events of each span, newest first, by alert. Each alert may have only one span. */
  eventsOf(spans: readonly LinkedSpan[], limit: number): Promise<ReadonlyMap<string, readonly Event[]>>;
  /** Alerts changed since they were last routed, oldest change first. */
  changed(limit: number): Promise<Alert[]>;
  /** Adds these alerts to `changed`, if they exist. */
  joinAgain(alertIds: readonly string[]): Promise<void>;
  /** Removes these alerts from `changed` until they are written again. */
  markRouted(alertIds: readonly string[]): Promise<void>;
  /** Firing and resolved alerts for people and metrics, newest first. */
  list(query: { state?: Alert['state'] | undefined; limit: number }): Promise<Alert[]>;
  /** Firing alerts after the given one, newest first. */
  firing(after: Pick<Alert, 'id' | 'startsAtUs'> | undefined, limit: number): Promise<Alert[]>;
  /** Alerts in pages; `next` is absent at the end. Throws `usage` for a cursor that no earlier answer gave. */
  page(query: AlertQuery): Promise<{ alerts: Alert[]; next?: string }>;
  /** The causes of firing alerts: unacknowledged first, then by severity, then by the number of alerts. */
  causes(query: CauseQuery): Promise<CausePage>;
  /** The alert's ended episodes, latest first, even if the alert itself was deleted. */
  episodes(alertId: string, limit: number): Promise<Episode[]>;
  /** The last ended episode of each alert of that name in a region, even if the alert itself was deleted. */
  lastEpisodes(alertname: string, region: string): Promise<Episode[]>;
  /** Episodes in a region, of the alerts of that name, whose end was seen at `sinceUs` or later. */
  episodesSince(alertname: string, region: string, sinceUs: number): Promise<Episode[]>;
  /** All ended episodes after the given one, each with when its end was seen; latest first. */
  endedBefore(
    place: { readonly resolvedAtUs: number; readonly alertId: string } | undefined,
    limit: number,
  ): Promise<{ episode: Episode; resolvedAtUs: number }[]>;
  /**
   * Labels of firing alerts, of all or of those with these names, in no particular order. Alerts that fire on only
   * because they flap are left out. Examines at most `limit` alerts; `next` is the `after` of the next call, and
   * absent at the end. Start with 0.
   */
  firingLabels(
    alertnames: readonly string[] | null,
    after: number,
    limit: number,
  ): Promise<{ labels: Labels[]; next?: number }>;
  count(): Promise<{ alertname: string; severity: string; state: string; count: number }[]>;
  /** How many alerts fire, by label values; a missing label is empty. */
  countFiring(): Promise<
    { alertname: string; severity: string; region: string; nestId: string; count: number }[]
  >;
  /** Deletes alerts with their links and their memberships in groups. Their events and episodes stay. */
  delete(alertIds: readonly string[]): Promise<void>;
  /** The alerts that an event is linked to, with its `seq` in each, without deleted ones. */
  ofEvent(key: string): Promise<{ alert: Alert; seq: number }[]>;
}
