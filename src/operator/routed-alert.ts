/** The alerts that fire as the routes, silences and inhibitions of this moment see them. */

import type { Config } from '../config/config.ts';
import type { Alert } from '../domain/alert/alert.ts';
import type { Mutes, Muting } from '../domain/muting/muting.ts';
import { routesFor } from '../domain/routing/route.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/pause-after.ts';

export type AlertingConfig = Pick<Config, 'route' | 'receivers' | 'inhibitRules' | 'timeIntervals'>;

/** An alert with the receivers that it is routed to, and what mutes it. */
export interface RoutedAlert extends Pick<Mutes, 'inhibitedBy'> {
  readonly alert: Alert;
  /** Ids of the silences that hide it. */
  readonly silencedBy: readonly string[];
  /** In the order of the routes. */
  readonly receivers: readonly string[];
}

/** Beyond it the oldest are left out. */
const MOST = 100_000;

/** Read at once. */
const STEP = 500;

/** All that fire, the newest first: a client that sees a part of them would take the others as over. */
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
