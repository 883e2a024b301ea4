/** Every metric of nestwatch: its name, what it means and its labels. Units stand in the names. */

interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: `nestwatch_${string}`;
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds, in the unit of the name. */
  readonly buckets?: readonly number[];
  /** Whether OpenMetrics shows the key of an event beside its values. */
  readonly enableExemplars?: true;
}

const CALL_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
/** From one poll's interval, over the promise of a minute, to a day's outage. */
const DELAY_SECONDS = [1, 2.5, 5, 10, 15, 30, 45, 60, 120, 300, 900, 3_600, 14_400, 86_400] as const;
/** Of Flights: from what only starts another, over people's patience, to the work of a night. */
const FLIGHT_SECONDS = [1, 5, 15, 60, 300, 1_800, 7_200, 28_800] as const;

export const METRICS = {
  ready: {
    type: 'gauge',
    name: 'nestwatch_ready',
    help: 'Whether every region was read, or is known to be in trouble, and the store has room: as /-/ready answers.',
    labels: [],
  },
  buildInfo: {
    type: 'gauge',
    name: 'nestwatch_build_info',
    help: 'What runs here; always 1.',
    labels: ['version', 'revision', 'node_version'],
  },
  regionUp: {
    type: 'gauge',
    name: 'nestwatch_region_up',
    help: 'Whether the region answers and accepts the token.',
    labels: ['region'],
  },
  regionOwner: {
    type: 'gauge',
    name: 'nestwatch_region_owner',
    help: 'Whether this process reads the region: of several replicas one does, and it alone has the other series of the region.',
    labels: ['region'],
  },
  alertingOwner: {
    type: 'gauge',
    name: 'nestwatch_alerting_owner',
    help: 'Whether this process raises alerts and notifies of them: of several replicas one does, and it alone shows what all of them share.',
    labels: [],
  },
  replicaInfo: {
    type: 'gauge',
    name: 'nestwatch_replica_info',
    help: 'The name by which page, doctor and health answer speak of this process; always 1, and absent where it has its store to itself.',
    labels: ['replica'],
  },
  polls: {
    type: 'counter',
    name: 'nestwatch_polls_total',
    help: 'Polls of streams, failed ones included.',
    labels: ['region', 'feed'],
  },
  pollsFailed: {
    type: 'counter',
    name: 'nestwatch_polls_failed_total',
    help: 'Polls of streams that failed, by error code.',
    labels: ['region', 'feed', 'reason'],
  },
  pollDuration: {
    type: 'histogram',
    name: 'nestwatch_poll_duration_seconds',
    help: 'How long a poll took, waiting for the pace included.',
    labels: ['region', 'feed'],
    buckets: CALL_SECONDS,
  },
  pollLastSuccess: {
    type: 'gauge',
    name: 'nestwatch_poll_last_success_timestamp_seconds',
    help: 'When a poll of the feed last succeeded; 0 before the first.',
    labels: ['region', 'feed'],
  },
  cursor: {
    type: 'gauge',
    name: 'nestwatch_cursor_timestamp_seconds',
    help: 'The oldest cursor among the streams of the feed; 0 for none.',
    labels: ['region', 'feed'],
  },
  requests: {
    type: 'counter',
    name: 'nestwatch_api_requests_total',
    help: 'Requests to the service, failed ones included.',
    labels: ['region', 'operation'],
  },
  requestsFailed: {
    type: 'counter',
    name: 'nestwatch_api_requests_failed_total',
    help: 'Requests to the service that failed, by error code.',
    labels: ['region', 'operation', 'reason'],
  },
  requestDuration: {
    type: 'histogram',
    name: 'nestwatch_api_request_duration_seconds',
    help: 'How long a request to the service took.',
    labels: ['region', 'operation'],
    buckets: CALL_SECONDS,
  },
  rateLimit: {
    type: 'gauge',
    name: 'nestwatch_api_rate_limit',
    help: 'Requests a second that the pace now allows.',
    labels: ['region'],
  },
  events: {
    type: 'counter',
    name: 'nestwatch_events_total',
    help: 'Events kept, each once.',
    labels: ['region', 'feed', 'type'],
  },
  duplicates: {
    type: 'counter',
    name: 'nestwatch_events_duplicate_total',
    help: 'Entries that were read again after they had been kept.',
    labels: ['region', 'feed'],
  },
  quarantined: {
    type: 'counter',
    name: 'nestwatch_entries_quarantined_total',
    help: 'Malformed entries that were set aside.',
    labels: ['region', 'feed'],
  },
  verified: {
    type: 'gauge',
    name: 'nestwatch_verified_timestamp_seconds',
    help: 'Up to here the feed is proven to be complete; 0 before that is known of all its streams.',
    labels: ['region', 'feed'],
  },
  recovered: {
    type: 'counter',
    name: 'nestwatch_entries_recovered_total',
    help: 'Entries that polls had missed and an audit found.',
    labels: ['region', 'feed'],
  },
  missing: {
    type: 'counter',
    name: 'nestwatch_entries_missing_total',
    help: 'Entries that the service counts and does not show.',
    labels: ['region', 'feed'],
  },
  eventDelay: {
    type: 'histogram',
    name: 'nestwatch_event_delay_seconds',
    help: 'From an event to its being seen; what happened before the watch began is left out.',
    labels: ['region', 'feed'],
    buckets: DELAY_SECONDS,
    enableExemplars: true,
  },
  nestInfo: {
    type: 'gauge',
    name: 'nestwatch_nest_info',
    help: 'Name of a Nest with Birds; always 1.',
    labels: ['region', 'nest_id', 'nest'],
  },
  nestFlightsEnded: {
    type: 'counter',
    name: 'nestwatch_nest_flights_ended_total',
    help: "Flights of the Nest's Birds that were seen to end, by how; there for every Bird, whatever metrics.birds says.",
    labels: ['region', 'nest_id', 'status'],
  },
  flightDuration: {
    type: 'histogram',
    name: 'nestwatch_flight_duration_seconds',
    help: "How long the Flights of the Nest's Birds took, however they ended.",
    labels: ['region', 'nest_id'],
    buckets: FLIGHT_SECONDS,
    enableExemplars: true,
  },
  flightFailures: {
    type: 'counter',
    name: 'nestwatch_flight_failures_total',
    help: 'Failed Flights by cause: the message without what differs from one Flight to the next. Beyond the 50 most frequent of a region it is _other, without a message _none.',
    labels: ['region', 'error'],
    enableExemplars: true,
  },
  connectionsLost: {
    type: 'counter',
    name: 'nestwatch_connections_lost_total',
    help: 'Notifications of a lost connection: retrying while the service still tries by itself, given_up once it must be reconnected.',
    labels: ['region', 'state'],
  },
  alerts: {
    type: 'gauge',
    name: 'nestwatch_alerts',
    help: 'Alerts by state.',
    labels: ['alertname', 'severity', 'state'],
  },
  alertsFiring: {
    type: 'gauge',
    name: 'nestwatch_alerts_firing',
    help: 'Alerts that fire, by region and Nest; only those that are there. Beyond 1,000 combinations, the largest first, nest_id is _other.',
    labels: ['alertname', 'severity', 'region', 'nest_id'],
  },
  silences: {
    type: 'gauge',
    name: 'nestwatch_silences',
    help: 'Silences that are kept, by state: pending, active or expired.',
    labels: ['state'],
  },
  notifications: {
    type: 'counter',
    name: 'nestwatch_notifications_total',
    help: 'Tries to deliver a notification, failed ones included.',
    labels: ['receiver', 'integration'],
  },
  notificationsFailed: {
    type: 'counter',
    name: 'nestwatch_notifications_failed_total',
    help: 'Tries to deliver a notification that failed, or that some of its recipients refused, by error code.',
    labels: ['receiver', 'integration', 'reason'],
  },
  notificationsSuppressed: {
    type: 'counter',
    name: 'nestwatch_notifications_suppressed_total',
    help: 'Notifications that were left out on purpose, by reason.',
    labels: ['reason'],
  },
  notificationLatency: {
    type: 'histogram',
    name: 'nestwatch_notification_latency_seconds',
    help: 'From what a notification is about to its acceptance by the receiver, without history.',
    labels: ['receiver', 'integration'],
    buckets: DELAY_SECONDS,
  },
  deliveriesPending: {
    type: 'gauge',
    name: 'nestwatch_deliveries_pending',
    help: 'Deliveries that are still to be sent, or tried again.',
    labels: ['receiver'],
  },
  deliveries: {
    type: 'gauge',
    name: 'nestwatch_deliveries',
    help: 'Deliveries that are kept, by state; their sum is all that was decided to send.',
    labels: ['receiver', 'state'],
  },
  deliveriesDead: {
    type: 'gauge',
    name: 'nestwatch_deliveries_dead',
    help: 'Deliveries that were given up.',
    labels: ['receiver'],
  },
  templatesFailed: {
    type: 'counter',
    name: 'nestwatch_template_failures_total',
    help: 'Messages that were sent with a built-in text, or with gaps, because a template failed.',
    labels: ['receiver', 'integration'],
  },
  heartbeatSent: {
    type: 'counter',
    name: 'nestwatch_heartbeat_sent_total',
    help: 'Calls that the outside watchdog accepted.',
    labels: [],
  },
  heartbeatLastSuccess: {
    type: 'gauge',
    name: 'nestwatch_heartbeat_last_success_timestamp_seconds',
    help: 'When the outside watchdog last accepted a call; 0 for never. Of several replicas the one shows it that calls.',
    labels: [],
  },
  reloadSuccessful: {
    type: 'gauge',
    name: 'nestwatch_config_last_reload_successful',
    help: 'Whether the configuration was without a mistake when it was last read.',
    labels: [],
  },
  reloadTime: {
    type: 'gauge',
    name: 'nestwatch_config_last_reload_success_timestamp_seconds',
    help: 'When the configuration in use was read.',
    labels: [],
  },
  troubles: {
    type: 'counter',
    name: 'nestwatch_troubles_total',
    help: 'Failures that a stage met and survived, by error code; bug for what nobody foresaw.',
    labels: ['stage', 'reason'],
  },
  eventLoopLongest: {
    type: 'gauge',
    name: 'nestwatch_event_loop_longest_seconds',
    help: 'The longest turn of the event loop since the last scrape, to 0.02: for so long nothing else was done.',
    labels: [],
  },
  watchImpaired: {
    type: 'gauge',
    name: 'nestwatch_watch_impaired',
    help: 'Whether something impairs the watch, by what it is, as each replica sees it; see /api/v1/health.',
    labels: ['reason'],
  },
  streamsOverdue: {
    type: 'gauge',
    name: 'nestwatch_streams_overdue',
    help: 'Streams that are not read as often as poll.max_interval asks for.',
    labels: ['region', 'feed'],
  },
  oldestRead: {
    type: 'gauge',
    name: 'nestwatch_oldest_read_timestamp_seconds',
    help: 'When the stream of the feed was read that was read longest ago; 0 for never, and where none is polled.',
    labels: ['region', 'feed'],
  },
  storeBytes: {
    type: 'gauge',
    name: 'nestwatch_store_bytes',
    help: 'What the store takes.',
    labels: [],
  },
  storeFreeBytes: {
    type: 'gauge',
    name: 'nestwatch_store_free_bytes',
    help: 'What is free for the store where it is kept; NaN on a server, whose disk only the server sees.',
    labels: [],
  },
  setAside: {
    type: 'gauge',
    name: 'nestwatch_set_aside',
    help: 'What failed while it was evaluated and is set aside while everything else goes on, by what it is; see /-/ready as JSON.',
    labels: ['what'],
  },
  limitReached: {
    type: 'counter',
    name: 'nestwatch_limit_reached_total',
    help: 'How often a bound on what comes from outside was reached, by its name in the table of limits.',
    labels: ['limit'],
  },
  seriesDropped: {
    type: 'counter',
    name: 'nestwatch_series_dropped_total',
    help: 'Updates that found no room for a series of their own, by metric.',
    labels: ['metric'],
  },
} as const satisfies Record<string, Metric>;

