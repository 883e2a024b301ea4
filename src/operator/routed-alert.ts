/** The alerts that fire as the routes, silences and inhibitions of this moment see them. */

import type { Config } from '../config/config.ts';
import type { Alert } from '../domain/alert/alert.ts';
import type { Mutes, Muting } from '../domain/muting/muting.ts';
import { routesFor } from '../domain/routing/route.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/pause-after.ts';

export type AlertingConfig = Pick<Config, 'route' | 'receivers' | 'inhibitRules' | 'timeIntervals'>;

/** An alert with the receivers that it is routed to, and what mutes it. */
export interface RoutedAlert extends Mutes {
  readonly alert: Alert;
  /** In the order of the routes. */
  readonly receivers: readonly string[];
}

/** All that fire are read: a client that sees a part of them would take the others as over. */
const ALL = 100_000;

export async function readRoutedAlerts(
  tx: Transaction,
  muting: Muting,
  { route }: AlertingConfig,
): Promise<RoutedAlert[]> {
  const alerts = await tx.alerts.list({ state: 'firing', limit: ALL });
  const routed: RoutedAlert[] = [];
  const pauseAfter = pausing(tx);
  for (const alert of alerts) {
    const receivers = routesFor(route, alert.labels).map((one) => one.receiver);
    routed.push({ alert, receivers: [...new Set(receivers)], ...muting.of(alert) });
    await pauseAfter(muting.work);
  }
  return routed;
}
