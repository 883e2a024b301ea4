/**
 * Reads the Flights of a Bird from the service, whose list has no paging and an unknown cap. What the requests of one
 * poll bring is gathered in its rows.
 */

import { NestwatchError } from '../../errors.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Flight, Parsed } from '../../service/resources.ts';
import type { FlightRecord } from '../../store/flight-store.ts';
import type { QuarantinedEntry } from '../../store/stream-store.ts';
import type { Clock } from '../../time/clock.ts';
import { formatInstant } from '../../time/instant.ts';
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';
import { isTouching, type UnreadWindow } from './flight-gaps.ts';
import { createFlightDoubts } from './missing-flights.ts';

/** Shorter answers are taken as whole. */
const SUSPICIOUS_ROWS = 20;

/** Flights asked for one by one before `Status=active` is cheaper. */
const SINGLE_READS = 2;

/** With so many the newer part of a backlog waits for the next poll. */
const MOST_ROWS = 2_000;

/** Within some seconds windows are halved as far as a service can tell them apart that counts milliseconds. */
const DENSE_MARGIN_US = 2_000;
const LEAST_WINDOW_US = 20_000;

/** For one window of some seconds. */
const DENSE_REQUESTS = 60;

/** What Flights can be asked for by (specification, searchFlights). */
const STATUSES = ['active', 'succeeded', 'failed', 'cancelled'];

export interface FlightReaderOptions {
  readonly client: ServiceClient;
  readonly clock: Clock;
  /** The Nest a Bird is in now; it may move. */
  readonly nestOf: (birdId: string) => string;
}

/** What the requests of one poll brought together; a later reading of a Flight replaces an earlier one. */
export interface FlightRows {
  readonly flights: Map<string, Flight>;
  readonly quarantined: QuarantinedEntry[];
  serverTimeUs: number | null;
  requests: number;
  /** Logs read though the pace left no room for them. */
  neededLogs: number;
  /** Where the list could not be read, however it was asked. */
  readonly unread: UnreadWindow[];
  /** Where it is not tried anew. */
  readonly givenUp: readonly UnreadWindow[];
  /** What started later is not there: the next poll reads it. Infinity for a window that was read to its end. */
  readToUs: number;
}

/** Of start dates. Without a beginning it holds also the Flights of which no start is known. */
export interface FlightWindow {
  readonly minStartUs?: number;
  readonly maxStartUs?: number;
  readonly status?: string;
}

/** When the Flights of an answer started, by id; 0 where that is not given. */
type Listed = ReadonlyMap<string, number>;

export interface FlightReader {
  /**
   * Reads the Flights of a window. An answer as long as the longest ever seen may be cut, and one too large is not
   * received at all; both are read again in halves, and what cannot be halved any more by status. A window that is
   * unreadable even so is set down in the rows, never passed over in silence. With a cursor it stops early where there
   * are more than a poll should hold, once some started after the cursor: a backlog is so read from its oldest end.
   * Resolves to whether the window was read to its end.
   */
  readWindow(birdId: string, window: FlightWindow, rows: FlightRows, cursorUs?: number): Promise<boolean>;
  /**
   * Finds the open Flights that the rows lack, and all that are active where that is wanted; resolves to the records
   * of those that are there no more. One that cannot be read while the region is up stays open. One that is known to
   * have failed, and waits for its reason only, is in the rows as it is known where it cannot be read any more.
   */
  readMissing(
    birdId: string,
    known: ReadonlyMap<string, FlightRecord>,
    wantsActive: boolean,
    rows: FlightRows,
  ): Promise<FlightRecord[]>;
  /** A Flight that failed and waits for its reason, as its record tells of it. */
  asKnown(birdId: string, record: FlightRecord): Flight;
  /** Nobody watches these Flights any more. */
  forget(flightIds: Iterable<string>): void;
}

export function noRows(givenUp: readonly UnreadWindow[] = []): FlightRows {
  return {
    flights: new Map(),
    quarantined: [],
    serverTimeUs: null,
    requests: 0,
    neededLogs: 0,
    unread: [],
    givenUp,
    readToUs: Number.POSITIVE_INFINITY,
  };
}

