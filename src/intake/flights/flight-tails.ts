/**
 * Reads the ends of the logs of Flights in the air, for the kinds of alerts that want them: when each Flight last wrote,
 * and in which step. The store says which logs are wanted. Each is read once an hour; as long as nothing is written, the
 * next readings are 2, 4 and 6 hours apart.
 */
import type { FlightTail } from '../../domain/alert/flight-step.ts';
import { NestwatchError } from '../../errors.ts';
import type { FlightLogEntry } from '../../service/resources.ts';
import type { FlightToRead } from '../../store/overdue-store.ts';
import { plainText } from '../../text/plain-text.ts';
import type { IntakeParts } from '../parts.ts';
import { sortOf } from './flight-log-reading.ts';
import { isOfRegion } from './open-flights.ts';

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
