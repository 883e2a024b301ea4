/** Maintains the store as a whole: retention, a clock that was set, and our own keys. */

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

/** The most damages that are listed. */
export const LISTED_DAMAGES = 20;

export interface UpkeepStore {
  /** A key for our own signatures: `fresh` at the first call with this name, the same ever after. */
  signingKey(name: string, fresh: string): Promise<string>;
  /** The latest instant of our clock that was written with an event or a delivery; 0 for none. */
  newestInstantUs(): Promise<number>;
  /**
   * Moves instants after `nowUs` that alerts, groups and unsettled deliveries wait for `byUs` earlier, or later if it
   * is negative. Calls `pause` between steps; many alerts need many.
   */
  rollBackClock(byUs: number, nowUs: number, pause: () => Promise<void>): Promise<void>;
  /**
   * Deletes up to `limit` records that are past the retention: events, ended Flights, settled deliveries with their
   * notifications, links, quarantined entries, expired silences, suppressions, ended episodes; never what is open,
   * firing or unsent. Then Birds and Nests that were gone by `beforeUs`, with their audits, members and Flights,
   * including open ones, but not while the Bird still has events. Returns how many were deleted. Each stream
   * remembers how far this went as its `prunedUs`.
   */
  prune(beforeUs: number, limit: number): Promise<number>;
}
