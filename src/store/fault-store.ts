/**
 * Stores faults: what was set aside because it failed, and when it is tried again. Faults survive a restart. Also
 * reads troubles: everything known to the store that is wrong, for judging the watch.
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
   * Records faults and returns those that are new. Faults with an `againUs` last until `mend`. Others (except rows)
   * last until they were not recorded for an hour.
   */
  note(faults: readonly Fault[], nowUs: number, againUs?: number): Promise<Fault[]>;
  /** Ends these faults: what failed works again. */
  mend(sort: FaultSort, names: readonly string[]): Promise<void>;
  /** The names set aside now; with `againByUs`, without those that are tried again only later. */
  names(sort: FaultSort, againByUs?: number): Promise<string[]>;
  /**
   * Called at each start: what waits to be tried again is due at once, and faults that are evaluated anyway are
   * forgotten.
   */
  begin(nowUs: number): Promise<void>;
  /** Latest first. */
  list(nowUs: number, limit: number): Promise<FaultRecord[]>;
  count(nowUs: number): Promise<{ sort: FaultSort; count: number }[]>;
}

export interface Troubles {
  /** Integrations that accept nothing now. */
  readonly failing: readonly FailingIntegration[];
  /** Receivers that accepted a delivery that is still kept. */
  readonly delivered: readonly string[];
  /** Deliveries given up after `deadAfterUs`, for each receiver that has any. */
  readonly dead: readonly { readonly receiver: string; readonly count: number }[];
  /** Malformed entries first met at or after `quarantinedFromUs`, as far as they are still known. */
  readonly quarantined: readonly QuarantinedFeed[];
  /** The number of faults, and the latest one. */
  readonly faults: { readonly count: number; readonly latest: FaultRecord | undefined };
}

export interface TroublesStore {
  /** Reads everything as of `nowUs`; on a server with a single statement. */
  read(span: {
    readonly deadAfterUs: number;
    readonly quarantinedFromUs: number;
    readonly nowUs: number;
  }): Promise<Troubles>;
}
