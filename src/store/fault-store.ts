/** The room of faults: what was set aside because it failed, and when that is tried again. It survives a restart. */
import type { Fault, FaultSort } from '../domain/alert/fault.ts';

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
