/** Turns the messages about a flush into notifications with deliveries, and queues them in the outbox. */
import type { Receiver } from '../../channels/receiver.ts';
import { mayFly, type ServiceLinks } from '../../config/sections/regions-section.ts';
import { type Action, sayAction, whyNotStarted } from '../../domain/action/action.ts';
import type { Alert, Labels } from '../../domain/alert/alert.ts';
import { reasonOf } from '../../domain/alert/error-signature.ts';
import type { Event } from '../../domain/alert/event.ts';
import {
  annotationsOf,
  contextOf,
  type FindingSort,
  FLOWN_AGAIN,
  type Past,
} from '../../domain/context/findings.ts';
import {
  BATCH_EVENTS,
  eventsOfEach,
  type NotifyingFlush,
  notificationOf,
} from '../../domain/grouping/flush.ts';
import { type NotifiedAlert, summaryWords } from '../../domain/grouping/notification.ts';
import { birdDeactivated } from '../../domain/kinds/bird-deactivated.ts';
import { birdTriggerFailing } from '../../domain/kinds/bird-trigger-failing.ts';
import { flightFailed } from '../../domain/kinds/failures/flight-failed.ts';
import type { Transaction } from '../../store/store.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { newDelivery, queue } from '../destination.ts';
import { coveredBy, type Draft, draftMessages, flushIdOf, reachesNobody } from './draft-messages.ts';
import type { FlushContext } from './flush-context.ts';
import { keepOrder } from './gathered-groups.ts';

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
 * one may stand in. What reaches nobody is due for the fallback at once (`fallback.ts`). `drafted`: the messages, if they
 * are drafted already.
 */
