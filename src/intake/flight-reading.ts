/**
 * Reads the Flights of a Bird from the service, whose list has no paging and an unknown cap, and the log of a failed
 * one. What the requests of one poll bring is gathered in its rows.
 */
import type { Clock } from '../clock.ts';
import { NestwatchError } from '../errors.ts';
import type { Instant } from '../instant.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Flight, FlightLogEntry, Parsed } from '../service/resources.ts';
import type { FlightRecord, QuarantinedEntry } from '../store/record.ts';
import { ANCHOR_MARGIN_US } from './sweep.ts';

/** Shorter answers are taken as whole. */
const SUSPICIOUS_ROWS = 20;

/** Flights asked for one by one before `Status=active` is cheaper. */
const SINGLE_READS = 2;

/** With so many the newer part of a backlog waits for the next poll. */
const MOST_ROWS = 2_000;

/** Of a Flight's log, whose end tells of the failure. */
const LOG_ENTRIES = 50;

export interface FlightReaderOptions {
  readonly client: ServiceClient;
  readonly clock: Clock;
  /** The Nest a Bird is in now; it may move. */
  readonly nestOf: (birdId: string) => string;
  /** No larger page is asked for. */
  readonly pageSize: () => number;
}

/** What the requests of one poll brought together; a later reading of a Flight replaces an earlier one. */
export interface FlightRows {
  readonly flights: Map<string, Flight>;
  readonly quarantined: QuarantinedEntry[];
  serverTimeUs: number | null;
  requests: number;
  /** What started later is not there: the next poll reads it. Infinity for a window that was read to its end. */
  readToUs: number;
}

/** Of start dates. Without a beginning it holds also the Flights of which no start is known. */
export interface FlightWindow {
  readonly minStartUs?: number;
  readonly maxStartUs?: number;
  readonly status?: string;
}

export interface FailureLog {
  readonly failure?: FlightLogEntry | undefined;
  readonly endedAt?: Instant | undefined;
}

export interface FlightReader {
  /**
   * Reads the Flights of a window. An answer as long as the longest ever seen may be cut, and one too large is not
   * received at all; both are read again in halves. With a cursor it stops early where there are more than a poll
   * should hold, once some started after the cursor: a backlog is so read from its oldest end. Resolves to whether
   * the window was read to its end.
   */
  readWindow(birdId: string, window: FlightWindow, rows: FlightRows, cursorUs?: number): Promise<boolean>;
  /**
   * Finds the open Flights that the rows lack, and all that are active where that is wanted; resolves to the records
   * of those that are there no more.
   */
  readMissing(
    birdId: string,
    known: ReadonlyMap<string, FlightRecord>,
    wantsActive: boolean,
    rows: FlightRows,
  ): Promise<FlightRecord[]>;
  /** The failing step and the exact end, when the pace has room for one more request. */
  readFailure(birdId: string, flightId: string, rows: FlightRows): Promise<FailureLog>;
}

export function noRows(): FlightRows {
  return {
    flights: new Map(),
    quarantined: [],
    serverTimeUs: null,
    requests: 0,
    readToUs: Number.POSITIVE_INFINITY,
  };
}

