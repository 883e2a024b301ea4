/**
 * THE PROMISE of the store, the only place where intake, alerting and delivery meet. All work is done in
 * transactions: what one writes is durable when its promise resolves, or has not happened at all when it rejects.
 * Transactions run one after another; those that wait at the same moment may share one durable commit, each still
 * all-or-nothing on its own. Every store passes `test/store/contract.ts` unchanged.
 */
import type { Alert } from '../alerts/alert.ts';
import type { Event, Feed } from '../alerts/event.ts';
import type { Group, GroupMember, Notification } from '../alerts/group.ts';

export interface Store {
  /**
   * Runs `work` in one transaction. It may only await the transaction's own methods. When it throws, nothing of it
   * remains and the error is passed on. Rejects with `disk_full`, `store_failed` when the commit itself fails.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Waits for what is under way, then releases the lock. */
  close(): Promise<void>;
}

/** A Nest or Bird as the inventory last saw it. */
export interface NestRecord {
  readonly region: string;
  readonly nestId: string;
  readonly name: string;
  /** False from the reading on that no longer listed it. */
  readonly present: boolean;
}

export interface BirdRecord {
  readonly region: string;
  readonly birdId: string;
  readonly nestId: string;
  readonly name: string;
  /** `active`, `unpublished`, `suspended` or a value not known today. */
  readonly status: string;
  /** `manual`, `event`, `scheduled` or a value not known today. */
  readonly triggerType: string;
  readonly present: boolean;
  /** When the status was last seen to change, by our clock; the first reading counts. */
  readonly statusSinceUs: number;
}

/** A stream is one feed of one entity: of the region (notifications, `birdId` empty) or of one Bird. */
export interface StreamRecord {
  /** Small, never reused. */
  readonly stream: number;
  readonly region: string;
  readonly feed: Feed;
  readonly birdId: string;
  /** Newest `createdAt` (flights: `startDate`) committed; 0 before the first. */
  readonly cursorUs: number;
}

/** Where the service counts entries that cannot be read. */
export interface GapRecord {
  readonly fromUs: number;
  readonly toUs: number;
  /** How many. */
  readonly missing: number;
  /** Audits in a row that found it. */
  readonly seen: number;
  /** How many of them people have been told of. */
  readonly told: number;
}

/** How far a stream is known to be complete, as its last audits left it. */
export interface AuditRecord {
  readonly stream: number;
  /** Nothing is missing up to here; 0 before the first audit. */
  readonly verifiedUs: number;
  /** When its last day, and all that is kept of it, were last audited. */
  readonly dayAuditedUs: number;
  readonly wholeAuditedUs: number;
  readonly gaps: readonly GapRecord[];
}

export interface FlightRecord {
  readonly stream: number;
  /** Lower case. */
  readonly flightId: string;
  /** 0 when the service gave no `startDate`. */
  readonly startedAtUs: number;
  readonly status: string;
  /** True while the Flight is watched: not seen to have ended. */
  readonly open: boolean;
  /** How often it was seen to end; the second end's event has `#2`. */
  readonly ends: number;
}

export interface QuarantinedEntry {
  /** The entry as it came, JSON, capped. */
  readonly raw: string;
  /** What is wrong with it. */
  readonly reason: string;
}

/** An event joined to an alert: the `seq`-th ever of that alert's identity. */
export interface AlertEvent {
  readonly alertId: string;
  readonly seq: number;
  readonly event: Event;
}

/**
 * `pending → leased → delivered`, or `retry` (refused for now), `ambiguous` (accepted or not is unknown), `dead`
 * (given up), `suppressed` (never to be sent, with the reason). Only pending, retry and ambiguous are claimed.
 */
export type DeliveryState =
  | 'pending'
  | 'leased'
  | 'delivered'
  | 'retry'
  | 'ambiguous'
  | 'dead'
  | 'suppressed';

