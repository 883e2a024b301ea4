/**
 * Keeps people from being told one fact twice: that a trigger failed until the Bird was deactivated ends one alert, of
 * which another says more. Programs and services that keep incidents are told the end all the same.
 */
import type { NotifyingFlush } from '../../domain/grouping/flush.ts';
import { kindOf } from '../../domain/kinds/kinds.ts';
import { type Route, routesFor } from '../../domain/routing/route.ts';
import type { Transaction } from '../../store/store.ts';

/** With more alerts the message says more than their ends. */
const MOST_ALERTS = 20;

/** The alerts of other kinds by which the receiver is told all that the flush tells; undefined if it is told more. */
export async function toldAsWorse(
  tx: Transaction,
  { firingTotal, listed }: NotifyingFlush,
  root: Route,
  receiver: string,
): Promise<string | undefined> {
  if (firingTotal > 0 || listed.length > MOST_ALERTS) return undefined;
  const names = new Set<string>();
  for (const { alert } of listed) {
    const worse = alert.ending === 'superseded' ? kindOf(alert.alertname)?.supersededBy : undefined;
    if (worse === undefined) return undefined;
    const became = (await tx.alerts.ofScopes([alert.scope])).find(
      (one) => one.alertname === worse && one.state === 'firing',
    );
    const isTold = became && routesFor(root, became.labels).some((route) => route.receiver === receiver);
    if (!isTold) return undefined;
    names.add(worse);
  }
  return [...names].join(', ');
}
