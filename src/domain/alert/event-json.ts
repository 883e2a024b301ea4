import { formatInstant } from '../../time/instant.ts';
import type { Event } from './event.ts';
import { shortId } from './short-id.ts';

/** An event as it is exposed in webhooks, CloudEvents' `data` and the API. The names are fixed. */
export interface EventJson {
  readonly key: string;
  /** For people to type; it finds the event as the key does. */
  readonly short_id: string;
  readonly type: string;
  readonly region: string;
  readonly feed: string;
  /** RFC 3339 with every digit that the service gave. */
  readonly occurred_at: string;
  readonly observed_at: string;
  readonly nest_id: string;
  readonly nest: string;
  readonly bird_id: string;
  readonly bird: string;
  readonly message: string;
  readonly attributes: Event['attributes'];
}

export function eventJson(event: Event): EventJson {
  return {
    key: event.key,
    short_id: shortId(event),
    type: wireText(event.type),
    region: event.region,
    feed: event.feed,
    occurred_at: event.occurredAt,
    observed_at: formatInstant(event.observedAtUs),
    nest_id: wireText(event.nestId),
    nest: wireText(event.nest),
    bird_id: wireText(event.birdId),
    bird: wireText(event.bird),
    message: wireText(event.message),
    attributes: attributesJson(event.attributes),
  };
}

/**
 * Makes the service's text safe for JSON: NUL and half of a surrogate pair become U+FFFD, because many readers,
 * including PostgreSQL, refuse a whole message that contains one. Everything else stays.
 */
export function wireText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Leaves out what only nestwatch reads; `started_at` tells people the same. */
function attributesJson(attributes: Event['attributes']): Event['attributes'] {
  const { started_at_us: _, ...shown } = attributes;
  return Object.fromEntries(
    Object.entries(shown).map(([name, value]) => [name, typeof value === 'string' ? wireText(value) : value]),
  );
}
