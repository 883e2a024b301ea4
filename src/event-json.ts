import type { Event } from './alerts/event.ts';
import { formatInstant } from './instant.ts';

/** An event as everybody outside sees it: in webhooks, CloudEvents' `data` and the API. The names are fixed. */
export interface EventJson {
  readonly key: string;
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
    type: event.type,
    region: event.region,
    feed: event.feed,
    occurred_at: event.occurredAt,
    observed_at: formatInstant(event.observedAtUs),
    nest_id: event.nestId,
    nest: event.nest,
    bird_id: event.birdId,
    bird: event.bird,
    message: event.message,
    attributes: event.attributes,
  };
}
