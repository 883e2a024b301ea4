import { hash } from 'node:crypto';
import { formatInstant } from '../../time/instant.ts';

/** One sort of entries of the service. */
export type Feed = 'notification' | 'bird_log' | 'flight';
export const FEEDS: readonly Feed[] = ['notification', 'bird_log', 'flight'];

/** A feed of events that nestwatch itself makes: of two readings of the inventory, and of what it does to the service. */
export type OwnFeed = 'inventory' | 'action';

export function isOwnFeed(feed: EventFeed): feed is OwnFeed {
  return feed === 'inventory' || feed === 'action';
}

/** A feed of events: those of the service, and its own. */
export type EventFeed = Feed | OwnFeed;
export const EVENT_FEEDS: readonly EventFeed[] = [...FEEDS, 'inventory', 'action'];

/** The types of the inventory's events that say something about a Nest's members, and about Users. */
export const MEMBER_TYPES = ['inventory.member_added', 'inventory.member_removed'] as const;
export const USER_TYPES = ['inventory.user_deactivated', 'inventory.user_activated'] as const;

/** Known types of events. */
export const EVENT_TYPES = {
  notification: [
    'notification.ConnectionDisconnected',
    'notification.FlowDeactivated',
    'notification.FlowSuspended',
  ],
  bird_log: [
    'bird_log.Published',
    'bird_log.Saved',
    'bird_log.Discarded',
    'bird_log.Suspended',
    'bird_log.Activated',
    'bird_log.Deactivated',
    'bird_log.EventError',
  ],
  flight: ['flight.succeeded', 'flight.failed', 'flight.cancelled'],
  inventory: [
    'inventory.nest_created',
    'inventory.nest_gone',
    'inventory.nest_renamed',
    'inventory.bird_created',
    'inventory.bird_gone',
    'inventory.bird_moved',
    'inventory.bird_renamed',
    'inventory.bird_trigger_changed',
    'inventory.bird_published',
    'inventory.bird_unpublished',
    ...MEMBER_TYPES,
    ...USER_TYPES,
  ],
  action: ['action.asked', 'action.done', 'action.refused', 'action.unknown'],
} as const satisfies Readonly<Record<EventFeed, readonly string[]>>;

/** Attribute that is true for an event of a Nest that the configuration excludes: it is kept and raises no alert. */
export const NEST_EXCLUDED = 'nest_excluded';

/**
 * Attribute that is true for an event that occurred before its Bird was watched, if that began later than for its
 * region.
 */
export const BEFORE_WATCH = 'before_watch';

/**
 * What nestwatch makes of one entry of the service: immutable, and known everywhere under the same `key`. Its texts
 * come from outside and are hostile until a format encodes them.
 */
export interface Event {
  /**
   * `region/feed/id`; for a Flight `region/flight/<flightId>/<status>`, with `#2` for its second end, for the
   * inventory a hash, and `region/action/<id>/<what>`.
   */
  readonly key: string;
  readonly region: string;
  readonly feed: EventFeed;
  /**
   * `flight.<status>`, `bird_log.<eventType>`, `notification.<eventType>`, which may contain values not known today,
   * `inventory.<change>`, or `action.<outcome>`.
   */
  readonly type: string;
  /** RFC 3339 with every digit that the service gave. */
  readonly occurredAt: string;
  readonly occurredAtUs: number;
  readonly observedAtUs: number;
  /** Empty if the service names none. */
  readonly nestId: string;
  readonly nest: string;
  readonly birdId: string;
  readonly bird: string;
  readonly message: string;
  /** More details, by feed: `flight_id, status, started_at, duration_seconds, step_id, scope, error, entity_id, before, …`. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

// The short id of an event, for paper and telephone: `7hq2m9-x4t`. It depends on the event alone, so every message,
// page and log line shows the same one, whichever store the event is in. Six letters encode the second in which it
// occurred (repeating after 34 years), three a hash of its key: two events in a store hardly ever share one.

/** Crockford's alphabet: without `i`, `l`, `o` and `u`, which are misread. */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz';
const SECOND_LETTERS = 6;
const HASH_LETTERS = 3;

/** Seconds after which the first part repeats. */
export const SHORT_ID_ERA = 2 ** (5 * SECOND_LETTERS);

export function shortId({ key, occurredAtUs }: Pick<Event, 'key' | 'occurredAtUs'>): string {
  const second = Math.floor(occurredAtUs / 1e6);
  const within = ((second % SHORT_ID_ERA) + SHORT_ID_ERA) % SHORT_ID_ERA;
  const first = Number.parseInt(hash('sha256', key.toWellFormed()).slice(0, 4), 16) >> 1;
  return `${letters(within, SECOND_LETTERS)}-${letters(first, HASH_LETTERS)}`;
}

interface ShortId {
  /** As `shortId` writes it. */
  readonly text: string;
  /** The second within its era. */
  readonly second: number;
}

/** Reads a short id as people type it, in any case and with characters easily mistaken; undefined for anything else. */
export function readShortId(typed: string): ShortId | undefined {
  const text = typed.trim().toLowerCase().replaceAll('o', '0').replaceAll(/[il]/g, '1');
  const [, first, last] = /^([0-9a-hjkmnp-tv-z]{6})-?([0-9a-hjkmnp-tv-z]{3})$/.exec(text) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const second = [...first].reduce((sum, letter) => sum * 32 + LETTERS.indexOf(letter), 0);
  return { text: `${first}-${last}`, second };
}

function letters(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32))
    text = LETTERS[rest % 32]! + text;
  return text;
}

export type EventJson = ReturnType<typeof eventJson>;

/**
 * An event as it is exposed in webhooks, CloudEvents' `data` and the API. The names are fixed. People type `short_id`;
 * `occurred_at` has every digit that the service gave.
 */
export function eventJson(event: Event) {
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

/** Leaves out empty attributes, which say nothing. */
export function present(attributes: Record<string, string | number | boolean>): Event['attributes'] {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== ''));
}
