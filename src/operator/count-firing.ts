import type { Muting } from '../domain/muting/muting.ts';
import type { Transaction } from '../store/store.ts';

export interface FiringCounts {
  readonly firing: number;
  /** Those that nobody has acknowledged or silenced, and no other alert explains. */
  readonly unacknowledged: number;
}

/** Alerts looked at one by one; of more, those beyond count as unacknowledged. */
const LOOKED_AT = 500;

/** Alerts looked at in a row. */
const PAUSE_AFTER = 20;

/** How many alerts fire, and how many of them wait for a person. */
export async function countFiring(tx: Transaction, muting: Muting): Promise<FiringCounts> {
  const firing = (await tx.alerts.count())
    .filter(({ state }) => state === 'firing')
    .reduce((sum, { count }) => sum + count, 0);
  if (firing === 0) return { firing, unacknowledged: 0 };
  let known = 0;
  for (const [index, alert] of (await tx.alerts.list({ state: 'firing', limit: LOOKED_AT })).entries()) {
    const { silencedBy, inhibitedBy } = muting.of(alert);
    if (silencedBy.length + inhibitedBy.length > 0) known += 1;
    if (index % PAUSE_AFTER === PAUSE_AFTER - 1) await tx.pause();
  }
  return { firing, unacknowledged: Math.max(0, firing - known) };
}
