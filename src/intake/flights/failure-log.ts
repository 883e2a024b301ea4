/** Reads from the end of a Flight's log why and exactly when the Flight failed. */
import { NestwatchError } from '../../errors.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { FlightLogEntry } from '../../service/resources.ts';
import type { Instant } from '../../time/instant.ts';
import type { FlightRows } from './flight-rows.ts';

/** How many entries are read from the end of the log, where the failure is. */
const LOG_ENTRIES = 50;

/**
 * The most logs that one poll reads although the pace has no room: many failures at once must not delay other
 * streams.
 */
const NEEDED_LOGS = 20;

interface FailureLogOptions {
  readonly client: ServiceClient;
  /** The Nest that a Bird is in now; it may move. */
  readonly nestOf: (birdId: string) => string;
  /** The largest page size to request. */
  readonly pageSize: () => number;
}

interface FailureLog {
  readonly failure?: FlightLogEntry | undefined;
  readonly endedAt?: Instant | undefined;
}

/**
 * Reads the failing step and the exact end, if the pace has room for one more request. If `isNeeded`, it reads them
 * without room as well, but only for a limited number of Flights in a poll, which `rows` counts. Undefined if the log
 * was not read.
 */
export type ReadFailureLog = (
  birdId: string,
  flightId: string,
  rows: FlightRows,
  isNeeded: boolean,
) => Promise<FailureLog | undefined>;

export function createFailureLogReader({ client, nestOf, pageSize }: FailureLogOptions): ReadFailureLog {
  return async (birdId, flightId, rows, isNeeded) => {
    if (!client.slack()) {
      if (!isNeeded || rows.neededLogs >= NEEDED_LOGS) return undefined;
      rows.neededLogs += 1;
    }
    rows.requests += 1;
    try {
      const query = { page: 0, pageSize: Math.min(LOG_ENTRIES, pageSize()), ascending: false };
      const answer = await client.getFlightLogs(nestOf(birdId), birdId, flightId, query);
      const entries = answer.value.items.flatMap((item) => (item.ok ? [item.entry] : []));
      entries.sort((a, b) => b.createdAt.us - a.createdAt.us);
      const failure = entries.find((one) => Number(one.eventType) === 5 && !one.isSkipped && !one.isRetried);
      const end = entries.find((one) => Number(one.eventType) === 2 || Number(one.eventType) === 3);
      return { failure, endedAt: (end ?? failure)?.createdAt };
    } catch (error) {
      // The log only adds to what the Flight itself says, so its failure must not delay the event.
      if (error instanceof NestwatchError) return undefined;
      throw error;
    }
  };
}
