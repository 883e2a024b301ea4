import type { Flush } from '../../domain/grouping/flush.ts';
import type { AlertInGroup } from '../../domain/grouping/group.ts';
import { countLeftToSummary } from '../../domain/grouping/sorts/catch-up-sort.ts';
import { SORTS } from '../../domain/grouping/sorts/sorts.ts';
import type { Transaction } from '../../store/store.ts';
import type { FlushContext, MutedGroup } from './flush-context.ts';

/** Alerts handled between two pauses. */
const PAUSE_AFTER = 100;

/** Decides whether the group notifies now, and of what. */
export async function decideFlush(
  { tx, nowUs }: FlushContext,
  { group, route, open, waiting }: MutedGroup,
): Promise<Flush> {
  const sort = SORTS[group.sort];
  const toSumUp = sort.sumsUp ? await countEvents(tx, group.receiver, open) : new Map();
  const flushed = sort.flush({ group, open, waiting, route, toSumUp, nowUs });
  const lasts = flushed.firingTotal === 0 && waiting.some(({ alert }) => alert.state === 'firing');
  return group.acknowledged && lasts ? { ...flushed, incidentLasts: true } : flushed;
}

/** How many events of each alert were left to the receiver's summary. */
async function countEvents(
  tx: Transaction,
  receiver: string,
  open: readonly AlertInGroup[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const [index, { alert, member }] of open.entries()) {
    const suppressions = await tx.suppressions.ofAlert(alert.id);
    counts.set(alert.id, countLeftToSummary(suppressions, receiver, member.notifiedSeq));
    if (index % PAUSE_AFTER === PAUSE_AFTER - 1) await tx.pause();
  }
  return counts;
}