export function createFlightReader({ client, clock, nestOf }: FlightReaderOptions): FlightReader {
  /** The longest list of Flights that the region ever answered, whichever Bird's: a cap shows there. */
  let longestAnswer = 0;
  /** Where answers were seen to be cut; Infinity as long as none was. */
  let cap = Number.POSITIVE_INFINITY;
  const doubts = createFlightDoubts(clock);

  /** Undefined for an answer that is too large. `whole` is the answer about a window that holds this one. */
  async function ask(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    whole?: Listed,
  ): Promise<Listed | undefined> {
    rows.requests += 1;
    try {
      const answer = await client.searchFlights(nestOf(birdId), birdId, window);
      rows.serverTimeUs = answer.serverTimeUs ?? rows.serverTimeUs;
      const listed = collect(answer.value, rows);
      if (listed.size > cap) cap = Number.POSITIVE_INFINITY;
      // As many, and others among them: the answer about the larger window was cut.
      const isCut = whole?.size === listed.size && [...listed.keys()].some((id) => !whole.has(id));
      if (isCut && isSuspicious(listed)) cap = listed.size;
      longestAnswer = Math.max(longestAnswer, listed.size);
      return listed;
    } catch (error) {
      if (!(error instanceof NestwatchError && error.code === 'too_large')) throw error;
      return undefined;
    }
  }

  function isSuspicious({ size }: Listed): boolean {
    return size >= Math.max(SUSPICIOUS_ROWS, longestAnswer);
  }

  async function readWindow(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    cursorUs = Number.POSITIVE_INFINITY,
    whole?: Listed,
  ): Promise<boolean> {
    const listed = await ask(birdId, window, rows, whole);
    if (listed && !isSuspicious(listed)) return true;
    const startsUs = [...(listed?.values() ?? [])];
    const endUs = window.maxStartUs ?? startsUs.reduce((a, b) => Math.max(a, b), clock.nowUs());
    // The service keeps nothing for longer than some months, so halving the years before costs a few requests.
    const startUs = window.minStartUs ?? 0;
    if (endUs - startUs < 4 * ANCHOR_MARGIN_US) {
      const span = { fromUs: startUs, toUs: endUs };
      const isRead =
        !rows.givenUp.some((one) => isTouching(one, span)) &&
        (await readDense(birdId, window, span, rows, listed, rows.requests + DENSE_REQUESTS));
      if (!isRead) rows.unread.push({ fromUs: startUs, toUs: Math.max(startUs, endUs) });
      return true;
    }
    const middleUs = Math.floor((startUs + endUs) / 2);
    const older = { ...window, maxStartUs: middleUs };
    if (!(await readWindow(birdId, older, rows, cursorUs, listed))) return false;
    if (isEnough(rows, cursorUs, middleUs)) {
      rows.readToUs = middleUs;
      for (const [flightId, { startedAt }] of rows.flights) {
        if (startedAt && startedAt.us > middleUs) rows.flights.delete(flightId);
      }
      return false;
    }
    const newer = { ...window, minStartUs: middleUs - ANCHOR_MARGIN_US };
    return readWindow(birdId, newer, rows, cursorUs, listed);
  }

  /**
   * Reads a few seconds in ever smaller parts; resolves to whether nothing of it can be missing. A service that
   * compares whole seconds answers about a part as about the whole, or with less than there is: then the parts do not
   * bring what was listed before.
   */
  async function readDense(
    birdId: string,
    window: FlightWindow,
    { fromUs, toUs }: UnreadWindow,
    rows: FlightRows,
    listed: Listed | undefined,
    mostRequests: number,
  ): Promise<boolean> {
    if (rows.requests >= mostRequests) return false;
    if (toUs - fromUs < LEAST_WINDOW_US) return readEachStatus(birdId, window, rows, listed);
    const middleUs = Math.floor((fromUs + toUs) / 2);
    const endUs = middleUs + DENSE_MARGIN_US;
    const startUs = middleUs - DENSE_MARGIN_US;
    const parts = [
      { window: { ...window, maxStartUs: endUs }, span: { fromUs, toUs: endUs } },
      { window: { ...window, minStartUs: startUs }, span: { fromUs: startUs, toUs } },
    ];
    const found = new Set<string>();
    const denser: { readonly part: (typeof parts)[number]; readonly own: Listed | undefined }[] = [];
    for (const part of parts) {
      const own = await ask(birdId, part.window, rows, listed);
      for (const id of own?.keys() ?? []) found.add(id);
      if (!own || isSuspicious(own)) denser.push({ part, own });
    }
    const isSame = denser.length === 2 && denser.every(({ own }) => own?.size === found.size);
    const lacksSome = listed ? [...listed.keys()].some((id) => !found.has(id)) : found.size === 0;
    const isHollow = denser.length === 0 && lacksSome;
    if (isSame || isHollow) return readEachStatus(birdId, window, rows, listed);
    let isRead = true;
    for (const { part, own } of denser) {
      isRead = (await readDense(birdId, part.window, part.span, rows, own, mostRequests)) && isRead;
    }
    return isRead;
  }

  /** The last that can be asked. Resolves to whether no answer was too large or cut. */
  async function readEachStatus(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    listed: Listed | undefined,
  ): Promise<boolean> {
    if (window.status !== undefined) return listed !== undefined && listed.size < cap;
    let isRead = true;
    for (const status of STATUSES) {
      const own = await ask(birdId, { ...window, status }, rows, listed);
      if (!own || own.size >= cap) isRead = false;
    }
    return isRead;
  }

  /** Asks for one Flight; resolves to whether it is there no more. */
  async function readOne(birdId: string, { flightId }: FlightRecord, rows: FlightRows): Promise<boolean> {
    rows.requests += 1;
    try {
      const answer = await client.getFlight(nestOf(birdId), birdId, flightId);
      rows.serverTimeUs = answer.serverTimeUs ?? rows.serverTimeUs;
      collect([answer.value], rows);
      doubts.seen(flightId);
      return false;
    } catch (error) {
      if (!(error instanceof NestwatchError)) throw error;
      if (error.code === 'not_found') return doubts.isGone(flightId);
      // The region's trouble is the whole poll's. While it is up, the error is about this one Flight.
      const isRegional = error.code === 'cancelled' || error.code === 'rate_limited';
      if (isRegional || client.health().health !== 'up') throw error;
      doubts.failed(flightId);
      return false;
    }
  }

  return {
    readWindow,
    async readMissing(birdId, known, wantsActive, rows) {
      const missing = () => [...known.values()].filter((one) => one.open && !rows.flights.has(one.flightId));
      const lacking = missing().filter(({ flightId }) => !doubts.isPutOff(flightId));
      if (wantsActive || lacking.length > SINGLE_READS) {
        const oldestUs = lacking.reduce((us, one) => Math.min(us, one.startedAtUs), Number.POSITIVE_INFINITY);
        const isBounded = !wantsActive && oldestUs > 0;
        const since = isBounded ? { minStartUs: oldestUs - ANCHOR_MARGIN_US } : {};
        await readWindow(birdId, { status: 'active', ...since }, rows);
      }
      for (const flightId of rows.flights.keys()) doubts.seen(flightId);
      const vanished: FlightRecord[] = [];
      for (const record of missing()) {
        const isGone = !doubts.isPutOff(record.flightId) && (await readOne(birdId, record, rows));
        if (rows.flights.has(record.flightId)) continue;
        if (record.status === 'failed') rows.flights.set(record.flightId, asKnown(birdId, record));
        else if (isGone) vanished.push({ ...record, open: false });
      }
      return vanished;
    },
    asKnown,
    forget(flightIds) {
      for (const flightId of flightIds) doubts.seen(flightId);
    },
  };

  function asKnown(birdId: string, { flightId, startedAtUs, status, endedAtUs }: FlightRecord): Flight {
    return {
      id: flightId,
      birdId,
      nestId: nestOf(birdId),
      status,
      errorMessages: '',
      startedAt: startedAtUs > 0 ? { us: startedAtUs, text: formatInstant(startedAtUs) } : null,
      durationSeconds: (endedAtUs! - startedAtUs) / 1e6,
    };
  }
}

/** Whether there are many that started up to `toUs`, and among them some after the cursor. */
function isEnough({ flights }: FlightRows, cursorUs: number, toUs: number): boolean {
  if (flights.size < MOST_ROWS) return false;
  const startsUs = [...flights.values()]
    .map((flight) => flight.startedAt?.us ?? 0)
    .filter((us) => us <= toUs);
  return startsUs.length >= MOST_ROWS && startsUs.some((us) => us > cursorUs);
}

/** Adds the items to the rows; tells what is listed. */
function collect(items: readonly Parsed<Flight>[], rows: FlightRows): Listed {
  const listed = new Map<string, number>();
  for (const item of items) {
    if (item.ok) {
      rows.flights.set(item.entry.id, item.entry);
      listed.set(item.entry.id, item.entry.startedAt?.us ?? 0);
    } else {
      // Where answers are cut this row counts as every other.
      rows.quarantined.push({ raw: item.raw, reason: item.reason });
      listed.set(item.raw, 0);
    }
  }
  return listed;
}
