/** Reads alerts for people, each with its latest event and what mutes it. */
import type { Alert } from '../domain/alert/alert.ts';
import type { Event } from '../domain/alert/event.ts';
import type { Muting } from '../domain/muting/muting.ts';
import type { Silence } from '../domain/muting/silence.ts';
import type { AlertQuery } from '../store/alert-store.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/pause-after.ts';

export interface ShownAlert {
  readonly alert: Alert;
  /** The last event of its current episode. */
  readonly lastEvent: Event | undefined;
  /** The silences that mute it now. */
  readonly silencedBy: readonly Silence[];
  /** Whether another alert inhibits it. */
  readonly isInhibited: boolean;
}

/** The most alerts examined for one page when filtering by `isSilenced`. */
const MAX_LOOKED_AT = 2_000;
/** Alerts per read. */
const STEP = 100;

/**
 * Reads a page of alerts. `isSilenced` selects those that a silence (not an acknowledgement) mutes, or those that
 * none does. Since each alert must be examined for that, such a page may hold fewer than `limit` alerts, or none, and
 * still have a `next`.
 */
export async function readAlerts(
  tx: Transaction,
  muting: Muting,
  query: AlertQuery,
  isSilenced?: boolean,
): Promise<{ readonly alerts: ShownAlert[]; readonly next: string | undefined }> {
  if (isSilenced === undefined) {
    const { alerts, next } = await tx.alerts.page(query);
    return { alerts: await showAlerts(tx, muting, alerts), next };
  }
  const found: ShownAlert[] = [];
  let cursor = query.cursor;
  for (let looked = 0; looked < MAX_LOOKED_AT; looked += STEP) {
    const room = Math.min(STEP, query.limit - found.length);
    const { alerts, next } = await tx.alerts.page({ ...query, limit: room, cursor });
    const shown = await showAlerts(tx, muting, alerts);
    found.push(
      ...shown.filter((one) => one.silencedBy.some(({ alertId }) => alertId === null) === isSilenced),
    );
    cursor = next;
    if (next === undefined || found.length === query.limit) break;
    await tx.pause();
  }
  return { alerts: found, next: cursor };
}

export async function showAlerts(
  tx: Transaction,
  muting: Muting,
  alerts: readonly Alert[],
): Promise<ShownAlert[]> {
  const shown: ShownAlert[] = [];
  const pauseAfter = pausing(tx);
  for (const alert of alerts) {
    const [last] = await tx.alerts.events(alert.id, 0, 1, alert.lastSeq);
    const { silencedBy, inhibitedBy } = await muting.of(alert, pauseAfter);
    shown.push({
      alert,
      lastEvent: last?.event,
      silencedBy,
      isInhibited: inhibitedBy.length > 0,
    });
  }
  return shown;
}
