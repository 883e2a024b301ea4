import type { Feed } from '../domain/alert/event.ts';

/** What the page and the API show beside the store: how the watch itself stands. */
export interface StatusView {
  readonly version: string;
  readonly startedAtUs: number;
  readonly configuration: ConfigurationView;
  readonly regions: readonly RegionView[];
  /** The number of this process among those that share its store; undefined where it has that to itself. */
  readonly replica?: number | undefined;
}

/** Which configuration is in force. */
export interface ConfigurationView {
  /** When it was read. */
  readonly readAtUs: number;
  /** When it was last tried to read it again; 0 for never. */
  readonly triedAtUs: number;
  /** Why it was refused then, so that an older one is in force; empty where it was not. */
  readonly mistakes: readonly string[];
  /** Keys that changed and change nothing before a restart. */
  readonly needsRestart: readonly string[];
}

export interface RegionView {
  readonly region: string;
  readonly health: {
    readonly health: 'up' | 'down' | 'unauthorized';
    /** One sentence for people: what was answered last. */
    readonly reason: string;
    readonly sinceUs: number;
  };
  /** False until its Nests and Birds were read for the first time in this life. */
  readonly started: boolean;
  /** Why it is not, although it answers. */
  readonly unlisted?: { readonly said: string } | undefined;
  readonly requestsPerSecond: number;
  readonly nests: number;
  readonly birds: number;
  /** How late the audits are; 0 while they keep their interval. */
  readonly auditsBehindMs: number;
  readonly feeds: readonly FeedView[];
  /** Of each feed and the inventory, how long ago their streams were read. */
  readonly reads: readonly ReadsView[];
}

export interface ReadsView {
  readonly feed: Feed | 'inventory';
  /** Streams that are polled now. */
  readonly streams: number;
  /** Those of them that are not read often enough. */
  readonly overdue: number;
  /** When the one was read that was read longest ago; 0 for never. */
  readonly oldestReadUs: number;
}

export interface FeedView {
  readonly feed: Feed;
  readonly streams: number;
  /** The oldest cursor of its streams; 0 for none. */
  readonly cursorUs: number;
  /** When a poll of the feed last succeeded; 0 for never. */
  readonly lastSuccessUs: number;
  readonly openFlights: number;
  /** Up to here completeness is proven; 0 before that is known. */
  readonly verifiedUntilUs: number;
}

/**
 * `starting` until the region was read once, unless it is known to be in trouble; `unlisted` where it answers, but not
 * with its Nests and Birds.
 */
export type RegionState = 'starting' | 'unlisted' | RegionView['health']['health'];

export function stateOf({ health, started, unlisted }: RegionView): RegionState {
  if (health.health !== 'up' || started) return health.health;
  return unlisted ? 'unlisted' : 'starting';
}

/** Why the region is in that state, in one sentence of the service's or of nestwatch's. */
export function reasonOf({ health, unlisted }: RegionView): string {
  return (health.health === 'up' && unlisted?.said) || health.reason;
}
