import type { Alert } from '../domain/alert/alert.ts';
import { groupKeysFor } from '../domain/grouping/assign-groups.ts';
import { HAS_LEFT } from '../domain/grouping/group.ts';
import { type Route, routeOfGroup } from '../domain/routing/route.ts';
import type { Transaction } from '../store/store.ts';
import type { Step } from './step.ts';

/** Alerts looked at in one transaction. */
const BATCH = 200;

/**
 * Has alerts that fire follow the routes of a configuration that has come into force, instead of with their next change:
 * who is new on their way is notified of them, as in Alertmanager. Takes a batch of those behind `after`, and says which
 * was its last.
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
  const homeless = groups.filter((group) => routeOfGroup(root, group) === undefined);
  const due = groups.filter((group) => routeOfGroup(root, group)?.receiver !== group.receiver);
  // A flush dissolves the former, and moves what they have; it has the others begin anew for another receiver.
  await tx.groups.put(
    due.map((group) => ({ ...group, nextFlushAtUs: Math.min(group.nextFlushAtUs, nowUs) })),
  );
  const isHomeless = new Set(homeless.map(({ key }) => key));
  const keysOf = Map.groupBy(members, ({ alertId }) => alertId);
  const moving = alerts.filter((alert) => {
    const present = (keysOf.get(alert.id) ?? []).map(({ groupKey }) => groupKey);
    if (present.some((key) => isHomeless.has(key))) return false;
    const now = new Set(groupKeysFor(root, alert));
    return now.size !== present.length || present.some((key) => !now.has(key));
  });
  await tx.alerts.joinAgain(moving.map(({ id }) => id));
  const isAll = alerts.length < BATCH;
  return { done: alerts.length, isAll, queued: 0, happenings: [], last: alerts.at(-1) };
}
