/** The room of writes: who asked over HTTP for which change. What is here is added and never changed; age alone ends it. */
import type { WriteRecord } from '../report.ts';

export interface WriteStore {
  /** Keeps one; the oldest go where there are too many (`LIMITS.kept_writes`). */
  add(write: WriteRecord): Promise<void>;
  /** The newest first. */
  page(query: WriteQuery): Promise<{ readonly writes: readonly WriteRecord[]; readonly next?: string }>;
}

/** Each condition that is given must hold. */
export interface WriteQuery {
  /** A person's or a token's whole name. */
  readonly who?: string | undefined;
  /** Stands in what was asked for, in letters of any case. */
  readonly text?: string | undefined;
  readonly sinceUs?: number | undefined;
  /** Exclusive. */
  readonly untilUs?: number | undefined;
  /** Where the page before ended; what is none reads as the beginning. */
  readonly cursor?: string | undefined;
  readonly limit: number;
}
