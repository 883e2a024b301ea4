import type { RegionSnapshot } from '../region-progress.ts';
import type { StoreRefusal } from './snapshot.ts';

interface Watch {
  regions(): readonly Pick<RegionSnapshot, 'region' | 'started' | 'health'>[];
  /** Why the store accepts nothing; undefined while it works. */
  storeRefusal(): StoreRefusal | undefined;
}

export interface Readiness {
  readonly healthy: true;
  readonly working: boolean;
  readonly ready: boolean;
  /** Why it is not ready, one sentence each. */
  readonly reasons: readonly string[];
}

const REFUSALS = {
  full: 'The store has no space left to grow: nothing new can be kept or sent.',
  away: 'The store does not answer or refuses access: nothing new can be kept or sent.',
  fails: 'The store fails: nothing new can be kept or sent.',
} as const;

/**
 * Judges whether the daemon is ready: once every region was read or is known to be in trouble, since one region's
 * trouble is an alert. From then on it stays ready as long as the store answers. A region that is added later, or moves
 * here from another replica, takes no page away from people.
 */
export function createReadiness({ regions, storeRefusal }: Watch): () => Readiness {
  let hasBegun = false;
  return () => {
    const refusal = storeRefusal();
    const waiting = regions().filter(({ started, health }) => !started && health.health === 'up');
    hasBegun ||= waiting.length === 0;
    const unread = hasBegun ? [] : waiting.map(({ region }) => `Region ${region} has not been read yet.`);
    const reasons = refusal ? [REFUSALS[refusal.why], ...unread] : unread;
    return { healthy: true, working: !refusal, ready: reasons.length === 0, reasons };
  };
}
