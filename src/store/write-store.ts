/** Stores writes: who requested which change over HTTP. Records are added and never changed; only age removes them. */
import type { WriteRecord } from '../report.ts';

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
