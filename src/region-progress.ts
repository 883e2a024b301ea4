/** How the watch of a region goes: what health, page, API and the other replicas know of it. */
import type { Feed } from './domain/alert/event.ts';

/** Whether a region answers. */
export interface RegionHealth {
  readonly health: 'up' | 'down' | 'unauthorized';
  /** One sentence for people: what the last outcome was. */
  readonly reason: string;
  /** When this state began, on the wall clock. */
  readonly sinceUs: number;
}

export interface RegionProgress {
  readonly region: string;
  readonly health: RegionHealth;
  readonly requestsPerSecond: number;
  /** Watched Nests. */
  readonly nests: number;
  readonly birds: number;
  /** True once the inventory was read since the start. */
  readonly started: boolean;
  /** Why it cannot be read although the region answers; `address` is the service's. Absent if there is no such reason. */
  readonly unlisted?: (Unlisted & { readonly address: string }) | undefined;
  /** How late the audits are; 0 if they keep their interval. */
  readonly auditsBehindMs: number;
  readonly feeds: readonly FeedProgress[];
  /** How recently the streams of each feed, and the inventory, were read. */
  readonly reads: readonly FeedReads[];
}

/** What the region's health is judged by. */
export interface RegionSnapshot extends RegionProgress {
  /** Nests that the configuration excludes. */
  readonly excludedNests: number;
  /** The patterns of `nests.include`. */
  readonly include: readonly string[];
  /** By how much the service's clock is ahead of the clock that dates everything here. */
  readonly clockAheadUs: number;
  /** When this process, or the replica that shows it, began to read the region; 0 if none has. */
  readonly beganUs: number;
  /** The progress of the first reading of all streams since the start; undefined when it is done. */
  readonly firstPass: FirstPass | undefined;
  /** Feeds with streams that are polled. */
  readonly proofs: readonly Pick<FeedProgress, 'feed' | 'verifiedUntilUs'>[];
}

export interface FeedProgress {
  readonly feed: Feed;
  readonly streams: number;
  /** How many of them are being polled. Flights of an unpublished Bird with none active are not. */
  readonly polled: number;
  /** The oldest cursor among its streams; 0 if none has a cursor. */
  readonly cursorUs: number;
  /** When a poll of the feed last succeeded; 0 for never. */
  readonly lastSuccessUs: number;
  /** Up to when the feed is known to be complete; 0 if not known yet. */
  readonly verifiedUntilUs: number;
  readonly openFlights: number;
}

export interface FeedReads {
  readonly feed: Feed | 'inventory';
  /** The number of streams being polled. */
  readonly streams: number;
  /** How many of them are not read often enough. */
  readonly overdue: number;
  /** When the stream that has waited longest was read; 0 for never, or if there are no streams. */
  readonly oldestReadUs: number;
}

export interface FirstPass {
  readonly streams: number;
  /** How many of them were read. */
  readonly read: number;
}

/** The last reading of a region's Nests and Birds since the start. */
export interface InventoryRead {
  /** When it began. */
  readonly atUs: number;
  /** Ids of the Nests whose Birds it could not all list; an empty one if it could not list all Nests. */
  readonly unread: readonly string[];
}

/** Why a region's Nests and Birds cannot be listed, although it answers. */
export interface Unlisted {
  /** What failed last: the list of Nests, or the lists of their Birds. */
  readonly what: 'Nests' | 'Birds';
  /** The error, in a sentence. */
  readonly said: string;
  readonly sinceUs: number;
  /** Whether nothing else of the region can be read either. */
  readonly isAll: boolean;
}
