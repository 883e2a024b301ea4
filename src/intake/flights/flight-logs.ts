/** Reads from the end of a Flight's log why and exactly when the Flight failed. */

import type { FlightLog, FlightPlace, FlightStep, FlightTail } from '../../domain/alert/fact.ts';
import { NestwatchError } from '../../errors.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { FlightLogEntry } from '../../service/resources.ts';
import type { FlightToRead } from '../../store/sql/watched/judged-times.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Clock } from '../../time/clock.ts';
import type { Instant } from '../../time/instant.ts';
import type { IntakeParts } from '../parts.ts';
import type { FlightRows } from './flight-windows.ts';
import { isOfRegion } from './open-flights.ts';

/** How many entries are read from the end of the log, where the failure is. */
const LOG_ENTRIES = 50;

/**
 * What a log is read for: the time of a failure, which decides whether it is history; its reason, which nothing else
 * tells; the failing step, if the reason is known; or the reason again, after a first read that did not have it.
 */
type LogPurpose = 'time' | 'reason' | 'step' | 'reason again';

/**
 * The most logs that one poll reads although the pace has no room: many failures at once must not delay other streams.
 * A region with many Birds uses its whole rate all the time, so without this it would never read a step. If several
 * Flights of a Bird failed, the first one shows where.
 */
const MOST_WITHOUT_ROOM: Readonly<Record<LogPurpose, number>> = {
  time: 20,
  reason: 20,
  step: 1,
  'reason again': 0,
};

/** For a longer pause of the region, a failure that is known already does not wait. */
const MOST_PAUSE_MS = 10_000;

interface FailureLogOptions {
  readonly client: ServiceClient;
  /** The Nest that a Bird is in now; it may move. */
  readonly nestOf: (birdId: string) => string;
  /** The largest page size to request. */
  readonly pageSize: () => number;
}

export interface FailureLog {
  readonly failure?: FlightLogEntry | undefined;
  readonly endedAt?: Instant | undefined;
}

/**
 * Reads the failing step and the exact end. If the pace has no room for one more request, only a limited number of logs
 * in a poll is read, which `rows` counts, and none for a step while the region is down or pauses. All that a poll has
 * found is committed after its logs, so one log that hangs ends the reading of them, and unless the time of the failure
 * depends on it, a log is requested once, without retries. Undefined if the log was not read.
 */
export type ReadFailureLog = (
  birdId: string,
  flightId: string,
  rows: FlightRows,
  purpose: LogPurpose,
) => Promise<FailureLog | undefined>;

export function createFailureLogReader({ client, nestOf, pageSize }: FailureLogOptions): ReadFailureLog {
  return async (birdId, flightId, rows, purpose) => {
    const isOptional = purpose !== 'time';
    if (isOptional && (rows.isLogLate || client.pausedMs() > MOST_PAUSE_MS)) return undefined;
    if (!client.slack()) {
      const isInTrouble = client.health().health !== 'up' || client.pausedMs() > 0;
      // The event waits for its log, and a step is not worth waiting for the end of a pause.
      if (purpose === 'step' && isInTrouble) return undefined;
      if (rows.logsWithoutRoom >= MOST_WITHOUT_ROOM[purpose]) return undefined;
      rows.logsWithoutRoom += 1;
    }
    rows.requests += 1;
    try {
      const query = { page: 0, pageSize: Math.min(LOG_ENTRIES, pageSize()), ascending: false };
      const answer = await client.getFlightLogs(nestOf(birdId), birdId, flightId, query, isOptional);
      const entries = answer.value.items.flatMap((item) => (item.ok ? [item.entry] : []));
      entries.sort((a, b) => b.createdAt.us - a.createdAt.us);
      const failure = entries.find((one) => Number(one.eventType) === 5 && !one.isSkipped && !one.isRetried);
      const end = entries.find((one) => Number(one.eventType) === 2 || Number(one.eventType) === 3);
      return { failure, endedAt: (end ?? failure)?.createdAt };
    } catch (error) {
      // The log only adds to what the Flight itself says, so its failure must not delay the event.
      if (!(error instanceof NestwatchError)) throw error;
      rows.isLogLate ||= error.code === 'timeout';
      return undefined;
    }
  };
}

// Reads the log of one Flight for a person. Regular polls come first: there is only one such request at a time, and
// only while the region is up and the pace has room for optional requests.

/** How many entries are read from the end of the log, where the failure is. */
const STEPS = 100;
/** How long a person waits. The request itself continues. */
const PATIENCE_MS = 10_000;

const SORTS: ReadonlyMap<number, FlightStep['sort']> = new Map([
  [1, 'start'],
  [2, 'end'],
  [3, 'stopped'],
  [4, 'log'],
  [5, 'error'],
]);

/** The sort of an entry, by its `eventType`. */
function sortOf(eventType: number | string): FlightStep['sort'] {
  return SORTS.get(Number(eventType)) ?? 'other';
}

