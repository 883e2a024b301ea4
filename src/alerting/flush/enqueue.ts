/** Turns the messages about a flush into notifications with deliveries, and queues them in the outbox. */
import type { Receiver } from '../../channels/receiver.ts';
import { mayFly } from '../../config/sections/regions-section.ts';
import type { Event } from '../../domain/alert/event.ts';
import {
  BATCH_EVENTS,
  eventsOfEach,
  type NotifyingFlush,
  notificationOf,
} from '../../domain/grouping/flush.ts';
import { summaryWords } from '../../domain/grouping/notification.ts';
import type { Transaction } from '../../store/store.ts';
import { newDelivery, queue } from '../destination.ts';
import { type About, withContext } from './add-context.ts';
import { coveredBy, type Draft, draftMessages, flushIdOf } from './draft-messages.ts';
import type { FlushContext } from './flush-context.ts';
import { keepOrder } from './keep-order.ts';

/** The fallback gets what the receiver did not accept for this long, unless enough failed attempts gave it sooner. */
const FALLBACK_AFTER_US = 300_000_000;

/** Short messages queued between two pauses: a group may have one for each of hundreds of Nests or incidents. */
const PAUSE_AFTER = 20;

/** How many deliveries were queued to be sent, and how many reach nobody. */
interface Enqueued {
  readonly queued: number;
  readonly suppressed: number;
}

/**
 * Queues the messages for each integration of the receiver. `owner`: the receiver of the flushed group, for which this
 * one may stand in. What reaches nobody is due for the fallback at once (`fallback.ts`).
 */
export async function enqueueMessages(
  context: FlushContext,
  flushed: NotifyingFlush,
  receiver: Receiver | undefined,
  owner: string,
  notices: readonly string[],
): Promise<Enqueued> {
  const { tx, nowUs, serviceLinks, past, config } = context;
  const about = {
    ...{ shown: config.context.show, past, serviceLinks },
    mayFly: (region: string) => mayFly(config, region),
  };
  let queued = 0;
  let suppressed = 0;
  if (!receiver) return { queued, suppressed };
  const drafts = await draftMessages(tx, flushed, receiver, owner, nowUs);
  const lanes = await keepOrder(context, flushed, receiver);
  for (const [index, draft] of drafts.entries()) {
    if (draft.to.length === 0 || draft.what.listed.length === 0) continue;
    const isFallenBackFrom = receiver.fallback !== undefined || draft.suppressed !== undefined;
    const message = { flushId: flushIdOf(flushed), lanes, isFallenBackFrom, about };
    await enqueue(tx, draft, receiver, notices, message, nowUs);
    if (draft.suppressed === undefined) queued += draft.to.length;
    else suppressed += draft.to.length;
    if (draft.part || index % PAUSE_AFTER === PAUSE_AFTER - 1) await tx.pause();
  }
  return { queued, suppressed };
}

interface Message {
  readonly flushId: string;
  /** Lanes in place of the group's own, by the position of the integration. */
  readonly lanes: ReadonlyMap<number, string>;
  readonly isFallenBackFrom: boolean;
  readonly about: Omit<About, 'stored'>;
}

async function enqueue(
  tx: Transaction,
  draft: Draft,
  receiver: Receiver,
  notices: readonly string[],
  { flushId, lanes, isFallenBackFrom, about }: Message,
  nowUs: number,
): Promise<void> {
  const { id, what, part, addresses, leftOut, suppressed } = draft;
  const said = [...(what.summary ? summaryWords(what.summary) : []), ...notices];
  const plain = notificationOf(what, await eventsOf(tx, draft), id);
  const stored = new Map(what.listed.map(({ alert }) => [alert.id, alert]));
  const notification = {
    ...plain,
    flushId,
    alerts: await withContext(tx, plain.alerts, { ...about, stored }),
    ...(said.length > 0 && { notices: said }),
    ...(what.summary && { summary: what.summary }),
    ...(part && { part }),
    ...(addresses && { to: addresses }),
    ...(leftOut && { leftOut }),
  };
  const fallbackAtUs = nowUs + (suppressed === undefined ? FALLBACK_AFTER_US : 0);
  const deliveries = draft.to.map((destination) => ({
    ...newDelivery({ id, receiver: receiver.name, groupKey: what.group.key }, destination, nowUs),
    ...(lanes.has(destination[0]) && { lane: lanes.get(destination[0])! }),
    ...(suppressed !== undefined && {
      state: 'suppressed' as const,
      settledAtUs: nowUs,
      lastError: suppressed,
    }),
    ...(isFallenBackFrom && { fallbackAtUs }),
  }));
  await queue(tx, notification, receiver.integrations, deliveries, coveredBy(draft.covers));
}

/** The events to list of each alert, newest first. A summary lists none, except in batches of events. */
async function eventsOf(
  tx: Transaction,
  { what, isBatch }: Draft,
): Promise<ReadonlyMap<string, readonly Event[]>> {
  if (what.summary && !isBatch) return new Map();
  const { listed, read } = what;
  const limit = isBatch ? BATCH_EVENTS : eventsOfEach(listed);
  if (read?.limit === limit && listed.every((one) => read.of.has(one))) {
    return new Map(listed.map((one) => [one.alert.id, read.of.get(one)!]));
  }
  return tx.alerts.eventsOf(coveredBy(listed), limit);
}
