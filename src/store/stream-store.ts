/**
 * The room of streams: how far each has been read, and the entries of it that could not be understood. A stream is one
 * feed of one entity: of the region (notifications, `birdId` empty) or of one Bird. It is never deleted.
 */
import type { Feed } from '../domain/alert/event.ts';

export interface StreamRecord {
  /** Small, never reused. */
  readonly stream: number;
  readonly region: string;
  /** `inventory`: no entries, but malformed Nests and Birds that were set aside. */
  readonly feed: Feed | 'inventory';
  readonly birdId: string;
  /** Newest `createdAt` (flights: `startDate`) committed; 0 before the first. */
  readonly cursorUs: number;
  /** Newest `createdAt` (flights: `startDate`) that retention has deleted, at most the cursor; 0 for none. */
  readonly prunedUs: number;
}

/** A feed of a region, or its inventory, and an instant up to which all of its streams were read. */
export interface FeedRead {
  readonly feed: Feed | 'inventory';
  readonly readUs: number;
}

/** A stretch of time of which a stream was read back, from its beginning on. */
export interface BackfilledSpan {
  readonly fromUs: number;
  readonly untilUs: number;
}

/** Entries of a feed that were set aside as malformed. */
export interface QuarantinedFeed {
  readonly region: string;
  readonly feed: Feed | 'inventory';
  readonly count: number;
  /** When the first of them was. */
  readonly sinceUs: number;
}

/** An entry that is not of the shape that the service promises. */
export interface QuarantinedEntry {
  /** The entry as it came, JSON, capped. */
  readonly raw: string;
  /** What is wrong with it. */
  readonly reason: string;
}

export interface StreamStore {
  list(region: string): Promise<StreamRecord[]>;
  /** How many events each stream of the region has that occurred at this instant or later. */
  countEvents(region: string, sinceUs: number): Promise<(StreamRecord & { readonly events: number })[]>;
  /** Finds or creates the stream. */
  open(region: string, feed: Feed | 'inventory', birdId: string): Promise<StreamRecord>;
  /** Moves the cursor forward; a smaller value changes nothing. */
  advanceCursor(stream: number, cursorUs: number): Promise<void>;
  /**
   * Moves a cursor that is later than `latestUs`, since it followed a clock that was ahead, back to the newest entry that
   * is kept and not later, or to where retention has deleted; 0 for neither. Any other cursor stays.
   */
  retreatCursor(stream: number, latestUs: number): Promise<void>;
  /** Keeps for a later life when the streams of these feeds were last read. */
  putReads(region: string, reads: readonly FeedRead[]): Promise<void>;
  /** What was kept so; a feed that was never kept has none. */
  reads(region: string): Promise<FeedRead[]>;
  /** Keeps how far a backfill of the stream has come. */
  putBackfilled(stream: number, span: BackfilledSpan): Promise<void>;
  /** What was kept so last. */
  backfilled(stream: number): Promise<BackfilledSpan | undefined>;
  /**
   * Keeps malformed entries; returns how many were not known before (the same raw text of the same stream). Of each
   * stream the newest are known again, and of fewer the text is kept.
   */
  quarantine(stream: number, entries: readonly QuarantinedEntry[], nowUs: number): Promise<number>;
}
