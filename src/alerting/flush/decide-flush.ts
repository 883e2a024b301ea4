import type { Event } from '../../domain/alert/event.ts';
import { hash64 } from '../../domain/alert/fingerprint.ts';
import { eventsOfEach, type Flush, type Listed } from '../../domain/grouping/flush.ts';
import type { AlertInGroup } from '../../domain/grouping/group.ts';
import { countLeftToSummary } from '../../domain/grouping/sorts/catch-up-sort.ts';
import { SORTS } from '../../domain/grouping/sorts/sorts.ts';
import type { Transaction } from '../../store/store.ts';
import { coveredBy } from './draft-messages.ts';
import type { FlushContext, MutedGroup } from './flush-context.ts';

/** Alerts handled between two pauses. */
const PAUSE_AFTER = 100;

/** Alerts whose events are read together to name a flush. */
const NAMED_AT_ONCE = 500;

/** Decides whether the group notifies now, and of what. */
export async function decideFlush(
  { tx, nowUs }: FlushContext,
  { group, route, open, waiting }: MutedGroup,
): Promise<Flush> {
  const sort = SORTS[group.sort];
  const toSumUp = sort.sumsUp ? await countEvents(tx, group.receiver, open) : new Map();
  const flushed = sort.flush({ group, open, waiting, route, toSumUp, nowUs });
  const named = await nameAfterWhatItTells(tx, flushed);
  const lasts = flushed.firingTotal === 0 && waiting.some(({ alert }) => alert.state === 'firing');
  return group.acknowledged && lasts ? { ...named, incidentLasts: true } : named;
}

/**
 * Names the flush after what it tells: the states and the events that it lists. If the store loses it, because a standby
 * without the last commits took over, the one made again comes under the same ids, by which receivers drop repeats. One
 * that tells anything else must not, since they would drop news. A thread that the store still has keeps its name to
 * itself: a group that was made anew may tell the same once more.
 */
async function nameAfterWhatItTells(tx: Transaction, flushed: Flush): Promise<Flush> {
  const { reason, listed, group, threadPosition } = flushed;
  if (reason === null) return flushed;
  const limit = eventsOfEach(listed.filter(({ newEvents }) => newEvents > 0));
  const of = new Map<Listed, readonly Event[]>();
  const parts: string[] = [];
  let lastUs: number | undefined;
  for (let from = 0; from < listed.length; from += NAMED_AT_ONCE) {
    if (from > 0) await tx.pause();
    const some = listed.slice(from, from + NAMED_AT_ONCE);
    const events = await tx.alerts.eventsOf(coveredBy(some), limit);
    for (const one of some) {
      const { alert, status, afterSeq, newEvents } = one;
      const told = events.get(alert.id) ?? [];
      if (listed.length <= NAMED_AT_ONCE) of.set(one, told);
      parts.push(JSON.stringify([alert.id, status, afterSeq, newEvents, ...told.map(({ key }) => key)]));
      for (const event of told) lastUs = Math.max(lastUs ?? 0, statedUs(event));
    }
  }
  const named = {
    ...flushed,
    told: hash64([group.key, group.receiver, ...parts.toSorted()]),
    ...(of.size > 0 && { read: { limit, of } }),
  };
  if (threadPosition > 0 || lastUs === undefined) return named;
  // The time comes first for the same reason as in other threads: such ids arrive almost in order.
  const thread = `${lastUs.toString(36)}-${named.told}`;
  const isTaken = await tx.outbox.hasIdsOf(thread);
  return isTaken ? named : { ...named, thread, group: { ...group, thread } };
}

/** An instant of the event that every reading finds the same. How exactly a Flight's end is known differs among them. */
function statedUs({ occurredAtUs, attributes }: Event): number {
  return typeof attributes.started_at_us === 'number' ? attributes.started_at_us : occurredAtUs;
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
