/** Turns the messages about a flush into notifications with deliveries, and queues them in the outbox. */
import type { Receiver } from '../../channels/receiver.ts';
import type { ServiceLinks } from '../../config/service-links.ts';
import type { Event } from '../../domain/alert/event.ts';
import { type NotifyingFlush, notificationOf } from '../../domain/grouping/flush.ts';
import type { NotifiedAlert } from '../../domain/grouping/notification.ts';
import { BATCH_EVENTS, eventsOfEach } from '../../domain/grouping/split-notification.ts';
import { summaryWords } from '../../domain/grouping/summary.ts';
import { birdDeactivated } from '../../domain/kinds/bird-deactivated.ts';
import type { Transaction } from '../../store/store.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { newDelivery, queue } from '../destination.ts';
import { coveredBy, type Draft, draftMessages, flushIdOf } from './draft-messages.ts';
import type { FlushContext } from './flush-context.ts';
import { keepOrder } from './keep-order.ts';

/** Flights whose outcomes are shown. */
const LAST_FLIGHTS = 10;

/** Alerts of one message for which it is looked up who switched the Bird off. */
const MAX_SWITCHERS = 20;
const MAX_INITIATOR_LENGTH = 120;
/** How long before the alert the Bird was switched off, at most: its status is read every five minutes only. */
const SWITCHED_BEFORE_US = 1_800_000_000;

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
  const { tx, nowUs, serviceLinks } = context;
  let queued = 0;
  let suppressed = 0;
  if (!receiver) return { queued, suppressed };
  const drafts = await draftMessages(tx, flushed, receiver, owner, nowUs);
  const lanes = await keepOrder(context, flushed, receiver);
  for (const [index, draft] of drafts.entries()) {
    if (draft.to.length === 0 || draft.what.listed.length === 0) continue;
    const isFallenBackFrom = receiver.fallback !== undefined || draft.suppressed !== undefined;
    const message = { flushId: flushIdOf(flushed), lanes, isFallenBackFrom, serviceLinks };
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
  readonly serviceLinks: ServiceLinks;
}

async function enqueue(
  tx: Transaction,
  draft: Draft,
  receiver: Receiver,
  notices: readonly string[],
  { flushId, lanes, isFallenBackFrom, serviceLinks }: Message,
  nowUs: number,
): Promise<void> {
  const { id, what, part, addresses, leftOut, suppressed } = draft;
  const said = [...(what.summary ? summaryWords(what.summary) : []), ...notices];
  const plain = notificationOf(what, await eventsOf(tx, draft), id);
  const known = await withLastEvent(tx, await withHistory(tx, plain.alerts));
  const notification = {
    ...plain,
    flushId,
    alerts: (await withSwitchers(tx, known)).map((one) => withAddresses(one, serviceLinks)),
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

/** Adds how the Bird's last Flights ended, if all alerts are of one Bird: among several it would only be noise. */
async function withHistory(
  tx: Transaction,
  alerts: readonly NotifiedAlert[],
): Promise<readonly NotifiedAlert[]> {
  const [{ bird_id: birdId, region = '' } = {}, ...others] = alerts.map(({ labels }) => labels);
  if (!birdId || others.some((labels) => labels.bird_id !== birdId || labels.region !== region))
    return alerts;
  const history = await tx.flights.lastOutcomes(region, birdId, LAST_FLIGHTS);
  return history.length === 0 ? alerts : alerts.map((alert) => ({ ...alert, history }));
}

/**
 * Adds its last event to a single alert without new ones: a resolution has no event of its own that could explain it.
 */
async function withLastEvent(
  tx: Transaction,
  alerts: readonly NotifiedAlert[],
): Promise<readonly NotifiedAlert[]> {
  const [alert, ...others] = alerts;
  if (!alert || others.length > 0 || alert.events.length > 0 || alert.eventsTotal === 0) return alerts;
  const [last] = await tx.alerts.events(alert.id, 0, 1);
  if (!last) return alerts;
  const { key, occurredAtUs } = last.event;
  return [{ ...alert, lastEvent: { key, occurredAtUs } }];
}

/**
 * Adds who switched a Bird off. The Bird's log says so, and may be read before or after the status that raised the
 * alert.
 */
async function withSwitchers(
  tx: Transaction,
  alerts: readonly NotifiedAlert[],
): Promise<readonly NotifiedAlert[]> {
  const off = alerts.filter(
    ({ status, labels }) =>
      status === 'firing' && labels.alertname === birdDeactivated.name && labels.bird_id !== undefined,
  );
  if (off.length === 0) return alerts;
  const asked = new Set(off.slice(0, MAX_SWITCHERS));
  const found: NotifiedAlert[] = [];
  for (const alert of alerts) {
    if (!asked.has(alert)) {
      found.push(alert);
      continue;
    }
    const { bird_id: birdId = '', region = '' } = alert.labels;
    const last = await tx.birds.lastOfTypes(region, birdId, ['bird_log.Suspended']);
    const initiator = plainText(String(last?.attributes.initiator ?? ''), MAX_INITIATOR_LENGTH);
    const isOfThis = last !== undefined && last.occurredAtUs >= alert.startsAtUs - SWITCHED_BEFORE_US;
    const switchedOff = `by ${initiator}, ${dayAndTime(last?.occurredAtUs ?? 0)}`;
    found.push(
      isOfThis && initiator !== ''
        ? { ...alert, annotations: { switched_off: switchedOff, ...alert.annotations } }
        : alert,
    );
  }
  return found;
}

/** Adds links into the service's own application. An annotation of the rule that has the same name stays. */
function withAddresses(alert: NotifiedAlert, serviceLinks: ServiceLinks): NotifiedAlert {
  const flightId = alert.events[0]?.attributes.flight_id ?? alert.labels.flight_id ?? '';
  const { nest, bird, flight } = serviceLinks({ ...alert.labels, flight_id: String(flightId) });
  const addresses = {
    ...(nest !== undefined && { nest_url: nest }),
    ...(bird !== undefined && { bird_url: bird }),
    ...(flight !== undefined && { flight_url: flight }),
  };
  return Object.keys(addresses).length === 0
    ? alert
    : { ...alert, annotations: { ...addresses, ...alert.annotations } };
}
