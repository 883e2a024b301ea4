/**
 * THE PROMISE of the store, the only place where intake, alerting and delivery meet. All work is done in
 * transactions. What a transaction writes is durable when its promise resolves, and has not happened at all when it
 * rejects. Transactions take effect as if they ran one after another, in the order in which they were requested.
 * Those that wait at the same moment may share one durable commit, but each is still all-or-nothing on its own. What
 * a store keeps comes back exactly: every text, and every instant to the microsecond. Each repository of a transaction
 * (`tx.events`, `tx.alerts`, …) is described in its own file. Every store passes `test/store/contract.ts` unchanged.
 */
import type { Action } from '../domain/action/action.ts';
import type { Note } from '../domain/alert/alert.ts';
import type { Event } from '../domain/alert/event.ts';
import type { SubscribedBrowser } from '../domain/grouping/subscribed-browser.ts';
import type { ReceiverPace } from '../domain/grouping/throttle.ts';
import type { Silence } from '../domain/muting/silence.ts';
import type { Suppression } from '../domain/muting/suppression.ts';
import type { WriteRecord } from '../report.ts';
import type { StoreClock } from '../time/clock.ts';
import type { AlertStore } from './alert-store.ts';
import type { AuditStore } from './audit-store.ts';
import type { BirdStore } from './bird-store.ts';
import type { DigestStore } from './digest-store.ts';
import type { ErrorStore } from './error-store.ts';
import type { EventStore } from './event-store.ts';
import type { FaultStore, TroublesStore } from './fault-store.ts';
import type { FlightStore } from './flight-store.ts';
import type { GroupStore } from './group-store.ts';
import type { InventoryStore } from './inventory-store.ts';
import type { OutboxStore } from './outbox-store.ts';
import type { OverdueStore } from './overdue-store.ts';
import type { OwnershipStore } from './ownership-store.ts';
import type { StreamStore } from './stream-store.ts';
import type { UpkeepStore } from './upkeep-store.ts';

export interface Store {
  /**
   * Runs `work` in one transaction. `work` may await nothing but the transaction's own methods. If it throws, nothing
   * of it remains and the error is passed on. Rejects with `disk_full` or `store_failed` when the commit itself
   * fails, and with `store_down` when a server is away or another program has locked the file. A store that others
   * write to may run `work` again from the beginning; nothing of the first run remains.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** The space that the store takes and could still take; undefined while it cannot be measured. */
  space(): StoreSpace | undefined;
  /** Refuses new transactions with `cancelled`, waits for those in progress, then releases what the store holds. */
  close(): Promise<void>;
}

/** What replicas that share a store wake each other for. */
export type WakeUp = 'alerting' | 'delivery' | 'ownership' | `probe ${string}` | `act ${string}`;

/**
 * Tells the other replicas on the same store that there is work for them. A lost wake-up costs time but never an
 * event, because each replica also checks the store by itself now and then.
 */
export interface Wakes {
  /** Call this after the commit that creates the work. It never throws. */
  ring(what: WakeUp): void;
  /** Calls `heard` for what other replicas ring, until the returned function is called. */
  listen(heard: (what: WakeUp) => void): () => void;
}

/** A store that was opened. */
export interface OpenStore {
  readonly store: Store;
  /** Undefined if the process has its own store. */
  readonly sharing: Sharing | undefined;
}

/** Transactions for what a replica does even when idle; each of these methods is one request. */
export interface Turns extends Pick<Store, 'transaction'> {
  readonly renew: OwnershipStore['renew'];
  readonly shown: OwnershipStore['shown'];
}

/** What coordinates the replicas on one store, until the store is closed. */
export interface Sharing {
  readonly wakes: Wakes;
  /** The same store over a separate connection, so that a replica can renew in time however busy `store` is. */
  readonly turns: Turns;
  /**
   * The same store for those who wait for an answer, such as people and scrapes: rejects with `store_down` within three
   * seconds if the server falls silent.
   */
  readonly prompt: Store;
  /** The clock by which all replicas date what they write. */
  readonly storeClock: StoreClock;
}

/** All in bytes. */
export interface StoreSpace {
  readonly used: number;
  /** Free space where the store is kept; undefined on a server, which alone knows its disk. */
  readonly free: number | undefined;
  /** The size of that disk; 0 for a store in memory or on a server. */
  readonly whole: number;
}

export type Attempted<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown };

/** The repositories of the store, in the order in which an entry of the service passes through them. */
export interface Transaction {
  // What is watched, and what was read of it.
  readonly inventory: InventoryStore;
  readonly streams: StreamStore;
  readonly events: EventStore;
  readonly flights: FlightStore;
  readonly errors: ErrorStore;
  readonly audits: AuditStore;
  readonly birds: BirdStore;
  // What is wrong, and who is to be told.
  readonly overdue: OverdueStore;
  readonly alerts: AlertStore;
  readonly groups: GroupStore;
  readonly silences: SilenceStore;
  readonly notes: NoteStore;
  readonly suppressions: SuppressionStore;
  readonly digests: DigestStore;
  // What is on its way.
  readonly forwards: ForwardStore;
  readonly receivers: ReceiverStore;
  readonly outbox: OutboxStore;
  readonly browsers: BrowserStore;
  readonly actions: ActionStore;
  // The store itself, which replica does what, and who changed what.
  readonly ownership: OwnershipStore;
  readonly faults: FaultStore;
  readonly troubles: TroublesStore;
  readonly writes: WriteStore;
  readonly upkeep: UpkeepStore;

