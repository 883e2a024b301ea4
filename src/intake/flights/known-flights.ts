/**
 * What a watch remembers of its Bird's Flights, by id: those that are open, and those that ended within the window that
 * polls read again. For everything else there is the store.
 */
import type { Flight } from '../../service/resources.ts';
import type { FlightRecord } from '../../store/flight-store.ts';
import type { Store } from '../../store/store.ts';
import { formatInstant, type Instant } from '../../time/instant.ts';
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';

export type KnownFlights = ReadonlyMap<string, FlightRecord>;

/** Shared by all Birds without known Flights. */
export const NO_FLIGHTS: KnownFlights = new Map();

/** Open Flights that started at most this long before the window are included by widening it. */
const WIDEN_US = 15 * 60 * 1_000_000;

const MOST_ENDS_IN_LOG = 5;

/** The start up to which ended Flights need not be remembered any more. */
export function forgottenUntilUs(cursorUs: number): number {
  return cursorUs - 2 * WIDEN_US;
}

/** Where a window that begins at `fromUs` begins so that it includes open Flights that started a little earlier. */
export function widenedFromUs(known: KnownFlights, fromUs: number): number {
  let widenedUs = fromUs;
  for (const { open, startedAtUs } of known.values()) {
    if (!open || startedAtUs <= fromUs - WIDEN_US) continue;
    widenedUs = Math.min(widenedUs, startedAtUs - ANCHOR_MARGIN_US);
  }
  return widenedUs;
}

/**
 * When the latest of the Flights started that were not known to have ended before and have succeeded now; 0 if there
 * is none.
 */
export function latestSuccessUs(flights: Iterable<Flight>, before: KnownFlights): number {
  let latestUs = 0;
  for (const { id, status, startedAt } of flights) {
    if (status !== 'succeeded' || !startedAt || before.get(id)?.open === false) continue;
    latestUs = Math.max(latestUs, startedAt.us);
  }
  return latestUs;
}

/**
 * Failed Flights from before `firstFromUs` whose log has to show when they ended, because the service does not state a
 * duration: a few that started last, since each log is a request.
 */
export function endsInLog(
  flights: Iterable<Flight>,
  firstFromUs: number,
  serviceNowUs: number,
): ReadonlySet<string> {
  const startOf = ({ startedAt }: Flight) => startedAt?.us ?? Number.POSITIVE_INFINITY;
  const undated = [...flights].filter(
    (flight) => flight.status === 'failed' && startOf(flight) < firstFromUs && !endOf(flight, serviceNowUs),
  );
  undated.sort((a, b) => startOf(b) - startOf(a));
  return new Set(undated.slice(0, MOST_ENDS_IN_LOG).map(({ id }) => id));
}

/**
 * When the Flight ended: start + duration, which is taken as seconds. Undefined if one is missing, or if the result
 * is in the service's future, because the unit is then another one.
 */
export function endOf({ startedAt, durationSeconds }: Flight, serviceNowUs: number): Instant | undefined {
  if (!startedAt || durationSeconds === null || durationSeconds < 0) return undefined;
  const us = startedAt.us + Math.round(durationSeconds * 1_000_000);
  return us <= serviceNowUs ? { us, text: formatInstant(us) } : undefined;
}

/** The records of these Flights, from memory or, if memory no longer holds them, from the store. */
export async function recordsOf(
  store: Store,
  stream: number,
  known: KnownFlights,
  flights: Iterable<Flight>,
): Promise<Map<string, FlightRecord>> {
  const found = new Map<string, FlightRecord>();
  const unknown: string[] = [];
  for (const { id } of flights) {
    const record = known.get(id);
    if (record) found.set(id, record);
    else unknown.push(id);
  }
  if (unknown.length > 0) {
    const stored = await store.transaction((tx) => tx.flights.find(stream, unknown));
    for (const record of stored) found.set(record.flightId, record);
  }
  return found;
}
