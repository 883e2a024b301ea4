/** The room of what the store needs as a whole: retention, a clock that was set back, and keys of our own. */

/** What a check of a whole store found. */
export interface StoreReport {
  /** Where the store is. */
  readonly path: string;
  readonly bytes: number;
  /** The version of its tables. */
  readonly schema: number;
  readonly events: number;
  /** Alerts that fire. */
  readonly firing: number;
  /** Deliveries that are not settled. */
  readonly pending: number;
  /** What is damaged; empty for nothing. */
  readonly damages: readonly string[];
}

/** Damages that are listed at the most. */
export const LISTED_DAMAGES = 20;

export interface UpkeepStore {
  /** A key for signatures of our own: `fresh` at the first call with this name, the same ever after. */
  signingKey(name: string, fresh: string): Promise<string>;
  /** The latest instant of our clock that was written with an event or a delivery; 0 for none. */
  newestInstantUs(): Promise<number>;
  /**
   * Moves what alerts, groups and unsettled deliveries wait for after `nowUs` so much earlier; later by what is less than
   * 0. Calls `pause` between
   * steps, of which many alerts need many.
   */
  rollBackClock(byUs: number, nowUs: number, pause: () => Promise<void>): Promise<void>;
  /**
   * Deletes up to `limit` records of what is past the retention: events, ended Flights, settled deliveries with their
   * notifications, links, quarantined entries, expired silences, suppressions, ended episodes; never what is open,
   * firing or unsent. Then Birds and Nests that were gone by then, with their audits, members and Flights, open ones
   * too; not while there are events of the Bird. Returns how many went.
   * Of each stream it is remembered how far that went, as its `prunedUs`.
   */
  prune(beforeUs: number, limit: number): Promise<number>;
}
