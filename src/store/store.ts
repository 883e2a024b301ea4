/**
 * THE PROMISE of the store, the only place where intake, alerting and delivery meet. All work is done in
 * transactions: what one writes is durable when its promise resolves, or has not happened at all when it rejects.
 * Transactions take effect as if they ran one after another, in the order in which they were asked for. Those that
 * wait at the same moment may share one durable commit, each still all-or-nothing on its own. What a store keeps comes
 * back exactly: every text, and every instant to the microsecond. Each room of a transaction is described in its own
 * file; every store passes `test/store/contract.ts` unchanged.
 */

import type { StoreClock } from '../time/store-clock.ts';
import type { AlertStore } from './alert-store.ts';
import type { AuditStore } from './audit-store.ts';
import type { BirdStore } from './bird-store.ts';
import type { DigestStore } from './digest-store.ts';
import type { EventStore } from './event-store.ts';
import type { FaultStore, TroublesStore } from './fault-store.ts';
import type { FlightStore } from './flight-store.ts';
import type { ForwardStore } from './forward-store.ts';
import type { GroupStore } from './group-store.ts';
import type { InventoryStore } from './inventory-store.ts';
import type { OutboxStore } from './outbox-store.ts';
import type { OverdueStore } from './overdue-store.ts';
import type { OwnershipStore } from './ownership-store.ts';
import type { ReceiverStore } from './receiver-store.ts';
import type { SilenceStore } from './silence-store.ts';
import type { StreamStore } from './stream-store.ts';
import type { SuppressionStore } from './suppression-store.ts';
import type { UpkeepStore } from './upkeep-store.ts';
import type { WriteStore } from './write-store.ts';

export interface Store {
  /**
   * Runs `work` in one transaction. It may only await the transaction's own methods. When it throws, nothing of it
   * remains and the error is passed on. Rejects with `disk_full`, `store_failed` when the commit itself fails, and with
   * `store_down` where a server is away. A store that others write to may run `work` once more from its beginning;
   * nothing of the first time remains.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** What the store takes, and what it could still take; undefined while that cannot be seen. */
  space(): StoreSpace | undefined;
  /** Refuses new transactions with `cancelled`, waits for those under way, then lets go of what the store holds. */
  close(): Promise<void>;
}

/** What the stages of all replicas on one store have in common to hear of. */
export type WakeUp = 'alerting' | 'delivery' | 'ownership' | `probe ${string}`;

/**
 * Says to the other replicas on the same store that there is something for them to do. A wake that is lost costs time,
 * never an event: whoever is to hear of it looks into the store by itself now and then.
 */
export interface Wakes {
  /** To be called after the commit that there is to hear of. It never throws. */
  ring(what: WakeUp): void;
  /** `heard` is called for what others ring, until the function that is returned is. */
  listen(heard: (what: WakeUp) => void): () => void;
}

/** A store as it is opened. */
export interface OpenStore {
  readonly store: Store;
  /** Undefined where a process has the store to itself. */
  readonly sharing: Sharing | undefined;
}

/** What a replica does all the time, though nothing happens, is one request each. */
export interface Turns extends Pick<Store, 'transaction'> {
  readonly renew: OwnershipStore['renew'];
  readonly shown: OwnershipStore['shown'];
}

/** What the replicas on one store agree by, until the store is closed. */
export interface Sharing {
  readonly wakes: Wakes;
  /** The same store by a way of its own: whatever `store` is busy with, a replica can say in time that it lives. */
  readonly turns: Turns;
  /** By it all of them date what they write. */
  readonly storeClock: StoreClock;
}

/** All in bytes. */
export interface StoreSpace {
  readonly used: number;
  /** What is free for it where it is kept; undefined on a server, whose disk only the server sees. */
  readonly free: number | undefined;
  /** How large all of that is; 0 for a store in memory, and on a server. */
  readonly whole: number;
}

export type Attempted<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown };

/** The rooms of the store, in the order in which an entry of the service passes through them. */
export interface Transaction {
  // What is watched, and what was read of it.
  readonly inventory: InventoryStore;
  readonly streams: StreamStore;
  readonly events: EventStore;
  readonly flights: FlightStore;
  readonly audits: AuditStore;
  readonly birds: BirdStore;
  // What is wrong, and who is to hear of it.
  readonly overdue: OverdueStore;
  readonly alerts: AlertStore;
  readonly groups: GroupStore;
  readonly silences: SilenceStore;
  readonly suppressions: SuppressionStore;
  readonly digests: DigestStore;
  // What is on its way.
  readonly forwards: ForwardStore;
  readonly receivers: ReceiverStore;
  readonly outbox: OutboxStore;
  // The store itself, who does what, and who changed what.
  readonly ownership: OwnershipStore;
  readonly faults: FaultStore;
  readonly troubles: TroublesStore;
  readonly writes: WriteStore;
  readonly upkeep: UpkeepStore;

  /**
   * Does a part of the work that may fail by itself: then nothing of the part remains, and what the transaction did
   * before and does after it counts. Rejects only when the store itself fails.
   */
  attempt<T>(part: () => Promise<T>): Promise<Attempted<T>>;
  /** Lets the process turn to other things in a long transaction, which goes on where it was. */
  pause(): Promise<void>;
}
