/**
 * The room of alerts: each identity once, in its present state, with the events that belong to it. An alert that was
 * written waits to be routed until alerting has taken it up, so a crash between the two loses no change. Every episode
 * that was resolved is kept for the digests, also once its alert is deleted.
 */
import type { Alert, Labels } from '../domain/alert/alert.ts';
import type { Event } from '../domain/alert/event.ts';
import type { Episode } from '../domain/digest/digest.ts';
import type { Link } from '../domain/evaluate/alert-book.ts';
import type { OldEvents } from '../domain/grouping/sorts/catch-up-sort.ts';
import type { Filter } from './filter.ts';
import type { LinkedSpan } from './outbox-store.ts';

/** Which alerts `page` gives, as people look for them. */
export interface AlertQuery extends Filter {
  /** Without it, those that fire and those that are resolved. */
  readonly state?: Alert['state'] | undefined;
  /** Whether somebody has acknowledged the present episode. */
  readonly isAcknowledged?: boolean | undefined;
  /** The `cause` of a `Cause`. */
  readonly cause?: string | undefined;
  /** `severest`: what fires before what is over, unacknowledged first, then by severity, then the newest first. */
  readonly order: 'severest' | 'newest';
  /** What is acknowledged, is so at this instant. */
  readonly nowUs: number;
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

export type CauseQuery = Omit<AlertQuery, 'order' | 'state' | 'cause'>;

/** Alerts of one kind and severity that fire for one cause. */
export interface Cause {
  readonly alertname: string;
  readonly severity: string;
  /** What they share: their error, or what was said last without what differs from one time to the next. */
  readonly cause: string;
  readonly isAcknowledged: boolean;
  readonly alerts: number;
  readonly firstStartsAtUs: number;
  readonly lastStartsAtUs: number;
  /** The five that began last, the latest first. */
  readonly latest: readonly Alert[];
}

export interface CausePage {
  readonly causes: Cause[];
  readonly next?: string;
}

export interface AlertStore {
  /** One alert, in whatever state. */
  find(id: string): Promise<Alert | undefined>;
  /** Alerts of these scopes, in every state. */
  ofScopes(scopes: readonly string[]): Promise<Alert[]>;
  /** Regions that have an alert in the store, in whatever state. */
  regions(): Promise<string[]>;
  /** Scopes of a region that have an alert in the store, in whatever state. */
  scopes(region: string): Promise<string[]>;
  /** Alerts whose `dueAtUs` has come, the oldest first. */
  due(nowUs: number, limit: number): Promise<Alert[]>;
  /**
   * Writes alerts and marks them as changed, so that `changed` gives them until `markRouted`. The episode of one that
   * is resolved joins the history.
   */
  put(alerts: readonly Alert[]): Promise<void>;
  /** Links events to alerts, in the place of those that have the same `seq`. Both must be in the store. */
  linkEvents(links: readonly Link[]): Promise<void>;
  /**
   * The alert's oldest events with `afterSeq < seq`, up to the first one that was observed within `maxAgeUs` of when
   * it occurred, and to `lastSeq`; undefined where there is none older.
   */
  oldEvents(
    alertId: string,
    afterSeq: number,
    maxAgeUs: number,
    lastSeq: number,
  ): Promise<OldEvents | undefined>;
  /** The alert's events with `afterSeq < seq`, and `seq <= lastSeq` if given: the newest `limit`, newest first. */
  events(alertId: string, afterSeq: number, limit: number, lastSeq?: number): Promise<Link[]>;
  /** Of each span the newest `limit` events, newest first, by the alert; an alert has one span. */
  eventsOf(spans: readonly LinkedSpan[], limit: number): Promise<ReadonlyMap<string, readonly Event[]>>;
  /** Alerts changed since they were last routed, oldest change first. */
  changed(limit: number): Promise<Alert[]>;
  /** Puts these alerts, as far as they are there, among those of `changed`. */
  joinAgain(alertIds: readonly string[]): Promise<void>;
  /** Takes these alerts out of `changed`, until they are written again. */
  markRouted(alertIds: readonly string[]): Promise<void>;
  /** Firing and resolved alerts for people and metrics, newest first. */
  list(query: { state?: Alert['state'] | undefined; limit: number }): Promise<Alert[]>;
  /** Alerts that fire, the newest first, from behind this one on. */
  firing(after: Pick<Alert, 'id' | 'startsAtUs'> | undefined, limit: number): Promise<Alert[]>;
  /** Alerts in pages; `next` is absent at the end. Throws `usage` for a cursor that no answer gave. */
  page(query: AlertQuery): Promise<{ alerts: Alert[]; next?: string }>;
  /** The causes of the alerts that fire: unacknowledged first, then by severity, then those of the most alerts. */
  causes(query: CauseQuery): Promise<CausePage>;
  /** The alert's episodes that are over, the latest first; also once the alert itself is gone. */
  episodes(alertId: string, limit: number): Promise<Episode[]>;
  /** All episodes that are over, each with when that was seen: the latest first, from behind this one on. */
  endedBefore(
    place: { readonly resolvedAtUs: number; readonly alertId: string } | undefined,
    limit: number,
  ): Promise<{ episode: Episode; resolvedAtUs: number }[]>;
  /**
   * Labels of the alerts that fire, of all or of those with these names, in no order; without those that fire on only
   * because they flap. At most so many are looked at; `next` says what to give as `after` for the rest, and is absent at
   * the end. The first call gives 0.
   */
  firingLabels(
    alertnames: readonly string[] | null,
    after: number,
    limit: number,
  ): Promise<{ labels: Labels[]; next?: number }>;
  count(): Promise<{ alertname: string; severity: string; state: string; count: number }[]>;
  /** How many fire, by what their labels say; empty for a label that is not there. */
  countFiring(): Promise<
    { alertname: string; severity: string; region: string; nestId: string; count: number }[]
  >;
  /** Deletes alerts with their links and their places in groups. Their events and episodes stay. */
  delete(alertIds: readonly string[]): Promise<void>;
  /** The alerts that an event is linked to, with its `seq` in each; deleted alerts are not among them. */
  ofEvent(key: string): Promise<{ alert: Alert; seq: number }[]>;
}
