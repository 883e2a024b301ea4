import type { Event } from '../../domain/alert/event.ts';
import type { FlightOutcome } from '../../domain/grouping/notification.ts';
import type { FlightOverview } from '../bird-store.ts';
import type { FlightRecord } from '../flight-store.ts';
import { beginningOf } from '../texts/text-beginning.ts';

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

/** The part of a message that a list of Flights shows. */
export const MAX_SHOWN_MESSAGE = 2_000;

/** A Flight with its Bird, its Nest, and the event of its last end. */
export interface FlightOverviewRow
  extends Pick<FlightRow, 'stream' | 'started_us' | 'id' | 'status' | 'ended_us'> {
  readonly region: string;
  readonly bird_id: string;
  readonly bird: string | null;
  readonly nest_id: string | null;
  readonly nest: string | null;
  readonly event_id: string | null;
  readonly message: string | null;
}

/** `attributes`: those of the event of its last end. */
export function flightOverviewOf(row: FlightOverviewRow, attributes: Event['attributes']): FlightOverview {
  return {
    region: row.region,
    nestId: row.nest_id ?? '',
    nest: row.nest ?? '',
    birdId: row.bird_id,
    bird: row.bird ?? '',
    flightId: row.id,
    startedAtUs: row.started_us,
    endedAtUs: row.ended_us,
    status: row.status,
    eventKey: row.event_id === null ? '' : `${row.region}/flight/${row.event_id}`,
    message: beginningOf(row.message ?? '', MAX_SHOWN_MESSAGE),
    step: String(attributes.step_id ?? ''),
    scope: String(attributes.scope ?? ''),
  };
}

/** A Flight's place in the order of starts, latest first. */
export type FlightPlace = Pick<FlightRow, 'started_us' | 'stream' | 'id'>;

export function flightPlaceOf(row: FlightPlace): (string | number)[] {
  return [row.started_us, row.stream, row.id];
}
