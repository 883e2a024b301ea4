/** Reads everything known about one Bird, for the page, the API and commands. */
import type { Action } from '../domain/action/action.ts';
import type { Alert } from '../domain/alert/alert.ts';
import type { Event } from '../domain/alert/event.ts';
import { birdScope } from '../domain/alert/fact.ts';
import {
  type Cause,
  causesOf,
  percentile,
  type Rhythm,
  rhythmOf,
} from '../domain/statistics/flight-statistics.ts';
import type { FlightCounts, FlightOverview } from '../store/bird-store.ts';
import { type DeadlineConfig, loadDeadlines, type RuleDeadlines } from '../store/load-deadlines.ts';
import type { Store } from '../store/store.ts';
import { type UnusualFlights, type UnusualSetting, unusualFlights } from '../store/unusual-flights.ts';
import { type ShownBird, showBirds } from './acknowledged-birds.ts';
import { birdChanges } from './alert-surroundings.ts';

export interface BirdReport {
  readonly bird: ShownBird;
  /** Its last Flights, latest first. */
  readonly flights: readonly FlightOverview[];
  /** How its Flights ended within each of `COUNTED_HOURS`, in that order. */
  readonly counts: readonly (FlightCounts & { readonly hours: number })[];
  /** The median and 95th percentile of the duration of those of `flights` that succeeded. */
  readonly durations: { readonly count: number; readonly p50Us: number; readonly p95Us: number } | undefined;
  /** Why its last Flights failed, most frequent cause first; covers the last `FAILURES` failures. */
  readonly causes: readonly Cause<FlightOverview>[];
  /** Alerts about it: those that fire, then those that ended recently; newest first. */
  readonly alerts: readonly Alert[];
  /** What was done to it since the first of `flights`, newest first. */
  readonly changes: readonly Event[];
  /** When it first failed after its last success, if it did; absent if that Flight is not among `flights`. */
  readonly failingSince: FlightOverview | undefined;
  /** The last entries of its own log, newest first. */
  readonly log: readonly Event[];
  /** When its next Flight is due; only for an active Bird with a scheduled trigger. */
  readonly rhythm: Rhythm | undefined;
  /** If the Bird is not active, the log entry that says who or what switched it off, if there is one. */
  readonly switchedOff: Event | undefined;
  /** What nestwatch last did, or was to do, to it. */
  readonly action: Action | undefined;
  /** When its region was first watched; 0 if it never was. */
  readonly sinceUs: number;
  /** Of each rule that gives it deadlines, with the last 14. */
  readonly deadlines: readonly RuleDeadlines[];
  /** What was unusual about its Flights within the last day. */
  readonly unusual: readonly UnusualFlights[];
}

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
): Promise<BirdReport | undefined> {
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
      deadlines: judged ? await loadDeadlines(tx, judged, config, DEADLINES, nowUs) : [],
      flights,
      counts: await tx.birds.countFlights(region, birdId, since),
      failures: await tx.birds.failures(region, birdId, FAILURES),
      alerts: await tx.alerts.ofScopes([birdScope(region, birdId)]),
      changes: await birdChanges(tx, region, birdId, flights),
      log: await tx.birds.log(region, birdId, LOG),
      unusual: await unusualFlights(tx, found, { ...config, timezone: 'UTC' }, nowUs - 24 * HOUR_US, nowUs),
      action: (await tx.actions.ofBird(region, birdId, 1))[0],
      sinceUs: (await tx.inventory.knownSince(region)) ?? 0,
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
export function failingSince(flights: readonly FlightOverview[]): FlightOverview | undefined {
  const ended = flights.filter(({ status }) => status === 'failed' || status === 'succeeded');
  const landed = ended.findIndex(({ status }) => status === 'succeeded');
  return landed > 0 ? ended[landed - 1] : undefined;
}

function durationsOf(flights: readonly FlightOverview[]): BirdReport['durations'] {
  const known = flights.flatMap((one) => (one.status === 'succeeded' ? (durationUs(one) ?? []) : []));
  if (known.length === 0) return undefined;
  return { count: known.length, p50Us: percentile(known, 0.5)!, p95Us: percentile(known, 0.95)! };
}

function firingFirst(a: Alert, b: Alert): number {
  return Number(b.state === 'firing') - Number(a.state === 'firing') || changedUs(b) - changedUs(a);
}

const changedUs = ({ state, startsAtUs, endsAtUs }: Alert) => (state === 'firing' ? startsAtUs : endsAtUs);
