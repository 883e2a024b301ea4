/**
 * Stores streams: how far each has been read, and its entries that could not be parsed. A stream is one feed of one
 * entity: of the region (notifications, `birdId` empty) or of one Bird. It is never deleted.
 *
 * The events of `inventory` and `action` have no entries, and no cursor. Those of a Nest have a stream too, with `nest/ID` in place
 * of a Bird's id.
 */
import type { EventFeed, Feed } from '../domain/alert/event.ts';

export interface StreamRecord<Of extends EventFeed = EventFeed> {
  /** A small number, never reused. */
  readonly stream: number;
  readonly region: string;
  /** Our own feeds have no entries, but events; `inventory` also malformed Nests and Birds that were set aside. */
  readonly feed: Of;
  readonly birdId: string;
  /** Newest committed `createdAt` (Flights: `startDate`); 0 before the first. */
  readonly cursorUs: number;
  /** Newest `createdAt` (Flights: `startDate`) that retention has deleted, at most the cursor; 0 for none. */
  readonly prunedUs: number;
}

/** A feed of a region, or its inventory, and an instant by which all of its streams had been read. */
export interface FeedRead {
  readonly feed: Feed | 'inventory';
  readonly readUs: number;
}

/** A time span of which a stream was read back, from its beginning. */
export interface BackfilledSpan {
  readonly fromUs: number;
  readonly untilUs: number;
}

/** Entries of a feed that were set aside as malformed. */
export interface QuarantinedFeed {
  readonly region: string;
  readonly feed: Feed | 'inventory';
  readonly count: number;
  /** When the first of them was set aside. */
  readonly sinceUs: number;
}

/** An entry that does not have the shape the service promises. */
export interface QuarantinedEntry {
  /** The entry as received, as JSON, cut to a limit. */
  readonly raw: string;
  /** What is wrong with it. */
  readonly reason: string;
}

export interface StreamStore {
  list(region: string): Promise<StreamRecord[]>;
  /** How many events each stream of the region has that occurred at this instant or later. */
  countEvents(region: string, sinceUs: number): Promise<(StreamRecord & { readonly events: number })[]>;
  /** Finds or creates the stream. */
  open<Of extends EventFeed>(region: string, feed: Of, birdId: string): Promise<StreamRecord<Of>>;
  /** Moves the cursor forward; a smaller value changes nothing. */
  advanceCursor(stream: number, cursorUs: number): Promise<void>;
  /**
   * Moves back a cursor later than `latestUs`, which followed a clock that was ahead: to the newest kept entry that
   * is not later, or to where retention has deleted; 0 for neither. Any other cursor stays.
   */
  retreatCursor(stream: number, latestUs: number): Promise<void>;
  /** Keeps for the next start when the streams of these feeds were last read. */
  putReads(region: string, reads: readonly FeedRead[]): Promise<void>;
  /** What `putReads` kept; feeds that were never kept are absent. */
  reads(region: string): Promise<FeedRead[]>;
  /** Keeps how far a backfill of the stream has come. */
  putBackfilled(stream: number, span: BackfilledSpan): Promise<void>;
  /** What `putBackfilled` kept last. */
  backfilled(stream: number): Promise<BackfilledSpan | undefined>;
  /**
   * Keeps malformed entries; returns how many were new (by raw text within a stream). For each stream only the newest
   * are remembered, and the text is kept of even fewer.
   */
  quarantine(stream: number, entries: readonly QuarantinedEntry[], nowUs: number): Promise<number>;
}