/** One notification on its way to one integration of one receiver. */
export interface Delivery {
  /** The `webhook-id`, and what the mail's Message-ID is made from: the same on every try. */
  readonly id: string;
  readonly notificationId: string;
  readonly receiver: string;
  /** `email` or `webhook` (more to come). */
  readonly integration: string;
  /** Position among the receiver's integrations, from 0. */
  readonly position: number;
  /** Deliveries of one integration's lane are sent one after another, as they were created; empty: in no order. */
  readonly lane: string;
  readonly state: DeliveryState;
  /** Tries begun. */
  readonly attempts: number;
  readonly createdAtUs: number;
  /** When it may be claimed again. */
  readonly nextAttemptAtUs: number;
  /** When it was delivered, died or was suppressed; 0 before. */
  readonly settledAtUs: number;
  /** What the last try ended with, for people; empty when none failed. */
  readonly lastError: string;
}

/** A claimed delivery with what it carries. */
export interface ClaimedDelivery {
  readonly delivery: Delivery;
  readonly notification: Notification;
}

export interface Settlement {
  readonly id: string;
  readonly state: 'delivered' | 'retry' | 'ambiguous' | 'dead' | 'suppressed';
  readonly nextAttemptAtUs: number;
  readonly lastError: string;
}

export interface EventQuery {
  readonly region?: string | undefined;
  readonly feed?: Feed | undefined;
  readonly type?: string | undefined;
  /** Occurred at or after. */
  readonly sinceUs?: number | undefined;
  /** Occurred before. */
  readonly untilUs?: number | undefined;
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

export interface DeliveryQuery {
  readonly state?: DeliveryState | undefined;
  readonly receiver?: string | undefined;
  readonly limit: number;
}

/** An event that waits to be forwarded to a receiver, in the order of commits. */
export interface ForwardedEvent {
  readonly receiver: string;
  readonly event: Event;
}

export interface Transaction {
  /** When this region was first watched by this store: `nowUs` at the first call, the same instant ever after. */
  regionSince(region: string, nowUs: number): Promise<number>;

  nests(region: string): Promise<NestRecord[]>;
  putNests(nests: readonly NestRecord[]): Promise<void>;
  birds(region: string): Promise<BirdRecord[]>;
  putBirds(birds: readonly BirdRecord[]): Promise<void>;

  streams(region: string): Promise<StreamRecord[]>;
  /** Finds or creates the stream. */
  openStream(region: string, feed: Feed, birdId: string): Promise<StreamRecord>;
  /** Moves the cursor forward; a smaller value changes nothing. */
  advanceCursor(stream: number, cursorUs: number): Promise<void>;

  /** Inserts the events that are not there yet (same stream, instant and id) and returns those, in their order. */
  insertEvents(stream: number, events: readonly Event[]): Promise<Event[]>;
  /** Ids (the last part of the key) of the stream's events that occurred in [sinceUs, untilUs), oldest first. */
  eventIds(
    stream: number,
    sinceUs: number,
    untilUs?: number,
  ): Promise<{ id: string; occurredAtUs: number }[]>;
  /** Events of the stream that occurred in [fromUs, toUs). */
  countEvents(stream: number, fromUs: number, toUs: number): Promise<number>;
  /** Newest first. `next` is absent at the end. */
  events(query: EventQuery): Promise<{ events: Event[]; next?: string }>;
  /** One event by its key. */
  event(key: string): Promise<Event | undefined>;

  /** What audits found out about the streams of a region. */
  audits(region: string): Promise<AuditRecord[]>;
  putAudits(audits: readonly AuditRecord[]): Promise<void>;

  openFlights(stream: number): Promise<FlightRecord[]>;
  /** Flights of the stream that started at or after `sinceUs`. */
  flightsSince(stream: number, sinceUs: number): Promise<FlightRecord[]>;
  /** The stored ones of these Flights, each looked up by its exact start and id (0 for a start not given). */
  findFlights(
    stream: number,
    flights: readonly { readonly flightId: string; readonly startedAtUs: number }[],
  ): Promise<FlightRecord[]>;
  putFlights(flights: readonly FlightRecord[]): Promise<void>;

  /** Keeps malformed entries; returns how many were not kept before (the same raw text of the same stream). */
  quarantine(stream: number, entries: readonly QuarantinedEntry[], nowUs: number): Promise<number>;

