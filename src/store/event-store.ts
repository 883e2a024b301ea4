/** The stored forms of events and Flights, and what is counted of them by Nest and hour. */
import type { Event, EventFeed } from '../domain/alert/event.ts';
import type { FlightOutcome } from '../domain/grouping/notification.ts';
import { formatInstant } from '../time/instant.ts';

/** The properties of a stream that never change. */
export interface StreamKind {
  readonly region: string;
  readonly feed: EventFeed;
}

/** A row of `event`. */
export interface EventRow {
  /** Numbered in order of arrival. */
  readonly event: number;
  readonly stream: number;
  readonly occurred_us: number;
  readonly id: string;
  readonly type: string;
  readonly observed_us: number;
  readonly message: string;
  readonly body: string;
}

interface EventBody extends Pick<Event, 'nestId' | 'nest' | 'birdId' | 'bird' | 'attributes'> {
  /** As the service wrote it; undefined if `occurred_us` says the same. */
  readonly occurredAt: string | undefined;
}

/** A JSON list rather than an object: the names of its fields would take more space than most values. */
export function bodyOf({ occurredAt, nestId, nest, birdId, bird, attributes }: Event): string {
  const body = [nestId, nest, birdId, bird, attributes];
  if (!hasSixDigits(occurredAt)) body.push(occurredAt);
  return JSON.stringify(body);
}

/** Whether `formatInstant` would write this text of an instant identically. */
function hasSixDigits(text: string): boolean {
  return text.length === '2026-07-02T13:59:34.590833Z'.length;
}

/** The event of a row; region and feed come from its stream. */
export function eventOf(row: EventRow, { region, feed }: StreamKind): Event {
  const { nestId, nest, birdId, bird, attributes, occurredAt } = readBody(row.body);
  return {
    key: `${region}/${feed}/${row.id}`,
    region,
    feed,
    type: row.type,
    occurredAt: occurredAt ?? formatInstant(row.occurred_us),
    occurredAtUs: row.occurred_us,
    observedAtUs: row.observed_us,
    nestId,
    nest,
    birdId,
    bird,
    message: row.message,
    attributes,
  };
}

/** The last part of the key; for the end of a Flight it contains a slash itself. */
export function idOf(event: Event): string {
  return event.key.slice(event.region.length + event.feed.length + 2);
}

/** A body that another program wrote reads as empty. */
export function readBody(text: string): EventBody {
  let values: unknown;
  try {
    values = JSON.parse(text);
  } catch {
    // Handled below like an empty body.
  }
  const [nestId = '', nest = '', birdId = '', bird = '', attributes = {}, occurredAt] = Array.isArray(values)
    ? values
    : [];
  return { nestId, nest, birdId, bird, attributes, occurredAt };
}

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

/** Microseconds in an hour, the unit by which the Flights of a Nest are counted. */
export const HOUR_US = 3_600_000_000;

/** How long hours are kept, even if events are kept shorter. */
export const HOURS_KEPT = 90 * 24;

/** A row of `nest_hour`, or what is added to it. */
interface NestHour {
  readonly region: string;
  readonly nestId: string;
  readonly hour: number;
  succeeded: number;
  failed: number;
  /** Those of them that ended in the second half of the hour. */
  lateSucceeded: number;
  lateFailed: number;
}

/** Counts the ends of Flights by Nest and hour, so that a Nest's figures are known without reading its events. */
export function nestHours(events: readonly Event[]): NestHour[] {
  const hours = new Map<string, NestHour>();
  for (const { type, region, nestId, occurredAtUs } of events) {
    if (type !== 'flight.succeeded' && type !== 'flight.failed') continue;
    const hour = Math.floor(occurredAtUs / HOUR_US);
    const key = `${hour}/${region}/${nestId}`;
    const one = hours.get(key) ?? {
      region,
      nestId,
      hour,
      succeeded: 0,
      failed: 0,
      lateSucceeded: 0,
      lateFailed: 0,
    };
    hours.set(key, one);
    const late = occurredAtUs % HOUR_US >= HOUR_US / 2 ? 1 : 0;
    if (type === 'flight.failed') {
      one.failed += 1;
      one.lateFailed += late;
    } else {
      one.succeeded += 1;
      one.lateSucceeded += late;
    }
  }
  return [...hours.values()];
}
