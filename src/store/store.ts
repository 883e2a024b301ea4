/**
 * THE PROMISE of the store, the only place where intake, alerting and delivery meet. All work is done in
 * transactions: what one writes is durable when its promise resolves, or has not happened at all when it rejects.
 * Transactions run one after another; those that wait at the same moment may share one durable commit, each still
 * all-or-nothing on its own. Every store passes `test/store/contract.ts` unchanged.
 */
import type { Alert, Labels } from '../domain/alert/alert.ts';
import type { Event, Feed } from '../domain/alert/event.ts';
import type { FlightEnded } from '../domain/alert/fact.ts';
import type { Digest, EndedSilenced, Episode } from '../domain/digest/digest.ts';
import type { EndedFlight } from '../domain/digest/flight-tally.ts';
import type { Link } from '../domain/evaluate/decide.ts';
import type { OldEvents } from '../domain/grouping/catching-up.ts';
import type { Group, GroupMember } from '../domain/grouping/group.ts';
import type { FlightOutcome, Notification } from '../domain/grouping/notification.ts';
import type { Silence } from '../domain/muting/silence.ts';
import type { Suppression } from '../domain/muting/suppression.ts';
import type {
  AuditRecord,
  BirdRecord,
  BirdToJudge,
  ClaimedDelivery,
  Delivery,
  DeliveryQuery,
  DeliveryState,
  DigestRecord,
  EventQuery,
  FailingIntegration,
  FlightRecord,
  FlightToJudge,
  ForwardedEvent,
  NestMembers,
  NestRecord,
  QuarantinedEntry,
  ReceiverPace,
  Settlement,
  StreamRecord,
} from './record.ts';

export interface Store {
  /**
   * Runs `work` in one transaction. It may only await the transaction's own methods. When it throws, nothing of it
   * remains and the error is passed on. Rejects with `disk_full`, `store_failed` when the commit itself fails.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Waits for what is under way, then releases the lock. */
  close(): Promise<void>;
}

export interface Transaction {
  /** When this region was first watched by this store: `nowUs` at the first call, the same instant ever after. */
  regionSince(region: string, nowUs: number): Promise<number>;
  /** The same where it was called before; undefined for a region that is not watched yet. */
  knownSince(region: string): Promise<number | undefined>;

  /** A key for signatures of our own: `fresh` at the first call with this name, the same ever after. */
  key(name: string, fresh: string): Promise<string>;

  nests(region: string): Promise<NestRecord[]>;
  putNests(nests: readonly NestRecord[]): Promise<void>;
  /** Who is to be told as a member of a Nest; kept only where a receiver wants it. */
  nestMembers(region: string): Promise<NestMembers[]>;
  putNestMembers(members: readonly NestMembers[]): Promise<void>;
  birds(region: string): Promise<BirdRecord[]>;
  putBirds(birds: readonly BirdRecord[]): Promise<void>;

  streams(region: string): Promise<StreamRecord[]>;
  /** Finds or creates the stream. */
  openStream(region: string, feed: Feed | 'inventory', birdId: string): Promise<StreamRecord>;
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
  /** Those of these ids that the stream has events of, whenever they occurred. */
  knownIds(stream: number, ids: readonly string[]): Promise<Set<string>>;
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

  /** How the latest Flights of the stream ended that failed or succeeded, in no order. */
  latestEnds(stream: number, limit: number): Promise<FlightEnded[]>;
  /** How the Bird's latest Flights ended, the oldest first. */
  lastOutcomes(region: string, birdId: string, limit: number): Promise<FlightOutcome[]>;
  /** Open Flights that started up to `startedUs` and are to be judged by `nowUs`, the oldest first. */
  flightsToJudge(startedUs: number, nowUs: number, limit: number): Promise<FlightToJudge[]>;
  /** Says when they are to be judged next. */
  judgeFlights(
    flights: readonly {
      readonly stream: number;
      readonly startedAtUs: number;
      readonly flightId: string;
      readonly nextUs: number;
    }[],
  ): Promise<void>;
  /** Present, active Birds that are to be judged by `nowUs`. */
  birdsToJudge(nowUs: number, limit: number): Promise<BirdToJudge[]>;
  judgeBirds(
    birds: readonly { readonly region: string; readonly birdId: string; readonly nextUs: number }[],
  ): Promise<void>;
  /** Judges all Flights and Birds anew: the rules may be others. */
  forgetJudgements(): Promise<void>;
  /** Microseconds that the latest Flights of the stream took which succeeded, in no order: of the last 500 at most. */
  flightDurations(stream: number): Promise<number[]>;
  /** What lies between the starts of the stream's last 3000 Flights at most. */
  flightGaps(stream: number): Promise<{ count: number; longestUs: number; spanUs: number }>;
  /** Alerts of this name that fire about a Flight which is no longer open. */
  alertsOfGoneFlights(alertname: string): Promise<Alert[]>;

