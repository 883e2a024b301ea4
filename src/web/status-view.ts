import type { Feed } from '../domain/alert/event.ts';

/** What the page and the API show besides the store: the status of the watch itself. */
export interface StatusView {
  readonly version: string;
  readonly startedAtUs: number;
  readonly configuration: ConfigurationView;
  readonly regions: readonly RegionView[];
  /** The number of this process among the replicas; undefined if it has its store to itself. */
  readonly replica?: number | undefined;
}

/** Which configuration is in force. */
export interface ConfigurationView {
  /** When it was read. */
  readonly readAtUs: number;
  /** When the last reload was tried; 0 for never. */
  readonly triedAtUs: number;
  /** Why that was refused, so that an older configuration is in force; empty if it was not. */
  readonly mistakes: readonly string[];
  /** Keys whose new values take effect only after a restart. */
  readonly needsRestart: readonly string[];
}

export interface RegionView {
  readonly region: string;
  readonly health: {
    readonly health: 'up' | 'down' | 'unauthorized';
    /** The last answer, as a sentence for people. */
    readonly reason: string;
    readonly sinceUs: number;
  };
  /** False until its Nests and Birds were read for the first time since the start. */
  readonly started: boolean;
  /** Why they were not read although the region answers. */
  readonly unlisted?: { readonly said: string } | undefined;
  readonly requestsPerSecond: number;
  readonly nests: number;
  readonly birds: number;
  /** How late the audits are; 0 if they keep their interval. */
  readonly auditsBehindMs: number;
  readonly feeds: readonly FeedView[];
  /** How recently the streams of each feed, and the inventory, were read. */
  readonly reads: readonly ReadsView[];
}

export interface ReadsView {
  readonly feed: Feed | 'inventory';
  /** The number of streams being polled. */
  readonly streams: number;
  /** How many of them are not read often enough. */
  readonly overdue: number;
  /** When the stream that has waited longest was read; 0 for never. */
  readonly oldestReadUs: number;
}

interface FeedView {
  readonly feed: Feed;
  readonly streams: number;
  /** The oldest cursor among its streams; 0 for none. */
  readonly cursorUs: number;
  /** When a poll of the feed last succeeded; 0 for never. */
  readonly lastSuccessUs: number;
  readonly openFlights: number;
  /** Up to here completeness is proven; 0 if not known yet. */
  readonly verifiedUntilUs: number;
}

/**
 * `starting` until the region was read once, unless it is known to be in trouble; `unlisted` if it answers, but not
 * with its Nests and Birds.
 */
export type RegionState = 'starting' | 'unlisted' | RegionView['health']['health'];

export function stateOf({ health, started, unlisted }: RegionView): RegionState {
  if (health.health !== 'up' || started) return health.health;
  return unlisted ? 'unlisted' : 'starting';
}

/** Why the region is in that state, in a sentence by the service or by nestwatch. */
export function reasonOf({ health, unlisted }: RegionView): string {
  return (health.health === 'up' && unlisted?.said) || health.reason;
}
