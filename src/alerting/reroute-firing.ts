import type { Alert } from '../domain/alert/alert.ts';
import { groupKeysFor } from '../domain/grouping/assign-groups.ts';
import { HAS_LEFT } from '../domain/grouping/group.ts';
import { type Route, routeOfGroup } from '../domain/routing/route.ts';
import type { Transaction } from '../store/store.ts';
import type { Step } from './step.ts';

/** Alerts looked at in one transaction. */
const BATCH = 200;

/**
 * Moves firing alerts to the routes of a new configuration without waiting for their next change: receivers that they
 * now reach are notified of them, as in Alertmanager. Takes the next batch of alerts after `after`, and returns its
 * last one.
 */
export async function rerouteFiring(
  tx: Transaction,
  root: Route,
  after: Alert | undefined,
  nowUs: number,
): Promise<Step & { readonly last: Alert | undefined }> {
  const alerts = await tx.alerts.firing(after, BATCH);
  const members = (await tx.groups.membersOfAlerts(alerts.map(({ id }) => id))).filter(
    ({ sort, notifiedSeq }) => sort === 'route' && notifiedSeq !== HAS_LEFT,
  );
  const groups = await tx.groups.list([...new Set(members.map(({ groupKey }) => groupKey))]);
  const routeless = groups.filter((group) => routeOfGroup(root, group) === undefined);
  const due = groups.filter((group) => routeOfGroup(root, group)?.receiver !== group.receiver);
  // A flush dissolves the groups without a route and moves their alerts. The others begin anew for their new receiver.
  await tx.groups.put(
    due.map((group) => ({ ...group, nextFlushAtUs: Math.min(group.nextFlushAtUs, nowUs) })),
  );
  const isRouteless = new Set(routeless.map(({ key }) => key));
  const keysOf = Map.groupBy(members, ({ alertId }) => alertId);
  const moving = alerts.filter((alert) => {
    const present = (keysOf.get(alert.id) ?? []).map(({ groupKey }) => groupKey);
    if (present.some((key) => isRouteless.has(key))) return false;
    const now = new Set(groupKeysFor(root, alert));
    return now.size !== present.length || present.some((key) => !now.has(key));
  });
  await tx.alerts.joinAgain(moving.map(({ id }) => id));
  const isAll = alerts.length < BATCH;
  return { done: alerts.length, isAll, queued: 0, happenings: [], last: alerts.at(-1) };
}
