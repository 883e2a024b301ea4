/** Reads from the end of a Flight's log why and exactly when the Flight failed. */
import { NestwatchError } from '../../errors.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { FlightLogEntry } from '../../service/resources.ts';
import type { Instant } from '../../time/instant.ts';
import type { FlightRows } from './flight-rows.ts';

/** How many entries are read from the end of the log, where the failure is. */
const LOG_ENTRIES = 50;

/**
 * What a log is read for: the reason or the time of a failure, which nothing else tells; the failing step, if the reason
 * is known; or the reason again, after a first read that did not have it.
 */
type LogPurpose = 'reason' | 'step' | 'reason again';

/**
 * The most logs that one poll reads although the pace has no room: many failures at once must not delay other streams.
 * A region with many Birds uses its whole rate all the time, so without this it would never read a step. If several
 * Flights of a Bird failed, the first one shows where.
 */
const MOST_WITHOUT_ROOM: Readonly<Record<LogPurpose, number>> = { reason: 20, step: 1, 'reason again': 0 };

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
 * in a poll is read, which `rows` counts, and none for a step while the region is down or pauses. Undefined if the log
 * was not read.
 */
export type ReadFailureLog = (
  birdId: string,
  flightId: string,
  rows: FlightRows,
  purpose: LogPurpose,
) => Promise<FailureLog | undefined>;

export function createFailureLogReader({ client, nestOf, pageSize }: FailureLogOptions): ReadFailureLog {
  return async (birdId, flightId, rows, purpose) => {
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
