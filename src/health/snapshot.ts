/** What is known of the watch at one moment: all that the health answer is made from. */
import type { Feed } from '../domain/alert/event.ts';
import type { FailingIntegration } from '../store/outbox-store.ts';
import type { StoreSpace } from '../store/store.ts';
import type { QuarantinedFeed } from '../store/stream-store.ts';

export interface HealthSnapshot {
  readonly nowUs: number;
  readonly regions: readonly RegionSnapshot[];
  /** A feed should be proven to be complete up to so long ago. */
  readonly proofMs: number;
  readonly route: DeadEnds;
  readonly store: StoreSnapshot;
  /** Why the configuration that is in the file is not in force; undefined where it is. */
  readonly refusedConfig: RefusedConfig | undefined;
  /** Those that share the store, this one among them; none where a process has it to itself. */
  readonly replicas: readonly ReplicaSnapshot[];
  /** What the store knows; of the last time that it answered. */
  readonly kept: KeptSnapshot;
}

export interface RegionSnapshot {
  readonly region: string;
  readonly health: {
    readonly health: 'up' | 'down' | 'unauthorized';
    readonly reason: string;
    readonly sinceUs: number;
  };
  /** The inventory was read in this life. */
  readonly started: boolean;
  /** Watched ones. */
  readonly nests: number;
  /** Those that the configuration leaves out. */
  readonly excludedNests: number;
  readonly birds: number;
  /** Globs of the Nests that are watched. */
  readonly include: readonly string[];
  /** By how much the service's clock is ahead of that by which everything is dated here. */
  readonly clockAheadUs: number;
  /** When this life of the process began to read it. */
  readonly beganUs: number;
  /** Why its Nests and Birds could not be listed in this life, although it answers; absent where they were. */
  readonly unlisted?:
    | { readonly what: 'Nests' | 'Birds'; readonly said: string; readonly address: string }
    | undefined;
  /** As long as the first reading of all streams in this life is under way. */
  readonly firstPass: { readonly streams: number; readonly read: number } | undefined;
  readonly reads: readonly {
    readonly feed: Feed | 'inventory';
    readonly streams: number;
    readonly overdue: number;
    /** 0 for never. */
    readonly oldestReadUs: number;
  }[];
  /** Feeds of which something is polled. */
  readonly proofs: readonly { readonly feed: Feed; readonly verifiedUntilUs: number }[];
}

export interface DeadEnds {
  /** Whether any route leads to somebody. */
  readonly isAnybodyNotified: boolean;
  /** Whether events go to somebody, who may have no use for alerts. */
  readonly isForwarded: boolean;
  readonly routes: readonly { readonly path: string; readonly receiver: string }[];
}

export interface StoreSnapshot {
  readonly space: StoreSpace | undefined;
  /** Why it takes nothing, and since when; undefined while it does. */
  readonly refusal: StoreRefusal | undefined;
}

export interface StoreRefusal {
  /** `away`: it is on a server that does not answer. */
  readonly why: 'full' | 'away' | 'fails';
  readonly message: string;
  readonly sinceUs: number;
}

export interface RefusedConfig {
  readonly mistakes: number;
  /** The first of them, with its place. */
  readonly first: string;
  readonly sinceUs: number;
}

export interface ReplicaSnapshot {
  /** For people: mostly the name of its host; differs from that of all others that are there. */
  readonly name: string;
  /** Why the configuration that is in its file is not in force there; undefined where it is. */
  readonly refused: RefusedConfig | undefined;
  readonly version: string;
  /** By which configuration it goes, by a digest that is empty where it is not known, and since when. */
  readonly config: { readonly digest: string; readonly sinceUs: number };
}

export interface KeptSnapshot {
  /** Those that are configured. */
  readonly failing: readonly FailingIntegration[];
  /** Whether receivers of alerts were tried, and none of them works. */
  readonly isNobodyReached: boolean;
  /** Deliveries of the last days that were given up. */
  readonly dead: readonly { readonly receiver: string; readonly count: number }[];
  /** Of the last hour. */
  readonly quarantined: readonly QuarantinedFeed[];
  readonly faults: { readonly count: number; readonly first: string; readonly sinceUs: number };
}
