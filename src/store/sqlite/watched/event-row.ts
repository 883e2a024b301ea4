import type { Event } from '../../../domain/alert/event.ts';
import type { StreamKind } from './sqlite-streams.ts';

/** A row of `event`. */
export interface EventRow {
  /** Numbered in the order of arrival. */
  readonly event: number;
  readonly stream: number;
  readonly occurred_us: number;
  readonly id: string;
  readonly type: string;
  readonly occurred_at: string;
  readonly observed_us: number;
  readonly nest_id: string;
  readonly nest: string;
  readonly bird_id: string;
  readonly bird: string;
  readonly message: string;
  readonly attributes: string;
}

/** The event of a row; region and feed are its stream's. */
export function eventOf(row: EventRow, { region, feed }: StreamKind): Event {
  return {
    key: `${region}/${feed}/${row.id}`,
    region,
    feed,
    type: row.type,
    occurredAt: row.occurred_at,
    occurredAtUs: row.occurred_us,
    observedAtUs: row.observed_us,
    nestId: row.nest_id,
    nest: row.nest,
    birdId: row.bird_id,
    bird: row.bird,
    message: row.message,
    attributes: attributesOf(row.attributes),
  };
}

/** The last part of the key: for the end of a Flight it has two parts itself. */
export function idOf(event: Event): string {
  return event.key.slice(event.region.length + event.feed.length + 2);
}

/** What another program wrote there says nothing. */
function attributesOf(text: string): Event['attributes'] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Event['attributes']) : {};
  } catch {
    return {};
  }
}