/** `pageSize`: the largest page size to request. */
export function createFlightLogReading(
  client: ServiceClient,
  pageSize: () => number,
  clock: Clock,
): (place: FlightPlace) => Promise<FlightLog> {
  let isReading = false;

  async function read({ nestId, birdId, flightId }: FlightPlace): Promise<FlightLog> {
    const query = { page: 0, pageSize: Math.min(STEPS, pageSize()), ascending: false };
    try {
      const { value } = await client.getFlightLogs(nestId, birdId, flightId, query);
      const entries = value.items.flatMap((item) => (item.ok ? [item.entry] : []));
      const steps = entries.sort((a, b) => a.createdAt.us - b.createdAt.us).map(stepOf);
      return { steps, more: Math.max(0, (value.totalCount ?? 0) - value.items.length) };
    } catch (error) {
      if (!(error instanceof NestwatchError)) throw error;
      return { refused: `The service did not answer: ${error.message}` };
    }
  }

  return async (place) => {
    if (client.health().health !== 'up') return { refused: 'The region is not up.' };
    if (isReading || !client.slack()) {
      return { refused: 'The watch needs all requests that the service allows: try again in a moment.' };
    }
    isReading = true;
    const reading = read(place).finally(() => {
      isReading = false;
    });
    const { promise: late, resolve } = Promise.withResolvers<FlightLog>();
    const cancel = clock.setTimer(PATIENCE_MS, () =>
      resolve({ refused: 'The service has not answered yet.' }),
    );
    return Promise.race([reading, late]).finally(cancel);
  };
}

function stepOf(entry: FlightLogEntry): FlightStep {
  return {
    atUs: entry.createdAt.us,
    sort: sortOf(entry.eventType),
    level: entry.sdkLogType,
    step: entry.stepId,
    scope: entry.scope,
    message: entry.message,
    wentOn: entry.isSkipped ? 'skipped' : entry.isRetried ? 'retried' : null,
  };
}

// Reads the ends of the logs of Flights in the air, for the kinds of alerts that want them: when each Flight last wrote,
// and in which step. The store says which logs are wanted. Each is read once an hour; as long as nothing is written, the
// next readings are 2, 4 and 6 hours apart.

interface FlightTailsOptions extends Pick<IntakeParts, 'region' | 'client' | 'store' | 'clock'> {
  /** The Nest that a Bird is in now; it may move. */
  readonly nestOf: (birdId: string) => string;
  /** The largest page size to request. */
  readonly pageSize: () => number;
}

/** How many entries are read from the end of a log. */
const ENTRIES = 20;

const STEP_CODE_POINTS = 200;

const HOUR_US = 3_600_000_000;
const INTERVAL_US = { least: HOUR_US, most: 6 * HOUR_US };
/** The service refused the log: with 403 or 404, as a rule. */
const REFUSED_US = 6 * HOUR_US;

/** Flights whose logs are read, in one region. */
const MOST_FLIGHTS = 500;

const LOGS_PER_TURN = 5;

export interface FlightTails {
  /** Whether a log is to be read now. */
  isDue(): Promise<boolean>;
  /** Reads a few of the logs that are due, the longest silent first. Resolves to whether more may be due. */
  turn(): Promise<{ readonly requests: number; readonly more: boolean }>;
}

export function createFlightTails(options: FlightTailsOptions): FlightTails {
  const { region, client, store, clock, nestOf, pageSize } = options;
  const due = (limit: number) =>
    store.transaction((tx) => tx.overdue.logsDue(region, clock.nowUs(), limit, MOST_FLIGHTS));

  async function read(flight: FlightToRead): Promise<FlightToRead & { readonly logDueUs: number }> {
    const { birdId, flightId } = flight;
    const query = { page: 0, pageSize: Math.min(ENTRIES, pageSize()), ascending: false };
    try {
      const { value, serverTimeUs } = await client.getFlightLogs(nestOf(birdId), birdId, flightId, query);
      const nowUs = clock.nowUs();
      const entries = value.items.flatMap((item) => (item.ok ? [item.entry] : []));
      const tail = tailOf(entries, flight.tail, serverTimeUs ?? nowUs);
      return { ...flight, tail, logDueUs: nowUs + intervalUs(flight.tail, tail) };
    } catch (error) {
      if (isOfRegion(error, client) || !(error instanceof NestwatchError)) throw error;
      return { ...flight, logDueUs: clock.nowUs() + REFUSED_US };
    }
  }

  return {
    async isDue() {
      if (client.health().health !== 'up' || client.pausedMs() > 0) return false;
      return (await due(1)).length > 0;
    },
    async turn() {
      const flights = await due(LOGS_PER_TURN);
      const done: (FlightToRead & { readonly logDueUs: number })[] = [];
      try {
        for (const flight of flights) done.push(await read(flight));
      } catch (error) {
        // A failure of the region: polls report it.
        if (!(error instanceof NestwatchError)) throw error;
      }
      if (done.length > 0) await store.transaction((tx) => tx.overdue.putTails(done));
      return { requests: done.length, more: done.length === LOGS_PER_TURN };
    },
  };
}

/** Of entries of the same instant, the first one of the answer counts, which lists the newest first. */
function tailOf(entries: readonly FlightLogEntry[], before: FlightTail | null, readAtUs: number): FlightTail {
  const newestFirst = entries.toSorted((a, b) => b.createdAt.us - a.createdAt.us);
  const [newest] = newestFirst;
  const unseen = newestFirst.findLast(({ createdAt }) => createdAt.us > (before?.wroteAtUs ?? 0));
  const [scope = '', step = ''] = [newest?.scope, newest?.stepId].map((text) =>
    plainText(text ?? '', STEP_CODE_POINTS),
  );
  return {
    ...{ readAtUs, scope, step },
    wroteAtUs: newest?.createdAt.us ?? 0,
    sort: newest ? sortOf(newest.eventType) : 'other',
    resumedAtUs: unseen && before ? unseen.createdAt.us : (before?.resumedAtUs ?? 0),
  };
}

function intervalUs(before: FlightTail | null, { readAtUs, wroteAtUs }: FlightTail): number {
  if (before?.wroteAtUs !== wroteAtUs) return INTERVAL_US.least;
  const longerUs = 2 * (readAtUs - before.readAtUs);
  return Math.min(Math.max(longerUs, INTERVAL_US.least), INTERVAL_US.most);
}
