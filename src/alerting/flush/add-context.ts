/**
 * Adds to the alerts of a message what is known beside their events: how the Bird's last Flights ended, why the alert fires
 * now and who can act, who switched a Bird off, and links into the service. It is looked up when the message is queued, so
 * every try of a delivery says the same. Nothing is asked of the service.
 */
import type { ServiceLinks } from '../../config/sections/region-links.ts';
import { type Action, sayAction, whyNotStarted } from '../../domain/action/action.ts';
import type { Alert, Labels } from '../../domain/alert/alert.ts';
import {
  annotationsOf,
  contextOf,
  type FindingSort,
  FLOWN_AGAIN,
  type Past,
} from '../../domain/context/findings.ts';
import type { NotifiedAlert } from '../../domain/grouping/notification.ts';
import { birdDeactivated } from '../../domain/kinds/bird-deactivated.ts';
import { birdTriggerFailing } from '../../domain/kinds/bird-trigger-failing.ts';
import { flightFailed } from '../../domain/kinds/failures/flight-failed.ts';
import type { Transaction } from '../../store/store.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import { firstLines, plainText } from '../../text/plain-text.ts';

/** Flights whose outcomes are shown. */
const LAST_FLIGHTS = 10;

/** Alerts of one message for which something is looked up. */
const MOST_ALERTS = 20;
const MAX_INITIATOR_LENGTH = 120;
const MAX_CAUSE_LENGTH = 200;
/** How long before the alert the Bird was switched off, at most: its status is read every five minutes only. */
const SWITCHED_BEFORE_US = 1_800_000_000;

export interface About {
  /** The alerts as they are stored, by id. */
  readonly stored: ReadonlyMap<string, Alert>;
  readonly shown: readonly FindingSort[];
  readonly past: Past;
  readonly serviceLinks: ServiceLinks;
  /** Whether Birds of a region may be started again. */
  readonly mayFly: (region: string) => boolean;
}

export async function withContext(
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
    const [action] = isMeant ? await tx.actions.ofBird(region, birdId, 1) : [];
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
  const [said = ''] = firstLines(failing.annotations.description ?? '', 1, MAX_CAUSE_LENGTH);
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