/** What each Bird has of its own; `bird-series.ts` keeps and writes it. */
export const BIRD_METRICS = {
  info: {
    type: 'gauge',
    name: 'nestwatch_bird_info',
    help: 'Names of a Bird and of its Nest; always 1.',
    labels: ['region', 'nest_id', 'bird_id', 'nest', 'bird', 'trigger_type'],
  },
  status: {
    type: 'gauge',
    name: 'nestwatch_bird_status',
    help: '1 for the status that the Bird has, 0 for the others.',
    labels: ['region', 'nest_id', 'bird_id', 'status'],
  },
  started: {
    type: 'counter',
    name: 'nestwatch_flights_started_total',
    help: 'Flights of the Bird that were seen to start.',
    labels: ['region', 'nest_id', 'bird_id'],
  },
  ended: {
    type: 'counter',
    name: 'nestwatch_flights_ended_total',
    help: 'Flights of the Bird that were seen to end, by how.',
    labels: ['region', 'nest_id', 'bird_id', 'status'],
  },
  flights: {
    type: 'counter',
    name: 'nestwatch_flights_total',
    help: 'Deprecated, because starts (active) and ends of the same Flights must not be added up: use nestwatch_flights_started_total and nestwatch_flights_ended_total.',
    labels: ['region', 'nest_id', 'bird_id', 'status'],
  },
  active: {
    type: 'gauge',
    name: 'nestwatch_flights_active',
    help: 'Flights of the Bird that are watched until they end.',
    labels: ['region', 'nest_id', 'bird_id'],
  },
  lastFailure: {
    type: 'gauge',
    name: 'nestwatch_flight_last_failure_timestamp_seconds',
    help: 'When a Flight of the Bird last failed; 0 for none seen.',
    labels: ['region', 'nest_id', 'bird_id'],
  },
} as const satisfies Record<string, Metric>;
