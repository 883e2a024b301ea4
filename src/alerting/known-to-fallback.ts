/** Keeps what fallbacks know of alerts (`domain/grouping/sorts/fallback-sort.ts`) while they are given notifications. */
import type { Receiver } from '../channels/receiver.ts';
import type { Alert } from '../domain/alert/alert.ts';
import type { AlertInGroup, Group, GroupMember } from '../domain/grouping/group.ts';
import { hasIncident } from '../domain/grouping/incident.ts';
import type { GroupNotification, NotifiedAlert } from '../domain/grouping/notification.ts';
import {
  fallbackGroup,
  fallbackKey,
  fallbackMember,
  keyForReceiver,
} from '../domain/grouping/sorts/fallback-sort.ts';
import type { Route } from '../domain/routing/route.ts';
import type { Transaction } from '../store/store.ts';
import type { FlushContext, MutedGroup } from './flush/flush-context.ts';
import { membersFor, OWN_SORTS } from './flush/gathered-groups.ts';
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

/** The notifications of an alert among which its end is looked for. */
const LAST_NOTIFICATIONS = 20;

/**
 * Of the ends that a fallback is to be notified of (`sorts/fallback-sort.ts`), those that have to wait, and none that
 * another such group has notified it of. Groups of other sorts are returned as they are.
 */
export async function withoutOtherEnds(context: FlushContext, muted: MutedGroup): Promise<MutedGroup> {
  const { group, open, waiting } = muted;
  if (group.sort !== 'fallback') return muted;
  const ended = open.filter(
    ({ alert, member }) => alert.state !== 'firing' && member.notifiedState === 'firing',
  );
  const known = await knownEnds(context, group, ended);
  const coming = await comingEnds(
    context,
    group,
    ended.filter((one) => !known.includes(one)),
  );
  return {
    ...muted,
    open: open.filter((one) => !known.includes(one) && !coming.includes(one)),
    waiting: [...waiting, ...coming],
  };
}

/**
 * Ends that the fallback was notified of by another group, or will be: routes changed, it stands in for several
 * receivers, or the alert also reaches it by a route or an escalation of its own.
 */
async function knownEnds(
  { tx }: FlushContext,
  { key, receiver }: Group,
  ended: readonly AlertInGroup[],
): Promise<readonly AlertInGroup[]> {
  const ids = ended.map(({ alert }) => alert.id);
  const members = await membersFor(tx, receiver, ids, ['fallback', ...OWN_SORTS]);
  const others = Map.groupBy(
    members.filter(({ groupKey }) => groupKey !== key),
    ({ alertId }) => alertId,
  );
  const known = ended.filter(({ alert }) => others.get(alert.id)?.some((member) => isTold(member, alert)));
  await tx.groups.putMembers(known.map(({ member }) => ({ ...member, notifiedState: 'resolved' })));
  return known;
}

/** Whether this group has notified of the end of the alert, or will do so because it has shown it as firing. */
function isTold({ sort, notifiedState, notifiedSeq }: GroupMember, { lastSeq }: Alert): boolean {
  if (notifiedState === 'resolved') return notifiedSeq === lastSeq;
  return sort !== 'fallback' && (notifiedState === 'firing' || notifiedState === 'hidden');
}

/**
 * Ends of which the receiver's own group has not notified yet. And those that the receiver has not accepted: the
 * fallback may still be given its notification, which says more.
 */
async function comingEnds(
  { tx, config }: FlushContext,
  group: Group,
  ended: readonly AlertInGroup[],
): Promise<readonly AlertInGroup[]> {
  const members = await tx.groups.membersOfAlerts(ended.map(({ alert }) => alert.id));
  const unsaid = new Set(
    members.flatMap(({ alertId, groupKey, notifiedState }) =>
      groupKey === keyForReceiver(group) && notifiedState !== 'resolved' ? [alertId] : [],
    ),
  );
  const receivers = config.receivers.filter(({ fallback }) => fallback === group.receiver);
  const standsInFor = new Set(receivers.map(({ name }) => name));
  const coming: AlertInGroup[] = [];
  for (const one of ended) {
    const { id, updatedAtUs } = one.alert;
    const sent = unsaid.has(id) ? [] : await tx.outbox.notificationsOfAlert(id, LAST_NOTIFICATIONS);
    const isTried = sent.some(
      ({ receiver, createdAtUs, deliveries }) =>
        createdAtUs >= updatedAtUs &&
        standsInFor.has(receiver) &&
        deliveries.some(({ fallbackAtUs }) => fallbackAtUs !== undefined),
    );
    if (unsaid.has(id) || isTried) coming.push(one);
  }
  return coming;
}
