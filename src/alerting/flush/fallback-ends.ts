import type { Alert } from '../../domain/alert/alert.ts';
import type { AlertInGroup, Group, GroupMember } from '../../domain/grouping/group.ts';
import { keyForReceiver } from '../../domain/grouping/sorts/fallback-sort.ts';
import type { FlushContext, MutedGroup } from './flush-context.ts';
import { membersFor, OWN_SORTS } from './gathered-groups.ts';

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