  /**
   * Keeps malformed entries; returns how many were not known before (the same raw text of the same stream). Of each
   * stream the newest are known again, and of fewer the text is kept.
   */
  quarantine(stream: number, entries: readonly QuarantinedEntry[], nowUs: number): Promise<number>;

  /** One alert, in whatever state. */
  alert(id: string): Promise<Alert | undefined>;
  /** Alerts of these scopes, in every state. */
  alertsOfScopes(scopes: readonly string[]): Promise<Alert[]>;
  /** Regions that have an alert in any state but forgotten ones. */
  alertRegions(): Promise<string[]>;
  /** Scopes of a region that have an alert in any state but forgotten ones. */
  scopesWithAlerts(region: string): Promise<string[]>;
  /** Alerts whose `dueAtUs` has come, the oldest first. */
  alertsDue(nowUs: number, limit: number): Promise<Alert[]>;
  /**
   * Writes alerts and marks them as changed, so that `changedAlerts` gives them until `routed`. The episode of one
   * that is resolved joins the history.
   */
  putAlerts(alerts: readonly Alert[]): Promise<void>;
  /** Links events to alerts, in the place of those that have the same `seq`. The events must be in the store. */
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
  alertEvents(alertId: string, afterSeq: number, limit: number, lastSeq?: number): Promise<Link[]>;
  /** Alerts changed since they were last routed, oldest change first. */
  changedAlerts(limit: number): Promise<Alert[]>;
  markRouted(alertIds: readonly string[]): Promise<void>;
  /** Firing and resolved alerts for people and metrics, newest first. */
  alerts(query: { state?: Alert['state'] | undefined; limit: number }): Promise<Alert[]>;
  /**
   * Labels of the alerts that fire, of all or of those with these names, in no order; without those that fire on only
   * because they flap.
   */
  firingLabels(alertnames: readonly string[] | null): Promise<Labels[]>;
  countAlerts(): Promise<{ alertname: string; severity: string; state: string; count: number }[]>;
  deleteAlerts(alertIds: readonly string[]): Promise<void>;

  groups(keys: readonly string[]): Promise<Group[]>;
  groupsOfAlerts(alertIds: readonly string[]): Promise<GroupMember[]>;
  groupsDue(nowUs: number, limit: number): Promise<Group[]>;
  groupMembers(groupKey: string): Promise<{ member: GroupMember; alert: Alert }[]>;
  /** Alerts that fire and of which a group of this receiver has told so, by id, from behind `afterId` on. */
  notifiedFiring(receiver: string, afterId: string, limit: number): Promise<Alert[]>;
  putGroups(groups: readonly Group[]): Promise<void>;
  putGroupMembers(members: readonly GroupMember[]): Promise<void>;
  deleteGroupMembers(members: readonly { groupKey: string; alertId: string }[]): Promise<void>;
  deleteGroups(keys: readonly string[]): Promise<void>;
  /** The earliest instant at which an alert, a group or a fallback is due; undefined for none. */
  nextAlertingUs(): Promise<number | undefined>;

  /** Silences that end after this instant, or else all that are kept, expired ones too; the first to end first. */
  silences(endsAfterUs?: number): Promise<Silence[]>;
  putSilences(silences: readonly Silence[]): Promise<void>;
  /** Keeps what is never told, and of which events. Their alert must be in the store. */
  suppress(suppressions: readonly Suppression[]): Promise<void>;
  /** What was not told of an alert, in the order of time; also once the alert itself is gone. */
  suppressions(alertId: string): Promise<Suppression[]>;
  /** What was not told of an event, by its key. */
  suppressionsOfEvent(key: string): Promise<Suppression[]>;

  queueForward(events: readonly ForwardedEvent[]): Promise<void>;
  /** Receivers with events that wait to be forwarded. */
  forwardReceivers(): Promise<string[]>;
  /** Takes the oldest `limit` events that wait for a receiver: they are gone when the transaction commits. */
  takeForward(receiver: string, limit: number): Promise<Event[]>;

