/** One sort of entries of the service. */
export type Feed = 'notification' | 'bird_log' | 'flight';
export const FEEDS: readonly Feed[] = ['notification', 'bird_log', 'flight'];

/** Known types of the service's events. */
export const EVENT_TYPES: Readonly<Record<Feed, readonly string[]>> = {
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
};

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
  /** `region/feed/id`; for a Flight `region/flight/<flightId>/<status>`, with `#2` for its second end. */
  readonly key: string;
  readonly region: string;
  readonly feed: Feed;
  /** `flight.<status>`, `bird_log.<eventType>` or `notification.<eventType>`; may contain values not known today. */
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
  /** More details, by feed: `flight_id, status, started_at, duration_seconds, step_id, scope, error, entity_id, …`. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}
