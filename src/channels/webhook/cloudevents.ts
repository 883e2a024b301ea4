import { type Event, eventJson } from '../../domain/alert/event.ts';
import type { DigestNotification, Notification } from '../../domain/grouping/notification.ts';
import { formatInstant } from '../../time/instant.ts';
import { digestJson } from './digest-json.ts';

/** The most events of one batch. */
const BATCH = 100;

/**
 * The notification's events in batches of up to 100, oldest first. For a group these are its new events. A group that
 * only resolves or repeats has none, and nothing is sent about it.
 */
export function eventBatches(notification: Exclude<Notification, DigestNotification>): Event[][] {
  const events = notification.kind === 'forward' ? notification.events : newEvents(notification.alerts);
  const batches: Event[][] = [];
  for (let start = 0; start < events.length; start += BATCH) batches.push(events.slice(start, start + BATCH));
  return batches;
}

/** The same as CloudEvents. */
export function cloudEventBatches(notification: Exclude<Notification, DigestNotification>) {
  return eventBatches(notification).map((batch) => batch.map(cloudEvent));
}

/** A digest as one event. */
export function digestEvent({ id, digest }: DigestNotification) {
  const subject = attribute(digest.name);
  return {
    specversion: '1.0',
    id,
    source: '/digests',
    type: 'nestwatch.digest',
    ...(subject && { subject }),
    time: formatInstant(digest.toUs),
    datacontenttype: 'application/json',
    data: digestJson(digest),
  };
}

/** The new events, each once, although two alerts of a group may share one. */
function newEvents(alerts: readonly { readonly events: readonly Event[] }[]): Event[] {
  const oldestFirst = alerts.flatMap(({ events }) => events.toReversed());
  const byKey = new Map(oldestFirst.map((event) => [event.key, event]));
  return [...byKey.values()].sort((a, b) => a.occurredAtUs - b.occurredAtUs);
}

/** One event as a CloudEvent 1.0 in structured mode; its id is the same however often it is sent. */
function cloudEvent(event: Event) {
  const subject = subjectOf(event);
  return {
    specversion: '1.0',
    id: event.key,
    source: `/regions/${encodeURIComponent(event.region)}`,
    type: `nestwatch.${attribute(event.type)}`,
    ...(subject && { subject }),
    time: event.occurredAt,
    datacontenttype: 'application/json',
    data: eventJson(event),
  };
}

/** A context attribute must not contain control characters, noncharacters or unpaired surrogates (section 3.1). */
function attribute(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Noncharacter_Code_Point}]/gu, '');
}

/** `nests/…/birds/…/flights/…`, as far as known. */
function subjectOf(event: Event): string {
  const parts: [string, string][] = [
    ['nests', event.nestId],
    ['birds', event.birdId],
    ['flights', String(event.attributes.flight_id ?? '')],
  ];
  return parts
    .filter(([, id]) => id !== '')
    .map(([kind, id]) => `${kind}/${encodeURIComponent(id.toWellFormed())}`)
    .join('/');
}