  /**
   * Runs a part of the work that may fail by itself. If it fails, nothing of this part remains, but what the
   * transaction does before and after it does. Rejects only when the store itself fails.
   */
  attempt<T>(part: () => Promise<T>): Promise<Attempted<T>>;
  /** Lets the process do other things during a long transaction, which then continues. */
  pause(): Promise<void>;
}

/** Stores how much each throttled receiver was sent recently. */
export interface ReceiverStore {
  /** An empty pace if nothing is known of the receiver. */
  pace(receiver: string): Promise<ReceiverPace>;
  putPace(pace: ReceiverPace): Promise<void>;
}

export interface SilenceStore {
  /** Silences that end after this instant, or by default all that are kept; those that end first come first. */
  list(endsAfterUs?: number): Promise<Silence[]>;
  put(silences: readonly Silence[]): Promise<void>;
  delete(ids: readonly string[]): Promise<void>;
}

/** Stores what people wrote about alerts, for as long as the episode is stored that they wrote about. */
export interface NoteStore {
  add(note: Note): Promise<void>;
  /** The notes of all episodes that are stored, newest first. */
  ofAlert(alertId: string, limit: number): Promise<Note[]>;
  /** Of each alert that fires in the Nest the newest public note of its current episode, newest first. */
  publicOf(region: string, nestId: string, limit: number): Promise<Note[]>;
}

/**
 * Stores suppressions: which events of an alert a receiver is not notified of, and why. They are stored with their
 * events, so that they outlive the alert.
 */

export interface SuppressionStore {
  /** Stores suppressions with the events that they concern. Their alerts must be in the store. */
  add(suppressions: readonly Suppression[]): Promise<void>;
  /** The suppressions of an alert, in order of time, even if the alert itself was deleted. */
  ofAlert(alertId: string): Promise<Suppression[]>;
  /** The suppressions that concern an event, by its key. */
  ofEvent(key: string): Promise<Suppression[]>;
}

/** An event that waits to be forwarded to a receiver, in commit order. */
interface ForwardedEvent {
  readonly receiver: string;
  readonly event: Event;
}

export interface ForwardStore {
  queue(events: readonly ForwardedEvent[]): Promise<void>;
  /** Receivers with waiting events. */
  receivers(): Promise<string[]>;
  /** Takes the oldest `limit` events from a receiver's queue; they are removed when the transaction commits. */
  take(receiver: string, limit: number): Promise<Event[]>;
}

export interface BrowserStore {
  /** Replaces a browser's subscription to the same receiver. */
  put(browser: SubscribedBrowser): Promise<void>;
  /** All, the oldest subscription first. */
  list(): Promise<SubscribedBrowser[]>;
  delete(receiver: string, ids: readonly string[]): Promise<void>;
}

interface Pause {
  readonly atUs: number;
  readonly by: string;
}

/** Stores what nestwatch does to the service. */
export interface ActionStore {
  /** Adds one. False, and nothing is added, if its id is known, or if it is open and so is another one of the Bird. */
  add(action: Action): Promise<boolean>;
  /** Replaces those with these ids. */
  put(actions: readonly Action[]): Promise<void>;
  find(id: string): Promise<Action | undefined>;
  /** Those of a region that are open, oldest first. */
  open(region: string): Promise<Action[]>;
  /** Those of a region that were wanted since then, newest first. */
  since(region: string, sinceUs: number): Promise<Action[]>;
  /** Since when no rule may act, and who said so; undefined if rules may. */
  paused(): Promise<Pause | undefined>;
  putPause(pause: Pause | undefined): Promise<void>;
  /** The newest of a Bird, newest first. */
  ofBird(region: string, birdId: string, limit: number): Promise<Action[]>;
}

export interface WriteStore {
  /** Adds a record; beyond `LIMITS.kept_writes` the oldest are deleted. */
  add(write: WriteRecord): Promise<void>;
  /** Newest first. */
  page(query: WriteQuery): Promise<{ readonly writes: readonly WriteRecord[]; readonly next?: string }>;
}

/** All given conditions must match. */
export interface WriteQuery {
  /** A person's or token's whole name. */
  readonly who?: string | undefined;
  /** A part of the request, in any case. */
  readonly text?: string | undefined;
  readonly sinceUs?: number | undefined;
  /** Exclusive. */
  readonly untilUs?: number | undefined;
  /** Where the previous page ended; an invalid cursor reads as the beginning. */
  readonly cursor?: string | undefined;
  readonly limit: number;
}
