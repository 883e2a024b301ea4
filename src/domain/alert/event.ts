/** One sort of entries of the service. */
export type Feed = 'notification' | 'bird_log' | 'flight';
export const FEEDS: readonly Feed[] = ['notification', 'bird_log', 'flight'];

/** Types of events that the service is known to bring. */
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

/** The attribute, true, of an event of a Nest that the configuration leaves out: it is kept and raises no alert. */
export const NEST_EXCLUDED = 'nest_excluded';

/** The attribute, true, of an event of a Bird that came to be watched later than its region, and after it occurred. */
export const BEFORE_WATCH = 'before_watch';

/**
 * What one entry of the service became: immutable, and known to everybody under the same `key`.
 * Text in it comes from outside and is hostile until a format encodes it.
 */
export interface Event {
  /** `region/feed/id`; for a Flight `region/flight/<flightId>/<status>`, with `#2` for its second end. */
  readonly key: string;
  readonly region: string;
  readonly feed: Feed;
  /** `flight.<status>`, `bird_log.<eventType>` or `notification.<eventType>`; open to values not known today. */
  readonly type: string;
  /** RFC 3339 with every digit that the service gave. */
  readonly occurredAt: string;
  readonly occurredAtUs: number;
  readonly observedAtUs: number;
  /** Empty where the service names none. */
  readonly nestId: string;
  readonly nest: string;
  readonly birdId: string;
  readonly bird: string;
  readonly message: string;
  /** What else is known, by feed: `flight_id, status, started_at, duration_seconds, step_id, scope, error, entity_id, …`. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}
