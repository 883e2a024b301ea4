/** Keeps what fallbacks know of alerts (`domain/grouping/sorts/fallback-sort.ts`) while they are given notifications. */
import type { Receiver } from '../channels/receiver.ts';
import type { GroupMember } from '../domain/grouping/group.ts';
import { hasIncident } from '../domain/grouping/incident.ts';
import type { GroupNotification, NotifiedAlert } from '../domain/grouping/notification.ts';
import { fallbackGroup, fallbackKey, fallbackMember } from '../domain/grouping/sorts/fallback-sort.ts';
import type { Route } from '../domain/routing/route.ts';
import type { Transaction } from '../store/store.ts';
import { membersFor } from './flush/gathered-groups.ts';
import { abandonIncident } from './incidents.ts';

/** The notification without the ends that the fallback knows already. */
export async function withoutKnownEnds(
  tx: Transaction,
  fallback: string,
  notification: GroupNotification,
): Promise<GroupNotification> {
  const isEnd = ({ status, events, eventsOmitted }: NotifiedAlert) =>
    status === 'resolved' && events.length + eventsOmitted === 0;
  const ended = notification.alerts.filter(isEnd).map(({ id }) => id);
  const members = ended.length > 0 ? await membersFor(tx, fallback, ended, ['fallback']) : [];
  const known = new Set(
    members.flatMap(({ alertId, notifiedState }) => (notifiedState === 'resolved' ? [alertId] : [])),
  );
  return { ...notification, alerts: notification.alerts.filter((one) => !isEnd(one) || !known.has(one.id)) };
}

/** What a fallback was notified of. */
interface Known extends Pick<GroupNotification, 'groupKey' | 'groupLabels' | 'thread'> {
  readonly alerts: readonly Pick<NotifiedAlert, 'id' | 'status'>[];
}

/**
 * Notes what the fallback now knows as firing, so that it is notified of the end, and which ends it knows now. Returns
 * how many deliveries were queued.
 */
export async function noteKnown(
  tx: Transaction,
  fallback: Receiver,
  notified: Known,
  root: Route,
  nowUs: number,
): Promise<number> {
  const { alerts, groupKey } = notified;
  const key = fallbackKey(fallback.name, groupKey);
  const [before] = await tx.groups.list([key]);
  const group = fallbackGroup(before, { ...notified, receiver: fallback.name }, root, nowUs);
  const members: GroupMember[] = [];
  for (const { id, status } of alerts) {
    const alert = await tx.alerts.find(id);
    if (alert) members.push(fallbackMember(group, alert, status));
  }
  if (members.length === 0) return 0;
  await tx.groups.put([group]);
  await tx.groups.putMembers(members);
  const ended = members.filter(({ notifiedState }) => notifiedState === 'resolved');
  return noteInOtherGroups(tx, fallback, key, ended, nowUs);
}

/**
 * Notes ends in the fallback's other groups, at once: the alerts may fire again before these are flushed. The incidents
 * in which nothing fires any more are resolved. Returns how many deliveries were queued.
 */
async function noteInOtherGroups(
  tx: Transaction,
  fallback: Receiver,
  key: string,
  ended: readonly GroupMember[],
  nowUs: number,
): Promise<number> {
  const byAlert = new Map(ended.map((one) => [one.alertId, one]));
  const others = (await membersFor(tx, fallback.name, [...byAlert.keys()], ['fallback'])).filter(
    ({ groupKey, notifiedState }) => groupKey !== key && notifiedState !== 'resolved',
  );
  let queued = 0;
  for (const group of await tx.groups.list([...new Set(others.map(({ groupKey }) => groupKey))])) {
    const before = await tx.groups.members(group.key);
    const over = others.filter(({ groupKey }) => groupKey === group.key);
    await tx.groups.putMembers(over.map(({ alertId, groupKey }) => ({ ...byAlert.get(alertId)!, groupKey })));
    const isOver = new Set(over.map(({ alertId }) => alertId));
    const rest = before.filter(({ alert }) => !isOver.has(alert.id));
    if (!hasIncident(rest)) queued += await abandonIncident(tx, [fallback], group, before, nowUs);
  }
  return queued;
}
