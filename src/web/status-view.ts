import type { RegionProgress } from '../region-progress.ts';

/** What the page and the API show besides the store: the status of the watch itself. */
export interface StatusView {
  readonly version: string;
  readonly startedAtUs: number;
  readonly configuration: ConfigurationView;
  readonly regions: readonly RegionProgress[];
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

/**
 * `starting` until the region was read once, unless it is known to be in trouble; `unlisted` if it answers, but not
 * with its Nests and Birds.
 */
export type RegionState = 'starting' | 'unlisted' | RegionProgress['health']['health'];

export function stateOf({ health, started, unlisted }: RegionProgress): RegionState {
  if (health.health !== 'up' || started) return health.health;
  return unlisted ? 'unlisted' : 'starting';
}

/** Why the region is in that state, in a sentence by the service or by nestwatch. */
export function reasonOf({ health, unlisted }: RegionProgress): string {
  return (health.health === 'up' && unlisted?.said) || health.reason;
}
