/** Tells alerting of a region's health: each change once, and again until the store has taken it. */
import type { RegionHealth, ServiceClient } from '../service/client.ts';
import type { Commit } from './commit.ts';

export interface HealthWatchOptions {
  readonly region: string;
  readonly client: Pick<ServiceClient, 'health'>;
  readonly commit: Commit;
}

/**
 * To be called when something may have changed, and now and then, since a full store may have refused to take it.
 * Commits nothing where alerting knows the health already. Throws what the store threw.
 */
export type HealthWatch = () => Promise<void>;

export function createHealthWatch({ region, client, commit }: HealthWatchOptions): HealthWatch {
  let told: RegionHealth['health'] | undefined;
  let isTelling = false;

  return async () => {
    // Whoever is at it looks again when it is done.
    if (isTelling) return;
    isTelling = true;
    try {
      for (let now = client.health(); now.health !== told; now = client.health()) {
        const { health, reason, sinceUs } = now;
        await commit({ region, facts: [{ fact: 'region_health', region, health, reason, sinceUs }] });
        told = health;
      }
    } finally {
      isTelling = false;
    }
  };
}
