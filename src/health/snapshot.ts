/** Defines the state of the watch at one moment, from which the health answer is made. */
import type { RegionSnapshot } from '../region-progress.ts';
import type { FailingIntegration } from '../store/outbox-store.ts';
import type { RefusedFile, ReplicaRecord } from '../store/ownership-store.ts';
import type { StoreSpace } from '../store/store.ts';
import type { QuarantinedFeed } from '../store/stream-store.ts';

export interface HealthSnapshot {
  readonly nowUs: number;
  readonly regions: readonly RegionSnapshot[];
  /** How recently every feed should have been proven complete. */
  readonly proofMs: number;
  readonly route: RouteSnapshot;
  readonly store: StoreSnapshot;
  /** Why the configuration file is not in force; undefined if it is. */
  readonly refusedConfig: RefusedFile | undefined;
  /** The secrets whose file cannot be read again, by key, and why; their last values stay in use. */
  readonly unreadSecrets?: ReadonlyMap<string, string> | undefined;
  /** The replicas that share the store, including this one; empty if this process has its own store. */
  readonly replicas: readonly ReplicaSnapshot[];
  /** What the store last said. */
  readonly kept: KeptSnapshot;
}

export interface RouteSnapshot {
  /** Whether any route leads to a receiver that notifies somebody. */
  readonly isAnybodyNotified: boolean;
  /** Whether events are forwarded somewhere. Such a setup may have no use for alerts. */
  readonly isForwarded: boolean;
  readonly routes: readonly { readonly path: string; readonly receiver: string }[];
}

export interface StoreSnapshot {
  readonly space: StoreSpace | undefined;
  /** Why the store accepts nothing, and since when; undefined while it works. */
  readonly refusal: StoreRefusal | undefined;
}

export interface StoreRefusal {
  /** `away`: the store's server does not answer, or another program has locked its file. */
  readonly why: 'full' | 'away' | 'fails';
  readonly message: string;
  readonly sinceUs: number;
}

export type ReplicaSnapshot = Pick<ReplicaRecord, 'name' | 'refused' | 'version' | 'config'>;

interface NamedFailure extends FailingIntegration {
  /** For people; without secrets. */
  readonly name: string;
  /** How many integrations its receiver has. */
  readonly among: number;
}

export interface KeptSnapshot {
  /** Configured integrations that have failed for two attempts and a second, or for ten seconds. */
  readonly failing: readonly NamedFailure[];
  /** Whether receivers of alerts were tried and none of them works. */
  readonly isNobodyReached: boolean;
  /** Deliveries of the last seven days that were given up. */
  readonly dead: readonly { readonly receiver: string; readonly count: number }[];
  /** Of the last hour. */
  readonly quarantined: readonly QuarantinedFeed[];
  readonly faults: { readonly count: number; readonly first: string; readonly sinceUs: number };
}
