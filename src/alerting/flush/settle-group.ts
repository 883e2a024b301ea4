import type { Flush } from '../../domain/grouping/flush.ts';
import { type AlertInGroup, HAS_LEFT } from '../../domain/grouping/group.ts';
import { isToEscalate } from '../../domain/grouping/sorts/escalation-sort.ts';
import { SORTS } from '../../domain/grouping/sorts/sorts.ts';
import type { Transaction } from '../../store/store.ts';
import { settleIncident } from '../incidents.ts';
import type { FlushContext, MutedGroup } from './flush-context.ts';
import { continueAfterSummary } from './gathered-groups.ts';
import type { Notified } from './notify.ts';

/** Writes what a flush leaves of the group, and resolves incidents in which nothing fires any more. */
export async function settleGroup(
  context: FlushContext,
  muted: MutedGroup,
  flushed: Flush,
  notified: Notified,
): Promise<void> {
  const { tx, config, tally, nowUs } = context;
  const { group, inGroup, open, waiting } = muted;
  // What fires again before its end is told is not news, and so is not escalated anew.
  if (!notified.isPostponed) await leaveEscalations(tx, muted);
  const sort = SORTS[group.sort];
  const isSpent = sort.isSpentOnceNotified && !notified.isPostponed;
  if (sort.sumsUp && !notified.isPostponed) {
    await continueAfterSummary(context, group, open);
  }
  // A spent group is kept only for alerts that are still muted.
  if (isSpent && waiting.length === 0) return tx.groups.delete([group.key]);
  const change = { group: notified.group, before: inGroup, flushed, waiting };
  const settled = await settleIncident(tx, config.receivers, change, nowUs);
  tally.queued += settled.queued;
  await tx.groups.put([settled.group]);
  if (isSpent) await tx.groups.deleteMembers(open.map(({ member }) => member));
  else await tx.groups.putMembers(notified.members);
}

/**
 * Takes alerts that have resolved, and that the group had notified of as firing, out of escalations that are not yet
 * due.
 */
async function leaveEscalations(
  tx: Transaction,
  { group, inGroup, route, waiting }: MutedGroup,
): Promise<void> {
  if (!route.escalation || group.sort !== 'route') return;
  const muted = new Set(waiting.map(({ alert }) => alert.id));
  const over = inGroup.filter((one) => isOver(one) && !muted.has(one.alert.id));
  if (over.length === 0) return;
  const members = await tx.groups.membersOfAlerts(over.map(({ alert }) => alert.id));
  await tx.groups.deleteMembers(members.filter((member) => isToEscalate(member, group)));
}

function isOver({ member, alert }: AlertInGroup): boolean {
  const wasFiring = member.notifiedState === 'firing' || member.notifiedState === 'hidden';
  return wasFiring && (member.notifiedSeq === HAS_LEFT || alert.state !== 'firing');
}
