import type { Flush } from '../../domain/grouping/flush.ts';
import { SORTS } from '../../domain/grouping/sorts/sorts.ts';
import { settleIncidents } from '../incidents.ts';
import type { FlushContext, MutedGroup } from './flush-context.ts';
import { continueAfterSummary } from './gathered-groups.ts';
import type { Notified } from './notify.ts';

/** Writes what a flush leaves of the group, and ends incidents in which nothing fires any more. */
export async function settleGroup(
  { tx, config, tally, nowUs }: FlushContext,
  { group, inGroup, open, waiting }: MutedGroup,
  flushed: Flush,
  notified: Notified,
): Promise<void> {
  const sort = SORTS[group.sort];
  const isSpent = sort.isSpentOnceNotified && !notified.isPostponed;
  if (sort.sumsUp && !notified.isPostponed) {
    await continueAfterSummary(tx, config.route, group, open, nowUs);
  }
  // Only alerts that are still muted keep a group that is spent.
  if (isSpent && waiting.length === 0) return tx.groups.delete([group.key]);
  const change = { group: notified.group, before: inGroup, flushed, waiting };
  const settled = await settleIncidents(tx, config.receivers, change, nowUs);
  tally.queued += settled.queued;
  await tx.groups.put([settled.group]);
  if (isSpent) await tx.groups.deleteMembers(open.map(({ member }) => member));
  else await tx.groups.putMembers(notified.members);
}