export function createFlightReader({ client, clock, nestOf, pageSize }: FlightReaderOptions): FlightReader {
  /** The longest list of Flights that the region ever answered, whichever Bird's: a cap shows there. */
  let longestAnswer = 0;

  async function readWindow(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    cursorUs = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    const startsUs: number[] = [];
    rows.requests += 1;
    try {
      const answer = await client.searchFlights(nestOf(birdId), birdId, window);
      rows.serverTimeUs = answer.serverTimeUs ?? rows.serverTimeUs;
      collect(answer.value, rows, startsUs);
      if (startsUs.length < Math.max(SUSPICIOUS_ROWS, longestAnswer)) return true;
      longestAnswer = startsUs.length;
    } catch (error) {
      if (!(error instanceof NestwatchError && error.code === 'too_large')) throw error;
    }
    const endUs = window.maxStartUs ?? startsUs.reduce((a, b) => Math.max(a, b), clock.nowUs());
    // The service keeps nothing for longer than some months, so halving the years before costs a few requests.
    const startUs = window.minStartUs ?? 0;
    if (endUs - startUs < 4 * ANCHOR_MARGIN_US) return true;
    const middleUs = Math.floor((startUs + endUs) / 2);
    if (!(await readWindow(birdId, { ...window, maxStartUs: middleUs }, rows, cursorUs))) return false;
    if (isEnough(rows, cursorUs, middleUs)) {
      rows.readToUs = middleUs;
      for (const [flightId, { startedAt }] of rows.flights) {
        if (startedAt && startedAt.us > middleUs) rows.flights.delete(flightId);
      }
      return false;
    }
    return readWindow(birdId, { ...window, minStartUs: middleUs - ANCHOR_MARGIN_US }, rows, cursorUs);
  }

  return {
    readWindow,
    async readMissing(birdId, known, wantsActive, rows) {
      const missing = () => [...known.values()].filter((one) => one.open && !rows.flights.has(one.flightId));
      const lacking = missing();
      if (wantsActive || lacking.length > SINGLE_READS) {
        const oldestUs = lacking.reduce((us, one) => Math.min(us, one.startedAtUs), Number.POSITIVE_INFINITY);
        const isBounded = !wantsActive && oldestUs > 0;
        const since = isBounded ? { minStartUs: oldestUs - ANCHOR_MARGIN_US } : {};
        await readWindow(birdId, { status: 'active', ...since }, rows);
      }
      const vanished: FlightRecord[] = [];
      for (const record of missing()) {
        rows.requests += 1;
        try {
          const answer = await client.getFlight(nestOf(birdId), birdId, record.flightId);
          rows.serverTimeUs = answer.serverTimeUs ?? rows.serverTimeUs;
          collect([answer.value], rows, []);
        } catch (error) {
          if (!(error instanceof NestwatchError && error.code === 'not_found')) throw error;
          vanished.push({ ...record, open: false });
        }
      }
      return vanished;
    },
    async readFailure(birdId, flightId, rows) {
      if (!client.slack()) return {};
      rows.requests += 1;
      try {
        const query = { page: 0, pageSize: Math.min(LOG_ENTRIES, pageSize()), ascending: false };
        const answer = await client.getFlightLogs(nestOf(birdId), birdId, flightId, query);
        const entries = answer.value.items.flatMap((item) => (item.ok ? [item.entry] : []));
        entries.sort((a, b) => b.createdAt.us - a.createdAt.us);
        const failure = entries.find(
          (one) => Number(one.eventType) === 5 && !one.isSkipped && !one.isRetried,
        );
        const end = entries.find((one) => Number(one.eventType) === 2 || Number(one.eventType) === 3);
        return { failure, endedAt: (end ?? failure)?.createdAt };
      } catch (error) {
        // The log only adds to what the Flight itself says: its trouble must not hold the event back.
        if (error instanceof NestwatchError) return {};
        throw error;
      }
    },
  };
}

/** Whether there are many that started up to `toUs`, and among them some after the cursor. */
function isEnough({ flights }: FlightRows, cursorUs: number, toUs: number): boolean {
  if (flights.size < MOST_ROWS) return false;
  const startsUs = [...flights.values()]
    .map((flight) => flight.startedAt?.us ?? 0)
    .filter((us) => us <= toUs);
  return startsUs.length >= MOST_ROWS && startsUs.some((us) => us > cursorUs);
}

function collect(items: readonly Parsed<Flight>[], rows: FlightRows, startsUs: number[]): void {
  for (const item of items) {
    if (!item.ok) {
      rows.quarantined.push({ raw: item.raw, reason: item.reason });
      continue;
    }
    rows.flights.set(item.entry.id, item.entry);
    startsUs.push(item.entry.startedAt?.us ?? 0);
  }
}
