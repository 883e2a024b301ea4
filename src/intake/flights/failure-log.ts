/** Why and when exactly a Flight failed, as the end of its log says. */
import { NestwatchError } from '../../errors.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { FlightLogEntry } from '../../service/resources.ts';
import type { Instant } from '../../time/instant.ts';
import type { FlightRows } from './flight-rows.ts';

/** Entries read of a Flight's log, from its end on, where the failure stands. */
const LOG_ENTRIES = 50;

/** Logs that one poll reads though the pace leaves no room for them: many failures at once must not hold up others. */
const NEEDED_LOGS = 20;

interface FailureLogOptions {
  readonly client: ServiceClient;
  /** The Nest a Bird is in now; it may move. */
  readonly nestOf: (birdId: string) => string;
  /** No larger page is asked for. */
  readonly pageSize: () => number;
}

interface FailureLog {
  readonly failure?: FlightLogEntry | undefined;
  readonly endedAt?: Instant | undefined;
}

/**
 * The failing step and the exact end, when the pace has room for one more request; where it is needed also without,
 * for so many Flights of a poll, whose rows count them. Undefined when the log was not read.
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
      // The log only adds to what the Flight itself says: its trouble must not hold the event back.
      if (error instanceof NestwatchError) return undefined;
      throw error;
    }
  };
}
