/** Reads everything known about one Bird or one Flight, for the page, the API and commands. */
import type { Alert } from '../domain/alert/alert.ts';
import { birdScope } from '../domain/alert/fact.ts';
import { countsFromUs, flightOverdue } from '../domain/kinds/flight-overdue.ts';
import { waitsOf } from '../domain/kinds/flight-waiting.ts';
import { acknowledgementsByAlert, isAcknowledgementOver, type Silence } from '../domain/muting/silence.ts';
import { causesOf, percentile, rhythmOf } from '../domain/statistics/flight-statistics.ts';
import type { BirdOverview, FlightOverview } from '../store/bird-store.ts';
import {
  type DeadlineConfig,
  loadDeadlines,
  type UnusualSetting,
  unusualFlights,
} from '../store/read-history.ts';
import type { Store, Transaction } from '../store/store.ts';
import { birdChanges } from './alert-record.ts';
import { actionsOf } from './explain.ts';

export type BirdReport = NonNullable<Awaited<ReturnType<typeof readBirdReport>>>;

/** The last day, week and 30 days. */
const COUNTED_HOURS = [24, 7 * 24, 30 * 24] as const;
const FLIGHTS = 90;
const LOG = 20;
const DEADLINES = { afterUs: 0, most: 14 };
/** Failures whose cause is determined: their signatures take about 10 ms. */
const FAILURES = 50;

const HOUR_US = 3_600_000_000;
const SWITCHED_OFF = ['bird_log.Suspended', 'bird_log.Deactivated'];

/** Undefined for an unknown Bird. */
export async function readBirdReport(
  store: Store,
  region: string,
  birdId: string,
  config: DeadlineConfig & Omit<UnusualSetting, 'timezone'>,
  nowUs: number,
) {
  const read = await store.transaction(async (tx) => {
    const found = await tx.birds.find(region, birdId);
    if (!found) return undefined;
    const bird = (await showBirds(tx, [found], nowUs))[0]!;
    const isOff = bird.present && bird.status !== 'active';
    const flights = await tx.birds.latestFlights(region, birdId, FLIGHTS);
    const since = COUNTED_HOURS.map((hours) => nowUs - hours * HOUR_US);
    const judged = await tx.overdue.bird(region, birdId);
    return {
      bird,
      // Of each rule that gives it deadlines, with the last 14.
      deadlines: judged ? await loadDeadlines(tx, judged, config, DEADLINES, nowUs) : [],
      // These lists are the newest first.
      flights,
      counts: await tx.birds.countFlights(region, birdId, since),
      failures: await tx.birds.failures(region, birdId, FAILURES),
      alerts: await tx.alerts.ofScopes([birdScope(region, birdId)]),
      changes: await birdChanges(tx, region, birdId, flights),
      log: await tx.birds.log(region, birdId, LOG),
      unusual: await unusualFlights(tx, found, { ...config, timezone: 'UTC' }, nowUs - 24 * HOUR_US, nowUs),
      // What nestwatch last did, or was to do, to it.
      action: (await tx.actions.ofBird(region, birdId, 1))[0],
      sinceUs: (await tx.inventory.knownSince(region)) ?? 0,
      // The log entry that says who or what switched it off, if there is one.
      switchedOff: isOff ? await tx.birds.lastOfTypes(region, birdId, SWITCHED_OFF) : undefined,
    };
  });
  if (!read) return undefined;
  const { failures, ...report } = read;
  const isScheduled = read.bird.triggerType === 'scheduled' && read.bird.status === 'active';
  return {
    ...report,
    counts: read.counts.map((one, index) => ({ ...one, hours: COUNTED_HOURS[index]! })),
    alerts: read.alerts.filter(({ state }) => state !== 'pending').sort(firingFirst),
    // Outside the transaction, so that no other work waits for it.
    causes: causesOf(failures),
    failingSince: failingSince(read.flights),
    durations: durationsOf(read.flights),
    rhythm: isScheduled ? rhythmOf(read.flights.map((one) => one.startedAtUs)) : undefined,
  };
}

/** How long a Flight took; undefined if unknown. */
export function durationUs({ startedAtUs, endedAtUs }: FlightOverview): number | undefined {
  return startedAtUs > 0 && endedAtUs >= startedAtUs ? endedAtUs - startedAtUs : undefined;
}