export async function enqueueMessages(
  context: FlushContext,
  flushed: NotifyingFlush,
  receiver: Receiver | undefined,
  owner: string,
  notices: readonly string[],
  drafted?: readonly Draft[],
): Promise<Enqueued> {
  const { tx, nowUs, serviceLinks, past, config } = context;
  const about = {
    ...{ shown: config.context.show, past, serviceLinks },
    mayFly: (region: string) => mayFly(config, region),
  };
  let queued = 0;
  let suppressed = 0;
  if (!receiver) return { queued, suppressed };
  const drafts = drafted ?? (await draftMessages(tx, flushed, receiver, owner, nowUs));
  const lanes = await keepOrder(context, flushed, receiver);
  for (const [index, draft] of drafts.entries()) {
    if (reachesNobody(draft)) continue;
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

// Adds to the alerts of a message what is known beside their events: how the Bird's last Flights ended, why the alert fires
// now and who can act, who switched a Bird off, and links into the service. It is looked up when the message is queued, so
// every try of a delivery says the same. Nothing is asked of the service.

/** Flights whose outcomes are shown. */
const LAST_FLIGHTS = 10;

/** Alerts of one message for which something is looked up. */
const MOST_ALERTS = 20;
const MAX_INITIATOR_LENGTH = 120;
const MAX_CAUSE_LENGTH = 200;
/** Of a Bird, among which the one about an alert is looked for. */
const MOST_ACTIONS = 10;
/** How long before the alert the Bird was switched off, at most: its status is read every five minutes only. */
const SWITCHED_BEFORE_US = 1_800_000_000;

interface About {
  /** The alerts as they are stored, by id. */
  readonly stored: ReadonlyMap<string, Alert>;
  readonly shown: readonly FindingSort[];
  readonly past: Past;
  readonly serviceLinks: ServiceLinks;
  /** Whether Birds of a region may be started again. */
  readonly mayFly: (region: string) => boolean;
}

async function withContext(
  tx: Transaction,
  notified: readonly NotifiedAlert[],
  { stored, shown, past, serviceLinks, mayFly }: About,
): Promise<readonly NotifiedAlert[]> {
  let left = MOST_ALERTS;
  const found: NotifiedAlert[] = [];
  for (const alert of await withLastEvent(tx, await withHistory(tx, notified))) {
    const own = stored.get(alert.id);
    const isFiring = own !== undefined && alert.status === 'firing' && left > 0;
    let annotations: Labels = {};
    if (isFiring && alert.labels.alertname === birdDeactivated.name) {
      left -= 1;
      annotations = await switchedOff(tx, alert, own.scope);
    } else if (isFiring && shown.length > 0 && (alert.events.length > 0 || alert.eventsTotal === 0)) {
      const findings = await contextOf(own, shown, withEvents(past, alert));
      if (findings.length > 0) left -= 1;
      annotations = annotationsOf(findings);
    }
    // An annotation of the rule that has the same name stays.
    found.push({
      ...alert,
      annotations: { ...addressesOf(alert, serviceLinks), ...annotations, ...alert.annotations },
    });
  }
  return withFlying(tx, found, mayFly);
}

/**
 * What nestwatch did about failed Flights, or why not; and, if only one alert fires, that its Bird can be started again: a
 * message about several has no room for it.
 */
async function withFlying(
  tx: Transaction,
  alerts: readonly NotifiedAlert[],
  mayFly: About['mayFly'],
): Promise<readonly NotifiedAlert[]> {
  const isFailed = ({ labels }: NotifiedAlert) =>
    labels.alertname === flightFailed.name && mayFly(labels.region ?? '');
  const [only, another] = alerts.filter((one) => one.status === 'firing' && isFailed(one));
  let left = MOST_ALERTS;
  const found: NotifiedAlert[] = [];
  for (const alert of alerts) {
    const { region = '', bird_id: birdId = '' } = alert.labels;
    const isMeant = left > 0 && isFailed(alert);
    if (isMeant) left -= 1;
    const ofBird = isMeant ? await tx.actions.ofBird(region, birdId, MOST_ACTIONS) : [];
    // What a rule plans for another alert of the Bird is not about this one; a success ends them all.
    const action = ofBird.find(
      ({ plan }) => !plan || plan.alertId === alert.id || alert.status === 'resolved',
    );
    const flown = action && action.wantedAtUs >= alert.startsAtUs && (await sayFlown(tx, action, alert));
    const bird = isMeant && alert === only && !another ? await tx.birds.find(region, birdId) : undefined;
    const isStartable = bird && whyNotStarted(bird) === undefined;
    found.push({
      ...alert,
      ...(flown && { annotations: { [FLOWN_AGAIN]: flown, ...alert.annotations } }),
      ...(isStartable && { flyAgain: String(alert.events[0]?.attributes.flight_id ?? '') }),
    });
  }
  return found;
}

async function sayFlown(tx: Transaction, action: Action, { status }: NotifiedAlert): Promise<string> {
  const { region, newFlight } = action;
  const flight = newFlight && (await tx.birds.findFlight(region, newFlight.flightId));
  if (status === 'resolved' && flight?.status === 'succeeded') return 'recovered after flying again';
  const said = sayAction({ ...action, comment: '' }, dayAndTime, flight);
  return said.charAt(0).toLowerCase() + said.slice(1);
}

/** Most messages hold all events of an episode, which then need not be read again. */
function withEvents(past: Past, { id, events, eventsTotal }: NotifiedAlert): Past {
  if (events.length < eventsTotal) return past;
  return {
    ...past,
    firstEvent: async (alert) => (alert.id === id ? events.at(-1) : past.firstEvent(alert)),
    lastEvent: async (alert) => (alert.id === id ? events[0] : past.lastEvent(alert)),
  };
}

/** How the Bird's last Flights ended, if all alerts are of one Bird: among several it would only be noise. */
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

/** The last event of a single alert without new ones: a resolution has no event of its own that could explain it. */
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
 * The Bird's log says who switched it off, and may be read before or after the status that raised the alert. If the
 * service did, it was for the failures of its trigger.
 */
async function switchedOff(tx: Transaction, { labels, startsAtUs }: NotifiedAlert, scope: string) {
  const last = await tx.birds.lastOfTypes(labels.region ?? '', labels.bird_id ?? '', ['bird_log.Suspended']);
  const initiator = plainText(String(last?.attributes.initiator ?? ''), MAX_INITIATOR_LENGTH);
  const isOfThis = last !== undefined && last.occurredAtUs >= startsAtUs - SWITCHED_BEFORE_US;
  if (isOfThis && initiator !== '')
    return { switched_off: `by ${initiator}, ${dayAndTime(last.occurredAtUs)}` };
  const failing = (await tx.alerts.ofScopes([scope])).find(
    ({ alertname, ending, endsAtUs }) =>
      alertname === birdTriggerFailing.name &&
      ending === 'superseded' &&
      endsAtUs >= startsAtUs - SWITCHED_BEFORE_US,
  );
  if (!failing) return {};
  const said = plainText(reasonOf(failing.annotations.description ?? ''), MAX_CAUSE_LENGTH);
  return { switched_off: `after its trigger failed again and again: ${said}` };
}

/** Links into the service's own application. */
function addressesOf({ events, labels }: NotifiedAlert, serviceLinks: ServiceLinks): Labels {
  const flightId = events[0]?.attributes.flight_id ?? labels.flight_id ?? '';
  const { nest, bird, flight } = serviceLinks({ ...labels, flight_id: String(flightId) });
  return {
    ...(nest !== undefined && { nest_url: nest }),
    ...(bird !== undefined && { bird_url: bird }),
    ...(flight !== undefined && { flight_url: flight }),
  };
}
