/**
 * What a watch remembers of its Bird's Flights, by id: those that are open, and those that ended within the window that
 * polls read again. For everything else there is the store.
 */
import type { Flight } from '../../service/resources.ts';
import type { FlightRecord } from '../../store/flight-store.ts';
import type { Store } from '../../store/store.ts';
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';

export type KnownFlights = ReadonlyMap<string, FlightRecord>;

/** Shared by all Birds without known Flights. */
export const NO_FLIGHTS: KnownFlights = new Map();

/** Open Flights that started at most this long before the window are included by widening it. */
const WIDEN_US = 15 * 60 * 1_000_000;

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
