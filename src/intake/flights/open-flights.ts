/**
 * Requests the open Flights of a Bird that a poll's list lacks. One or two are read by `getFlight`. More are read by
 * `Status=active`, and those that are no longer in that list by `getFlight`.
 */
import { isStoreFailure, NestwatchError } from '../../errors.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Flight } from '../../service/resources.ts';
import type { FlightRecord } from '../../store/event-store.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../time/clock.ts';
import { formatInstant, type Instant } from '../../time/instant.ts';
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';
import { collect, type FlightReadingOptions, type FlightRows, type FlightWindows } from './flight-windows.ts';

/** The most Flights that are requested one by one. Beyond that `Status=active` is cheaper. */
const SINGLE_READS = 2;

export class OpenFlights {
  readonly #options: FlightReadingOptions;
  readonly #windows: FlightWindows;
  readonly #missing: MissingFlights;

  constructor(options: FlightReadingOptions, windows: FlightWindows) {
    this.#options = options;
    this.#windows = windows;
    this.#missing = new MissingFlights(options.clock);
  }

  /**
   * Adds the open Flights that the rows lack; `areActiveRead` if the rows hold all active Flights. Resolves to the
   * records of those that the service no longer has. A Flight that cannot be read while the region is up stays open. One
   * that has failed and only waits for its reason is added from its record if it cannot be read.
   */
  async read(
    birdId: string,
    known: ReadonlyMap<string, FlightRecord>,
    areActiveRead: boolean,
    rows: FlightRows,
  ): Promise<FlightRecord[]> {
    const lacking = () => [...known.values()].filter((one) => one.open && !rows.flights.has(one.flightId));
    const asked = lacking().filter(({ flightId }) => !this.#missing.isPutOff(flightId));
    if (!areActiveRead && asked.length > SINGLE_READS) {
      const oldestUs = asked.reduce((us, one) => Math.min(us, one.startedAtUs), Number.POSITIVE_INFINITY);
      const since = oldestUs > 0 ? { minStartUs: oldestUs - ANCHOR_MARGIN_US } : {};
      await this.#windows.read(birdId, { status: 'active', ...since }, rows).catch((error: unknown) => {
        // Then each of them is requested separately.
        if (isOfRegion(error, this.#options.client)) throw error;
      });
    }
    for (const flightId of rows.flights.keys()) this.#missing.seen(flightId);
    const vanished: FlightRecord[] = [];
    for (const record of lacking()) {
      const isGone = !this.#missing.isPutOff(record.flightId) && (await this.#readOne(birdId, record, rows));
      if (rows.flights.has(record.flightId)) continue;
      if (record.status === 'failed') rows.flights.set(record.flightId, this.asKnown(birdId, record));
      else if (isGone) vanished.push({ ...record, open: false });
    }
    return vanished;
  }

  /** A failed Flight that waits for its reason, reconstructed from its record. */
  asKnown(birdId: string, { flightId, startedAtUs, status, endedAtUs }: FlightRecord): Flight {
    return {
      id: flightId,
      birdId,
      nestId: this.#options.nestOf(birdId),
      status,
      errorMessages: '',
      startedAt: startedAtUs > 0 ? { us: startedAtUs, text: formatInstant(startedAtUs) } : null,
      durationSeconds: (endedAtUs! - startedAtUs) / 1e6,
    };
  }

  /** Forgets what was noted about these Flights, because their Bird is no longer watched. */
  forget(flightIds: Iterable<string>): void {
    for (const flightId of flightIds) this.#missing.seen(flightId);
  }

  /** Requests one Flight. Resolves to whether the service certainly no longer has it. */
  async #readOne(birdId: string, { flightId }: FlightRecord, rows: FlightRows): Promise<boolean> {
    const { client, nestOf } = this.#options;
    rows.requests += 1;
    try {
      const answer = await client.getFlight(nestOf(birdId), birdId, flightId);
      rows.serverTimeUs = answer.serverTimeUs ?? rows.serverTimeUs;
      collect([answer.value], rows);
      this.#missing.seen(flightId);
      return false;
    } catch (error) {
      if (!(error instanceof NestwatchError)) throw error;
      if (error.code === 'not_found') return this.#missing.isGone(flightId);
      // A failure of the region fails the whole poll.
      if (isOfRegion(error, client)) throw error;
      this.#missing.failed(flightId);
      return false;
    }
  }
}

/**
 * Whether an error concerns the whole region. While the region is up, other errors concern only the requested object.
 */
export function isOfRegion(error: unknown, client: Pick<ServiceClient, 'health'>): boolean {
  if (!(error instanceof NestwatchError) || isStoreFailure(error)) return true;
  if (error.code === 'cancelled' || client.health().health !== 'up') return true;
  return error.code === 'rate_limited' && !error.facts.isAlone;
}

/** The least time between two such answers that are believed. */
const APART_MS = 60_000;

const FIRST_PUT_OFF_MS = 30_000;
const MOST_PUT_OFF_MS = 3_600_000;

/**
 * Keeps track of open Flights for which the service does not answer properly when they are requested separately.
 *
 * If the service says that it does not have a Flight, the Flight is given up only at a second such answer in a row,
 * at least a minute after the first: a single wrong answer must not end the watch. If the request for a Flight fails
 * while requests for others succeed, the Flight stays open and is requested ever more rarely, so that it does not
 * delay its Bird.
 */
class MissingFlights {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** When it was first said to be missing. */
  readonly #missingSinceMs = new Map<string, number>();
  readonly #putOff = new Map<string, { readonly untilMs: number; readonly forMs: number }>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Whether a request for it failed recently, so that it is not requested now. */
  isPutOff(flightId: string): boolean {
    return this.#clock.monotonicMs() < (this.#putOff.get(flightId)?.untilMs ?? 0);
  }

  /** The service says that it does not have it. Returns whether to believe that. */
  isGone(flightId: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#missingSinceMs.getOrInsert(flightId, nowMs);
    this.#putOff.delete(flightId);
    if (nowMs - sinceMs < APART_MS) return false;
    this.#missingSinceMs.delete(flightId);
    return true;
  }

  /** A request for it failed. */
  failed(flightId: string): void {
    const lastMs = this.#putOff.get(flightId)?.forMs ?? FIRST_PUT_OFF_MS / 2;
    const forMs = Math.min(MOST_PUT_OFF_MS, 2 * lastMs);
    this.#putOff.set(flightId, { untilMs: this.#clock.monotonicMs() + forMs, forMs });
  }

  /** Forgets what was noted about it: it was seen, or its Bird is no longer watched. */
  seen(flightId: string): void {
    this.#missingSinceMs.delete(flightId);
    this.#putOff.delete(flightId);
  }
}

// What a watch remembers of its Bird's Flights, by id: those that are open, and those that ended within the window that
// polls read again. For everything else there is the store.

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