/** `flights` are latest first. */
function failingSince(flights: readonly FlightOverview[]): FlightOverview | undefined {
  const ended = flights.filter(({ status }) => status === 'failed' || status === 'succeeded');
  const landed = ended.findIndex(({ status }) => status === 'succeeded');
  return landed > 0 ? ended[landed - 1] : undefined;
}

function durationsOf(flights: readonly FlightOverview[]) {
  const known = flights.flatMap((one) => (one.status === 'succeeded' ? (durationUs(one) ?? []) : []));
  if (known.length === 0) return undefined;
  return { count: known.length, p50Us: percentile(known, 0.5)!, p95Us: percentile(known, 0.95)! };
}

function firingFirst(a: Alert, b: Alert): number {
  return Number(b.state === 'firing') - Number(a.state === 'firing') || changedUs(b) - changedUs(a);
}

const changedUs = ({ state, startsAtUs, endsAtUs }: Alert) => (state === 'firing' ? startsAtUs : endsAtUs);

export type FlightReport = NonNullable<Awaited<ReturnType<typeof readFlightReport>>>;

/** Undefined for an unknown Flight. */
export async function readFlightReport(tx: Transaction, region: string, flightId: string) {
  const flight = await tx.birds.findFlight(region, flightId);
  if (!flight) return undefined;
  const { eventKey, birdId, startedAtUs } = flight;
  const [previous] = startedAtUs > 0 ? await tx.birds.latestFlights(region, birdId, 1, startedAtUs) : [];
  const next = startedAtUs > 0 ? await tx.birds.nextFlight(region, birdId, startedAtUs) : undefined;
  const bird = await tx.birds.find(region, birdId);
  const beside = { flight, bird, previous, next };
  if (eventKey === '') {
    const alerts = (await tx.alerts.ofScopes([birdScope(region, birdId)])).filter((one) =>
      concerns(one, flight),
    );
    return { ...beside, event: undefined, alerts, deliveries: [], suppressions: [], actions: [] };
  }
  const linked = await tx.alerts.ofEvent(eventKey);
  const notifications = await tx.outbox.notificationsOfEvent(eventKey);
  // Of its last end, with the full error.
  const event = await tx.events.find(eventKey);
  return {
    ...beside,
    event,
    actions: event ? await actionsOf(tx, event) : [],
    alerts: linked.filter(({ alert, seq }) => seq <= alert.lastSeq).map(({ alert }) => alert),
    deliveries: notifications.flatMap((one) => one.deliveries),
    suppressions: await tx.suppressions.ofEvent(eventKey),
  };
}

/** Whether it fires about a Flight in the air, which no event joins to it. */
function concerns(alert: Alert, { flightId, startedAtUs }: FlightOverview): boolean {
  if (alert.state !== 'firing') return false;
  if (alert.alertname === flightOverdue.name) return startedAtUs >= countsFromUs(alert);
  return alert.labels.flight_id === flightId || waitsOf(alert).some((one) => one.flightId === flightId);
}

export interface ShownBird extends BirdOverview {
  /** Whether alerts about it fire and each is acknowledged. */
  readonly isAcknowledged: boolean;
}

export async function showBirds(
  tx: Transaction,
  birds: readonly BirdOverview[],
  nowUs: number,
): Promise<ShownBird[]> {
  const scopes = birds.flatMap((one) => (one.firing > 0 ? [birdScope(one.region, one.birdId)] : []));
  if (scopes.length === 0) return birds.map((one) => ({ ...one, isAcknowledged: false }));
  const byScope = Map.groupBy(await tx.alerts.ofScopes(scopes), ({ scope }) => scope);
  const acknowledgements = acknowledgementsByAlert(await tx.silences.list(nowUs));
  return birds.map((one) => ({
    ...one,
    isAcknowledged: areAcknowledged(byScope.get(birdScope(one.region, one.birdId)) ?? [], acknowledgements),
  }));
}

function areAcknowledged(
  alerts: readonly Alert[],
  acknowledgements: ReadonlyMap<string, readonly Silence[]>,
): boolean {
  const firing = alerts.filter(({ state }) => state === 'firing');
  const isAcknowledged = (alert: Alert) =>
    acknowledgements.get(alert.id)?.some((one) => !isAcknowledgementOver(one, alert));
  return firing.length > 0 && firing.every(isAcknowledged);
}