  /** Alerts of these scopes, in every state. */
  alertsOfScopes(scopes: readonly string[]): Promise<Alert[]>;
  /** Scopes of a region that have an alert in any state but forgotten ones. */
  scopesWithAlerts(region: string): Promise<string[]>;
  /** Alerts whose `dueAtUs` has come, the oldest first. */
  alertsDue(nowUs: number, limit: number): Promise<Alert[]>;
  /** Writes alerts and marks them as changed, so that `changedAlerts` gives them until `routed`. */
  putAlerts(alerts: readonly Alert[]): Promise<void>;
  /** Links events to alerts. The events must be in the store. */
  linkEvents(links: readonly AlertEvent[]): Promise<void>;
  /** The alert's events with `afterSeq < seq`, the newest `limit`, newest first. */
  alertEvents(alertId: string, afterSeq: number, limit: number): Promise<AlertEvent[]>;
  /** Alerts changed since they were last routed, oldest change first. */
  changedAlerts(limit: number): Promise<Alert[]>;
  markRouted(alertIds: readonly string[]): Promise<void>;
  /** Firing and resolved alerts for people and metrics, newest first. */
  alerts(query: { state?: Alert['state'] | undefined; limit: number }): Promise<Alert[]>;
  countAlerts(): Promise<{ alertname: string; severity: string; state: string; count: number }[]>;
  deleteAlerts(alertIds: readonly string[]): Promise<void>;

  groups(keys: readonly string[]): Promise<Group[]>;
  groupsOfAlerts(alertIds: readonly string[]): Promise<GroupMember[]>;
  groupsDue(nowUs: number, limit: number): Promise<Group[]>;
  groupMembers(groupKey: string): Promise<{ member: GroupMember; alert: Alert }[]>;
  putGroups(groups: readonly Group[]): Promise<void>;
  putGroupMembers(members: readonly GroupMember[]): Promise<void>;
  deleteGroupMembers(members: readonly { groupKey: string; alertId: string }[]): Promise<void>;
  deleteGroups(keys: readonly string[]): Promise<void>;
  /** The earliest instant at which an alert or a group is due; undefined for none. */
  nextAlertingUs(): Promise<number | undefined>;

  queueForward(events: readonly ForwardedEvent[]): Promise<void>;
  /** Receivers with events that wait to be forwarded. */
  forwardReceivers(): Promise<string[]>;
  /** Takes the oldest `limit` events that wait for a receiver: they are gone when the transaction commits. */
  takeForward(receiver: string, limit: number): Promise<Event[]>;

  /** Queues a notification for its deliveries: all or none. */
  enqueue(notification: Notification, deliveries: readonly Delivery[]): Promise<void>;
  /**
   * Claims up to `limit` deliveries of one receiver's integration that are due, the first of each lane only, and
   * records the attempt: they are `leased` and their `attempts` counts this one.
   */
  claim(receiver: string, position: number, nowUs: number, limit: number): Promise<ClaimedDelivery[]>;
  /** Receivers' integrations with something due at `nowUs`, and the next instant at which something is. */
  dueDeliveries(nowUs: number): Promise<{ due: { receiver: string; position: number }[]; nextAtUs?: number }>;
  /** Ends an attempt. */
  settle(settlements: readonly Settlement[], nowUs: number): Promise<void>;
  /** At start: what another life of this process left leased becomes ambiguous, due now. Returns how many. */
  recoverLeases(nowUs: number): Promise<number>;
  /** Newest first. */
  deliveries(query: DeliveryQuery): Promise<Delivery[]>;
  delivery(id: string): Promise<ClaimedDelivery | undefined>;
  countDeliveries(): Promise<{ receiver: string; state: DeliveryState; count: number }[]>;

  /**
   * Deletes up to `limit` rows of what is past the retention: events, ended Flights, settled deliveries with their
   * notifications, links, quarantined entries. Never what is open, firing or unsent. Returns how many went.
   */
  prune(beforeUs: number, limit: number): Promise<number>;
}
