import { type HealthSnapshot, NOTHING_KEPT, type ReplicaSnapshot } from '../../src/health/judge-health.ts';
import type { RegionSnapshot } from '../../src/region-progress.ts';
import { TEST_START_US } from '../virtual-clock.ts';

export const NOW_US = TEST_START_US;
export const MINUTE_US = 60e6;
const GIB = 1024 ** 3;

/** A region without any trouble. */
export function aRegion(change: Partial<RegionSnapshot> = {}): RegionSnapshot {
  return {
    region: 'eu',
    health: { health: 'up', reason: 'answered', sinceUs: NOW_US - 600 * MINUTE_US },
    ...{ started: true, requestsPerSecond: 5, auditsBehindMs: 0, feeds: [] },
    nests: 3,
    excludedNests: 9,
    birds: 12,
    include: ['Prod*'],
    clockAheadUs: 2e6,
    beganUs: NOW_US - 600 * MINUTE_US,
    firstPass: undefined,
    reads: [
      { feed: 'inventory', streams: 1, overdue: 0, oldestReadUs: NOW_US - 4 * MINUTE_US },
      { feed: 'notification', streams: 1, overdue: 0, oldestReadUs: NOW_US - MINUTE_US },
      { feed: 'bird_log', streams: 12, overdue: 0, oldestReadUs: NOW_US - 2 * MINUTE_US },
      { feed: 'flight', streams: 12, overdue: 0, oldestReadUs: NOW_US - 2 * MINUTE_US },
    ],
    proofs: [
      { feed: 'notification', verifiedUntilUs: NOW_US - 12 * MINUTE_US },
      { feed: 'flight', verifiedUntilUs: NOW_US - 2 * MINUTE_US },
    ],
    ...change,
  };
}

/** A replica without any trouble. */
export function aReplica(change: Partial<ReplicaSnapshot> = {}): ReplicaSnapshot {
  const config = { digest: 'c1', sinceUs: NOW_US - 600 * MINUTE_US };
  return { name: 'host-a', version: '1', refused: undefined, config, ...change };
}

/** A watch that nothing impairs. */
export function aWell(change: Partial<HealthSnapshot> = {}): HealthSnapshot {
  return {
    nowUs: NOW_US,
    regions: [aRegion()],
    proofMs: 3_600_000,
    route: { isAnybodyNotified: true, isForwarded: false, routes: [] },
    store: { space: { used: GIB, free: 20 * GIB, whole: 100 * GIB }, refusal: undefined },
    refusedConfig: undefined,
    replicas: [],
    kept: NOTHING_KEPT,
    ...change,
  };
}
