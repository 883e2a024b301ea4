/** Reads the alerts that fire, with their receivers and what mutes them now. */

import type { Config } from '../config/config.ts';
import type { Alert } from '../domain/alert/alert.ts';
import type { Mutes, Muting } from '../domain/muting/muting.ts';
import { routesFor } from '../domain/routing/route.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/pause-after.ts';

export type AlertingConfig = Pick<
  Config,
  'route' | 'receivers' | 'inhibitRules' | 'timeIntervals' | 'context'
>;

/** An alert with the receivers that it is routed to and what mutes it. */
export interface RoutedAlert extends Pick<Mutes, 'inhibitedBy'> {
  readonly alert: Alert;
  /** Ids of the silences that mute it. */
  readonly silencedBy: readonly string[];
  /** In the order of the routes. */
  readonly receivers: readonly string[];
}

/** When more alerts fire, the oldest are left out. */
const MOST = 100_000;

/** Alerts per read. */
const STEP = 500;

/** All firing alerts, newest first. Partial results would mislead: a client takes the missing alerts for resolved. */
export async function readRoutedAlerts(
  tx: Transaction,
  muting: Muting,
  { route }: AlertingConfig,
): Promise<RoutedAlert[]> {
  const routed: RoutedAlert[] = [];
  const pauseAfter = pausing(tx);
  for (;;) {
    const alerts = await tx.alerts.firing(routed.at(-1)?.alert, STEP);
    for (const alert of alerts) {
      const receivers = routesFor(route, alert.labels).map((one) => one.receiver);
      const { silencedBy, inhibitedBy } = await muting.of(alert, pauseAfter);
      routed.push({
        alert,
        receivers: [...new Set(receivers)],
        silencedBy: silencedBy.map(({ id }) => id),
        inhibitedBy,
      });
    }
    if (alerts.length < STEP || routed.length >= MOST) return routed;
  }
}
