/**
 * THE PROMISE of the store, the only place where intake, alerting and delivery meet. All work is done in
 * transactions. What a transaction writes is durable when its promise resolves, and has not happened at all when it
 * rejects. Transactions take effect as if they ran one after another, those of one process in the order in which it
 * requested them. Those that wait at the same moment may share one durable commit, but each is still all-or-nothing on
 * its own. What a store keeps comes back exactly: every text, and every instant to the microsecond. Each repository of a
 * transaction (`tx.events`, `tx.alerts`, …) is made by a file of `sql/`. Every store passes `test/store/contract.ts`
 * unchanged.
 */

import type { StoreClock } from '../time/clock.ts';
import type { Repositories } from './sql/repositories.ts';

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
export type WakeUp = 'alerting' | 'delivery' | 'ownership' | `probe ${string}`;

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
  readonly renew: Repositories['ownership']['renew'];
  readonly shown: Repositories['ownership']['shown'];
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

/** The repositories of the store, and what a transaction can do besides. */
export interface Transaction extends Repositories {
  /**
   * Runs a part of the work that may fail by itself. If it fails, nothing of this part remains, but what the
   * transaction does before and after it does. Rejects only when the store itself fails.
   */
  attempt<T>(part: () => Promise<T>): Promise<Attempted<T>>;
  /** Lets the process do other things during a long transaction, which then continues. */
  pause(): Promise<void>;
}

/** The result of checking a whole store. */
export interface StoreReport {
  /** Where the store is. */
  readonly path: string;
  readonly bytes: number;
  /** The version of its tables. */
  readonly schema: number;
  readonly events: number;
  /** Firing alerts. */
  readonly firing: number;
  /** Deliveries that are not settled. */
  readonly pending: number;
  /** What is damaged; empty for nothing. */
  readonly damages: readonly string[];
}

/** A check of a store looks for no more damages than this. */
export const LISTED_DAMAGES = 20;