  /**
   * Queues a notification for its deliveries: all or none. `tells` says which events it tells, those with
   * `afterSeq < seq <= lastSeq` of each alert; without it, those that it lists.
   */
  enqueue(
    notification: Notification,
    deliveries: readonly Delivery[],
    tells?: readonly { readonly alertId: string; readonly afterSeq: number; readonly lastSeq: number }[],
  ): Promise<void>;
  /** The alerts that an event is joined to, with its `seq` in each; alerts that were let go of are not among them. */
  alertsOfEvent(key: string): Promise<{ alert: Alert; seq: number }[]>;
  /** The notifications that tell an event, or count it, the oldest first; then those that forward it. */
  notificationsOfEvent(key: string): Promise<{ notification: Notification; deliveries: Delivery[] }[]>;
  /**
   * Claims up to `limit` deliveries of one receiver's integration that are due, the first of each lane only, and
   * records the attempt: they are `leased` and their `attempts` counts this one.
   */
  claim(receiver: string, position: number, nowUs: number, limit: number): Promise<ClaimedDelivery[]>;
  /** Receivers' integrations with something due at `nowUs`, and the next instant at which something is. */
  dueDeliveries(nowUs: number): Promise<{ due: { receiver: string; position: number }[]; nextAtUs?: number }>;
  /** Ends an attempt. */
  settle(settlements: readonly Settlement[], nowUs: number): Promise<void>;
  /**
   * Puts dead deliveries back as if they were queued now: with 72 h and all tries before them. Ids of others change
   * nothing. Returns the ids that were put back.
   */
  redrive(ids: readonly string[], nowUs: number): Promise<string[]>;
  /** Takes up to `limit` deliveries whose `fallbackAtUs` has come: each is given once. */
  takeFallbacks(nowUs: number, limit: number): Promise<ClaimedDelivery[]>;
  /** Integrations that accept nothing now, by receiver and position. */
  failingIntegrations(): Promise<FailingIntegration[]>;
  receiverPace(receiver: string): Promise<ReceiverPace>;
  putReceiverPace(pace: ReceiverPace): Promise<void>;
  /** At start: what another life of this process left leased becomes ambiguous, due now. Returns how many. */
  recoverLeases(nowUs: number): Promise<number>;
  /** Newest first. */
  deliveries(query: DeliveryQuery): Promise<Delivery[]>;
  delivery(id: string): Promise<ClaimedDelivery | undefined>;
  countDeliveries(): Promise<{ receiver: string; state: DeliveryState; count: number }[]>;

  digest(name: string): Promise<DigestRecord | undefined>;
  putDigest(record: DigestRecord): Promise<void>;
  /**
   * Events are numbered in the order of their arrival: the number before the first of those that occurred at or after
   * `sinceUs`, and the last number of all.
   */
  arrivals(sinceUs: number): Promise<{ readonly before: number; readonly last: number }>;
  /** Flights that failed or succeeded, whose events have these numbers: `after < number <= upTo`. */
  endedFlights(after: number, upTo: number): Promise<(EndedFlight & { readonly number: number })[]>;
  /** Episodes of alerts that were seen to be over after `afterUs` and by `upToUs`; kept for the retention. */
  episodes(afterUs: number, upToUs: number, limit: number): Promise<Episode[]>;
  /** Alerts whose end a silence kept from whomever in that time, the most often first; the names of the first `limit`. */
  endedSilenced(afterUs: number, upToUs: number, limit: number): Promise<EndedSilenced>;
  /** What a receiver was not told in that time, by the reason. */
  countSuppressed(receiver: string, afterUs: number, upToUs: number): Promise<Digest['suppressed']>;
  /** Deliveries to it that were given up in that time. */
  countDead(receiver: string, afterUs: number, upToUs: number): Promise<number>;

  /** The latest instant of our clock that events and deliveries tell of; 0 for none. */
  newestInstantUs(): Promise<number>;
  /** Whatever groups and unsettled deliveries wait for after `nowUs` comes so much earlier. */
  setBack(byUs: number, nowUs: number): Promise<void>;

  /** Lets the process turn to other things in a long transaction, which goes on where it was. */
  pause(): Promise<void>;

  /**
   * Deletes up to `limit` rows of what is past the retention: events, ended Flights, settled deliveries with their
   * notifications, links, quarantined entries, expired silences, suppressions, ended episodes; never what is open,
   * firing or unsent. Then Birds and Nests that were gone by then, with their audits, members and Flights, open ones
   * too; not while there are events of the Bird. Returns how many went.
   * Of each stream it is remembered how far that went, as its `prunedUs`.
   */
  prune(beforeUs: number, limit: number): Promise<number>;
}
