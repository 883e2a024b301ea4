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
