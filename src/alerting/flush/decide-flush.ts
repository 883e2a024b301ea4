import type { Event } from '../../domain/alert/event.ts';
import { hash64 } from '../../domain/alert/fingerprint.ts';
import type { Flush } from '../../domain/grouping/flush.ts';
import type { AlertInGroup } from '../../domain/grouping/group.ts';
import { countLeftToSummary } from '../../domain/grouping/sorts/catch-up-sort.ts';
import { SORTS } from '../../domain/grouping/sorts/sorts.ts';
import type { Transaction } from '../../store/store.ts';
import { coveredBy } from './draft-messages.ts';
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
  const named = await nameAfterEvents(tx, flushed);
  const lasts = flushed.firingTotal === 0 && waiting.some(({ alert }) => alert.state === 'firing');
  return group.acknowledged && lasts ? { ...named, incidentLasts: true } : named;
}

/**
 * Names the flush after the events that it tells. If the store loses it, because a standby without the last commits took
 * over, the one made again comes under the same ids, by which receivers drop repeats. A thread that the store still has
 * keeps its name to itself: a group that was made anew may tell the same once more.
 */
async function nameAfterEvents(tx: Transaction, flushed: Flush): Promise<Flush> {
  const { reason, listed, group, threadPosition } = flushed;
  const telling = listed.filter(({ newEvents }) => newEvents > 0);
  if (reason === null || telling.length === 0) return flushed;
  const newest = await tx.alerts.eventsOf(coveredBy(telling), 1);
  const events = telling.flatMap(({ alert }) => newest.get(alert.id) ?? []);
  const parts = telling.map(({ alert, afterSeq, newEvents }) =>
    JSON.stringify([alert.id, alert.startsAtUs, afterSeq, newEvents, newest.get(alert.id)?.[0]?.key]),
  );
  const told = hash64([group.key, group.receiver, ...parts.toSorted()]);
  const last = events.reduce<Event | undefined>(
    (latest, one) => (latest && latest.occurredAtUs >= one.occurredAtUs ? latest : one),
    undefined,
  );
  if (threadPosition > 0 || !last) return { ...flushed, told };
  // The time comes first for the same reason as in other threads: such ids arrive almost in order.
  const thread = `${last.occurredAtUs.toString(36)}-${told}`;
  const isTaken = await tx.outbox.hasIdsOf(thread);
  return isTaken ? { ...flushed, told } : { ...flushed, told, thread, group: { ...group, thread } };
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
