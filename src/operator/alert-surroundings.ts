/** Reads what happened around an alert: to its Bird before and while it fired, and who can act. */
import type { Event } from '../domain/alert/event.ts';
import type { FlightOverview } from '../store/bird-store.ts';
import { failuresOf } from '../store/report/episode-messages.ts';
import type { Transaction } from '../store/store.ts';
import type { AlertRecord } from './alert-record.ts';

export interface AlertSurroundings {
  /** Flights of its Bird until it ended, or now, latest first; empty if it is about no Bird. */
  readonly flights: readonly FlightOverview[];
  /** What was done to the Bird since the first of these Flights, newest first. */
  readonly changes: readonly Event[];
  /** Mail addresses of the members of its Nest, as far as they are read. */
  readonly members: readonly string[];
  /** Its failed Flights, newest first, if the alert itself is no longer kept. */
  readonly failures: readonly Event[];
}

const FLIGHTS = 60;
const LOG = 200;
const FAILURES = 20;

export async function readAlertSurroundings(
  tx: Transaction,
  { alert, isKept }: AlertRecord,
): Promise<AlertSurroundings> {
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
