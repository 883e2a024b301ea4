/**
 * Requests the open Flights of a Bird that a poll's list lacks. One or two are read by `getFlight`. More are read by
 * `Status=active`, and those that are no longer in that list by `getFlight`.
 */
import { isStoreFailure, NestwatchError } from '../../errors.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Flight } from '../../service/resources.ts';
import type { FlightRecord } from '../../store/flight-store.ts';
import { formatInstant } from '../../time/instant.ts';
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';
import { collect, type FlightRows } from './flight-rows.ts';
import type { FlightReadingOptions, FlightWindows } from './flight-windows.ts';
import { createMissingFlights, type MissingFlights } from './missing-flights.ts';

/** The most Flights that are requested one by one. Beyond that `Status=active` is cheaper. */
const SINGLE_READS = 2;

export class OpenFlights {
  readonly #options: FlightReadingOptions;
  readonly #windows: FlightWindows;
  readonly #missing: MissingFlights;

  constructor(options: FlightReadingOptions, windows: FlightWindows) {
    this.#options = options;
    this.#windows = windows;
    this.#missing = createMissingFlights(options.clock);
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
