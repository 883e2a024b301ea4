import type { Muting } from '../domain/muting/muting.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/pause-after.ts';

export interface FiringCounts {
  readonly firing: number;
  /** Alerts that nobody has acknowledged or silenced, and that no other alert inhibits. */
  readonly unacknowledged: number;
}

/** Alerts per read: the most that a page of the store holds. */
const STEP = 1_000;

/**
 * Counts the firing alerts and those that wait for a person. Whether any alert waits is always exact. As soon as one
 * in a page of a thousand does, the alerts after that page are not examined and count as waiting.
 */
export async function countFiring(tx: Transaction, muting: Muting, nowUs: number): Promise<FiringCounts> {
  const firing = (await tx.alerts.count())
    .filter(({ state }) => state === 'firing')
    .reduce((sum, { count }) => sum + count, 0);
  if (firing === 0) return { firing, unacknowledged: 0 };
  const query = { state: 'firing', isAcknowledged: false, order: 'newest', nowUs, limit: STEP } as const;
  const pauseAfter = pausing(tx);
  let [looked, hidden] = [0, 0];
  for (let cursor: string | undefined; ; ) {
    const { alerts, next } = await tx.alerts.page({ ...query, cursor });
    const hiddenBefore = hidden;
    for (const alert of alerts) {
      const { silencedBy, inhibitedBy } = await muting.of(alert, pauseAfter);
      if (silencedBy.length + inhibitedBy.length > 0) hidden += 1;
    }
    looked += alerts.length;
    if (next === undefined) return { firing, unacknowledged: looked - hidden };
    const isAnyWaiting = hidden - hiddenBefore < alerts.length;
    if (isAnyWaiting) {
      const acknowledged = (await tx.silences.list(nowUs)).filter(({ alertId }) => alertId !== null).length;
      return { firing, unacknowledged: Math.max(1, firing - acknowledged - hidden) };
    }
    cursor = next;
  }
}
