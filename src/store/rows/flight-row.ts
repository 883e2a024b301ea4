import type { FlightOutcome } from '../../domain/grouping/notification.ts';

/** A Flight as last seen. */
export interface FlightRecord {
  readonly stream: number;
  /** In lower case. */
  readonly flightId: string;
  /** 0 if the service gave no `startDate`. */
  readonly startedAtUs: number;
  readonly status: string;
  /** True while the Flight is watched, which means that no end was seen yet. */
  readonly open: boolean;
  /** How many ends were seen; the event of the second end has `#2`. */
  readonly ends: number;
  /**
   * When it ended; absent while it is open, or if unknown. For an open Flight that has failed and waits for its
   * reason: when the failure was first seen.
   */
  readonly endedAtUs?: number;
}

/** A row of `flight`. */
export interface FlightRow {
  readonly stream: number;
  readonly started_us: number;
  readonly id: string;
  readonly status: string;
  readonly open: number;
  readonly ends: number;
  readonly ended_us: number;
}

export function flightOf(row: FlightRow): FlightRecord {
  return {
    stream: row.stream,
    flightId: row.id,
    startedAtUs: row.started_us,
    status: row.status,
    open: row.open === 1,
    ends: row.ends,
    ...(row.ended_us > 0 && { endedAtUs: row.ended_us }),
  };
}

/** The Flight that started last; undefined if there is none. */
export function latestFlight(flights: readonly FlightRecord[]): FlightRecord | undefined {
  return flights.reduce<FlightRecord | undefined>(
    (found, one) => (found && found.startedAtUs > one.startedAtUs ? found : one),
    undefined,
  );
}

/** Whether the Flight ended in a way that affects its Bird's standing: cancelled ones do not. */
export function decidesStanding({ open, status }: FlightRecord): boolean {
  return !open && (status === 'failed' || status === 'succeeded');
}

const OUTCOMES: ReadonlyMap<string, FlightOutcome> = new Map([
  ['flight.failed', 'failed'],
  ['flight.succeeded', 'succeeded'],
  ['flight.cancelled', 'cancelled'],
]);

/** How a Flight ended, by the type of the event of its end. */
export function outcomeOf(eventType: string): FlightOutcome {
  return OUTCOMES.get(eventType)!;
}
