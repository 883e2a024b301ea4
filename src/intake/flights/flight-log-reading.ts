/**
 * Reads the log of one Flight for a person. Regular polls come first: there is only one such request at a time, and
 * only while the region is up and the pace has room for optional requests.
 */
import type { FlightLog, FlightPlace, FlightStep } from '../../domain/alert/flight-step.ts';
import { NestwatchError } from '../../errors.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { FlightLogEntry } from '../../service/resources.ts';
import type { Clock } from '../../time/clock.ts';

/** How many entries are read from the end of the log, where the failure is. */
const STEPS = 100;
/** How long a person waits. The request itself continues. */
const PATIENCE_MS = 10_000;

const SORTS: ReadonlyMap<number | string, FlightStep['sort']> = new Map([
  [1, 'start'],
  [2, 'end'],
  [3, 'stopped'],
  [4, 'log'],
  [5, 'error'],
]);

/** The sort of an entry, by its `eventType`. */
export function sortOf(eventType: number | string): FlightStep['sort'] {
  return SORTS.get(eventType) ?? 'other';
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
