/**
 * The room of faults: what was set aside because it failed, and when that is tried again. It survives a restart. And the
 * room of troubles: all that the store knows to go wrong, for whoever judges the watch again and again.
 */
import type { Fault, FaultSort } from '../domain/alert/fault.ts';
import type { FailingIntegration } from './outbox-store.ts';
import type { QuarantinedFeed } from './stream-store.ts';

export interface FaultRecord extends Fault {
  /** When it was first set aside. */
  readonly sinceUs: number;
}

export interface FaultStore {
  /**
   * Notes faults and returns those that are new. Those with an `againUs` last until they are mended; others, but for
   * rows, until they were not noted for an hour.
   */
  note(faults: readonly Fault[], nowUs: number, againUs?: number): Promise<Fault[]>;
  /** These work again. */
  mend(sort: FaultSort, names: readonly string[]): Promise<void>;
  /** Those that are set aside now, or that are to be tried again by then. */
  names(sort: FaultSort, againByUs?: number): Promise<string[]>;
  /** A life of the process begins: what waits to be tried again is tried at once, what is evaluated anyway forgotten. */
  begin(nowUs: number): Promise<void>;
  /**
   * Sets aside the rows whose content cannot be read, and repairs what depended on them. `what is in use` leaves out
   * what is kept for people alone, which may be millions of rows. A store does so when it is opened, and when something
   * fails that nobody foresaw.
   */
  checkRows(nowUs: number, which: 'all' | 'what is in use'): Promise<Fault[]>;
  /** Rows that the store itself has set aside since this was last asked. */
  news(): Promise<Fault[]>;
  /** The latest first. */
  list(nowUs: number, limit: number): Promise<FaultRecord[]>;
  count(nowUs: number): Promise<{ sort: FaultSort; count: number }[]>;
}

export interface Troubles {
  /** Integrations that accept nothing now. */
  readonly failing: readonly FailingIntegration[];
  /** Receivers that have accepted something that is still kept. */
  readonly delivered: readonly string[];
  /** Deliveries that were given up after `deadAfterUs`, of each receiver that has some. */
  readonly dead: readonly { readonly receiver: string; readonly count: number }[];
  /** Malformed entries that were first met at or after `quarantinedFromUs`, as far as they are still known. */
  readonly quarantined: readonly QuarantinedFeed[];
  /** How many faults there are, and the latest of them. */
  readonly faults: { readonly count: number; readonly latest: FaultRecord | undefined };
}

export interface TroublesStore {
  /** All of it, as it is at `nowUs`: where the store is on a server, by one statement. */
  read(span: {
    readonly deadAfterUs: number;
    readonly quarantinedFromUs: number;
    readonly nowUs: number;
  }): Promise<Troubles>;
}
