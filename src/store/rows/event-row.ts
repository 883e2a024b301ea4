import type { Event, EventFeed } from '../../domain/alert/event.ts';
import { formatInstant, hasSixDigits } from '../../time/instant.ts';

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
