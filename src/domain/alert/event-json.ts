import { formatInstant } from '../../time/instant.ts';
import type { Event } from './event.ts';
import { shortId } from './short-id.ts';

/** An event as everybody outside sees it: in webhooks, CloudEvents' `data` and the API. The names are fixed. */
export interface EventJson {
  readonly key: string;
  /** For people to type; finds the event as the key does. */
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
 * Text of the service as JSON may carry it: NUL and half of a pair become U+FFFD, because many readers, PostgreSQL
 * among them, refuse all of a message for one of them. Everything else stays as it is.
 */
export function wireText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** What only nestwatch itself reads stays here: `started_at` says the same to people. */
function attributesJson(attributes: Event['attributes']): Event['attributes'] {
  const { started_at_us: _, ...shown } = attributes;
  return Object.fromEntries(
    Object.entries(shown).map(([name, value]) => [name, typeof value === 'string' ? wireText(value) : value]),
  );
}
