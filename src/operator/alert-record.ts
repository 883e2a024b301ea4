/**
 * Reads everything known about one alert, even after it has been deleted and only its episodes remain, and what
 * happened around it.
 */
import type { Alert } from '../domain/alert/alert.ts';
import type { Event } from '../domain/alert/event.ts';
import { contextOf, findingsIn } from '../domain/context/findings.ts';
import type { Episode } from '../domain/digest/digest.ts';
import type { Muting } from '../domain/muting/muting.ts';
import { isPutOff } from '../domain/muting/suppression.ts';
import { routesFor } from '../domain/routing/route.ts';
import type { FlightOverview } from '../store/bird-store.ts';
import { failuresOf } from '../store/month-report.ts';
import { readPast } from '../store/read-history.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/clock.ts';
import type { AlertingConfig } from './read-alerts.ts';

export type AlertRecord = NonNullable<Awaited<ReturnType<typeof readAlertRecord>>>;

const SHOWN_EVENTS = 50;
const SHOWN_EPISODES = 50;
const SHOWN_NOTIFICATIONS = 30;
const SHOWN_SUPPRESSIONS = 20;
/** All: one alert may have no more. */
export const SHOWN_NOTES = 100;

/** Undefined if nothing is known about it any more. */
export async function readAlertRecord(
  tx: Transaction,
  id: string,
  { route, context }: AlertingConfig,
  muting: Muting,
) {
  const episodes = await tx.alerts.episodes(id, SHOWN_EPISODES);
  const [last] = episodes;
  const kept = await tx.alerts.find(id);
  const alert = kept ?? (last && alertOfEpisode(last));
  if (!alert) return undefined;
  const { silencedBy, inhibitedBy } = await muting.of(alert, pausing(tx));
  const notifications = await tx.outbox.notificationsOfAlert(id, SHOWN_NOTIFICATIONS);
  const told = notifications.find(({ firing }) => firing?.startsAtUs === alert.startsAtUs)?.firing;
  const suppressions = (await tx.suppressions.ofAlert(id)).filter((one) => !isPutOff(one));
  return {
    alert,
    // False if only its episodes are known.
    isKept: kept !== undefined,
    // The silences that mute it now, and the acknowledgements of any of its episodes that are still kept.
    silencedBy,
    acknowledgements: (await tx.silences.list()).filter(({ alertId }) => alertId === alert.id),
    notes: await tx.notes.ofAlert(id, SHOWN_NOTES),
    // Fingerprints of the alerts that inhibit it now.
    inhibitedBy,
    receivers: [...new Set(routesFor(route, alert.labels).map(({ receiver }) => receiver))],
    // Why it fires now and who can act: what was looked for; once it is over, what people were told of that.
    findings:
      alert.state === 'firing'
        ? await contextOf(alert, context.show, readPast(tx))
        : findingsIn(told?.annotations ?? {}),
    // These lists are the newest first.
    events: await tx.alerts.events(id, 0, SHOWN_EVENTS, alert.lastSeq),
    episodes,
    notifications,
    suppressions: suppressions.toReversed().slice(0, SHOWN_SUPPRESSIONS),
  };
}

/** An alert that is no longer kept, reconstructed from its last episode. */
export function alertOfEpisode({ alertId, events, ending, ...episode }: Episode): Alert {
  return {
    ...episode,
    id: alertId,
    scope: '',
    subject: '',
    rule: '',
    firstRule: '',
    state: 'resolved',
    annotations: {},
    ...(ending !== null && { ending }),
    updatedAtUs: episode.endsAtUs,
    eventsTotal: events,
    lastSeq: 0,
    memory: null,
    dueAtUs: null,
  };
}

export type AlertSurroundings = Awaited<ReturnType<typeof readAlertSurroundings>>;

const FLIGHTS = 60;
const LOG = 200;
const FAILURES = 20;

export async function readAlertSurroundings(tx: Transaction, { alert, isKept }: AlertRecord) {
  const { region = '', nest_id: nestId, bird_id: birdId } = alert.labels;
  const members = nestId === undefined ? [] : await tx.inventory.nestMembers(region);
  const beforeUs = alert.state === 'firing' ? undefined : alert.endsAtUs + 1;
  const flights = birdId === undefined ? [] : await tx.birds.latestFlights(region, birdId, FLIGHTS, beforeUs);
  return {
    flights,
    changes: birdId === undefined ? [] : await birdChanges(tx, region, birdId, flights),
    members: members.find((one) => one.nestId === nestId)?.addresses ?? [],
    failures: isKept ? [] : await failuresOf(tx, alert, FAILURES),
  };
}

/** What people did to a Bird, or the service to protect itself, since the first of these Flights; newest first. */
export async function birdChanges(
  tx: Transaction,
  region: string,
  birdId: string,
  flights: readonly FlightOverview[],
): Promise<Event[]> {
  const fromUs = flights.findLast(({ startedAtUs }) => startedAtUs > 0)?.startedAtUs ?? 0;
  const log = await tx.birds.log(region, birdId, LOG);
  return log.filter(({ type, occurredAtUs }) => type !== 'bird_log.EventError' && occurredAtUs >= fromUs);
}
