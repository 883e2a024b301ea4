/** Lists every metric of nestwatch: name, meaning and labels. Names contain the unit. */

interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: `nestwatch_${string}`;
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds, in the unit of the name. */
  readonly buckets?: readonly number[];
  /** Whether OpenMetrics shows an event's key as exemplar. */
  readonly enableExemplars?: true;
}

const CALL_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;
/** From one poll interval, past the promised minute, to a day's outage. */
const DELAY_SECONDS = [1, 2.5, 5, 10, 15, 30, 45, 60, 120, 300, 900, 3_600, 14_400, 86_400] as const;
/** Durations of Flights: from those that only start another to a night's work. */
const FLIGHT_SECONDS = [1, 5, 15, 60, 300, 1_800, 7_200, 28_800] as const;

export const METRICS = {
  ready: {
    type: 'gauge',
    name: 'nestwatch_ready',
    help: 'Whether every region has been read or is known to be in trouble, and the store has space; the same as /-/ready.',
    labels: [],
  },
  buildInfo: {
    type: 'gauge',
    name: 'nestwatch_build_info',
    help: 'Versions of nestwatch and Node; always 1.',
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
    help: 'Whether this process reads the region. With replicas, exactly one does, and only that one has the other series of the region.',
    labels: ['region'],
  },
  alertingOwner: {
    type: 'gauge',
    name: 'nestwatch_alerting_owner',
    help: 'Whether this process raises alerts and queues notifications. With replicas, exactly one does, and only that one has the series they all share.',
    labels: [],
  },
  replicaInfo: {
    type: 'gauge',
    name: 'nestwatch_replica_info',
    help: 'Name of this process on the page, in doctor and in health; always 1. Absent if it does not share its store.',
    labels: ['replica'],
  },
  polls: {
    type: 'counter',
    name: 'nestwatch_polls_total',
    help: 'Polls of streams, including failed ones.',
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
    help: 'Duration of a poll, including waiting for the rate limit.',
    labels: ['region', 'feed'],
    buckets: CALL_SECONDS,
  },
  pollLastSuccess: {
    type: 'gauge',
    name: 'nestwatch_poll_last_success_timestamp_seconds',
    help: 'Time of the last successful poll of the feed; 0 before the first.',
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
    help: 'Requests to the service, including failed ones.',
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
    help: 'Duration of a request to the service.',
    labels: ['region', 'operation'],
    buckets: CALL_SECONDS,
  },
  rateLimit: {
    type: 'gauge',
    name: 'nestwatch_api_rate_limit',
    help: 'Requests per second that are currently allowed.',
    labels: ['region'],
  },
  events: {
    type: 'counter',
    name: 'nestwatch_events_total',
    help: 'Events stored, each counted once.',
    labels: ['region', 'feed', 'type'],
  },
  duplicates: {
    type: 'counter',
    name: 'nestwatch_events_duplicate_total',
    help: 'Entries that were read again although they were already stored.',
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
    help: 'Time up to which the feed is proven complete; 0 until that is known for all of its streams.',
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
    help: 'Entries that the service counts but does not return.',
    labels: ['region', 'feed'],
  },
  eventDelay: {
    type: 'histogram',
    name: 'nestwatch_event_delay_seconds',
    help: "Time from an event's occurrence to its observation, without events from before the watch began.",
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
    help: "Ended Flights of the Nest's Birds, by outcome; counts every Bird, regardless of metrics.birds.",
    labels: ['region', 'nest_id', 'status'],
  },
  flightDuration: {
    type: 'histogram',
    name: 'nestwatch_flight_duration_seconds',
    help: "Duration of the Flights of the Nest's Birds, whatever their outcome.",
    labels: ['region', 'nest_id'],
    buckets: FLIGHT_SECONDS,
    enableExemplars: true,
  },
  flightFailures: {
    type: 'counter',
    name: 'nestwatch_flight_failures_total',
    help: 'Failed Flights by cause, which is the message without its variable parts (ids, numbers, times). _other stands for all but the 50 most frequent causes of a region, _none for no message.',
    labels: ['region', 'error'],
    enableExemplars: true,
  },
  connectionsLost: {
    type: 'counter',
    name: 'nestwatch_connections_lost_total',
    help: 'Notifications of a lost connection, by state: retrying while the service still retries, given_up once it must be reconnected by hand.',
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
    help: 'Firing alerts by region and Nest; only combinations that exist. Beyond the 1,000 largest combinations, nest_id is _other.',
    labels: ['alertname', 'severity', 'region', 'nest_id'],
  },
  silences: {
    type: 'gauge',
    name: 'nestwatch_silences',
    help: 'Stored silences, by state: pending, active or expired.',
    labels: ['state'],
  },
  notifications: {
    type: 'counter',
    name: 'nestwatch_notifications_total',
    help: 'Attempts to deliver a notification, including failed ones.',
    labels: ['receiver', 'integration'],
  },
  notificationsFailed: {
    type: 'counter',
    name: 'nestwatch_notifications_failed_total',
    help: 'Attempts to deliver a notification that failed, or that some recipients refused, by error code.',
    labels: ['receiver', 'integration', 'reason'],
  },
  deadlines: {
    type: 'counter',
    name: 'nestwatch_deadlines_total',
    help: 'Deadlines of FlightOverdue rules that were judged, by outcome: met, late or missed.',
    labels: ['region', 'outcome'],
  },
  actions: {
    type: 'counter',
    name: 'nestwatch_actions_total',
    help: 'What nestwatch was to do at the service, by outcome: done, refused, unknown or withheld; only of regions with `fly`.',
    labels: ['region', 'action', 'outcome'],
  },
  actionsPaused: {
    type: 'gauge',
    name: 'nestwatch_actions_paused',
    help: '1 while no rule of `actions` may act; only if a region has `fly`.',
    labels: [],
  },
  notificationsSuppressed: {
    type: 'counter',
    name: 'nestwatch_notifications_suppressed_total',
    help: 'Notifications that were suppressed on purpose, by reason.',
    labels: ['reason'],
  },
  notificationLatency: {
    type: 'histogram',
    name: 'nestwatch_notification_latency_seconds',
    help: "Time from an event's occurrence to the receiver's acceptance of its notification, without history.",
    labels: ['receiver', 'integration'],
    buckets: DELAY_SECONDS,
  },
  deliveriesPending: {
    type: 'gauge',
    name: 'nestwatch_deliveries_pending',
    help: 'Deliveries that are waiting to be sent or retried.',
    labels: ['receiver'],
  },
  deliveries: {
    type: 'gauge',
    name: 'nestwatch_deliveries',
    help: 'Stored deliveries, by state; their sum is everything that was decided to be sent.',
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
    help: 'Messages sent with the built-in text, or with empty values, because a template failed.',
    labels: ['receiver', 'integration'],
  },
  heartbeatSent: {
    type: 'counter',
    name: 'nestwatch_heartbeat_sent_total',
    help: 'Heartbeat calls that the external watchdog accepted.',
    labels: [],
  },
  heartbeatLastSuccess: {
    type: 'gauge',
    name: 'nestwatch_heartbeat_last_success_timestamp_seconds',
    help: 'Time of the last heartbeat call that the external watchdog accepted; 0 for never. With replicas, shown by the one that calls.',
    labels: [],
  },
  reloadSuccessful: {
    type: 'gauge',
    name: 'nestwatch_config_last_reload_successful',
    help: 'Whether the last reading of the configuration was successful.',
    labels: [],
  },
  reloadTime: {
    type: 'gauge',
    name: 'nestwatch_config_last_reload_success_timestamp_seconds',
    help: 'Time at which the configuration in use was read.',
    labels: [],
  },
  troubles: {
    type: 'counter',
    name: 'nestwatch_troubles_total',
    help: 'Failures that a stage survived, by error code; bug for unexpected ones.',
    labels: ['stage', 'reason'],
  },
  eventLoopLongest: {
    type: 'gauge',
    name: 'nestwatch_event_loop_longest_seconds',
    help: 'Longest time that the event loop was blocked since the last scrape, with a resolution of 0.02.',
    labels: [],
  },
  watchImpaired: {
    type: 'gauge',
    name: 'nestwatch_watch_impaired',
    help: 'Whether this reason impairs the watch, as each replica sees it; see /api/v1/health.',
    labels: ['reason'],
  },
  streamsOverdue: {
    type: 'gauge',
    name: 'nestwatch_streams_overdue',
    help: 'Streams that are not read as often as poll.max_interval requires.',
    labels: ['region', 'feed'],
  },
  oldestRead: {
    type: 'gauge',
    name: 'nestwatch_oldest_read_timestamp_seconds',
    help: "Time of the last reading of the feed's least recently read stream; 0 if one was never read or none is polled.",
    labels: ['region', 'feed'],
  },
  storeBytes: {
    type: 'gauge',
    name: 'nestwatch_store_bytes',
    help: 'Size of the store.',
    labels: [],
  },
  storeFreeBytes: {
    type: 'gauge',
    name: 'nestwatch_store_free_bytes',
    help: 'Free space on the disk of the store; NaN for a database server, whose disk nestwatch cannot see.',
    labels: [],
  },
  setAside: {
    type: 'gauge',
    name: 'nestwatch_set_aside',
    help: 'Items that failed during evaluation and were set aside while everything else continues, by kind; see /-/ready as JSON.',
    labels: ['what'],
  },
  limitReached: {
    type: 'counter',
    name: 'nestwatch_limit_reached_total',
    help: 'How often a limit on external input was reached, by its name in the table of limits.',
    labels: ['limit'],
  },
  seriesDropped: {
    type: 'counter',
    name: 'nestwatch_series_dropped_total',
    help: 'Updates that were dropped because the metric had no room for another series, by metric.',
    labels: ['metric'],
  },
} as const satisfies Record<string, Metric>;

/** The metrics of single Birds; `bird-series.ts` keeps and writes them. */
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
    help: "1 for the Bird's current status, 0 for the others.",
    labels: ['region', 'nest_id', 'bird_id', 'status'],
  },
  started: {
    type: 'counter',
    name: 'nestwatch_flights_started_total',
    help: 'Started Flights of the Bird.',
    labels: ['region', 'nest_id', 'bird_id'],
  },
  ended: {
    type: 'counter',
    name: 'nestwatch_flights_ended_total',
    help: 'Ended Flights of the Bird, by outcome.',
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
    help: 'Active Flights of the Bird.',
    labels: ['region', 'nest_id', 'bird_id'],
  },
  lastFailure: {
    type: 'gauge',
    name: 'nestwatch_flight_last_failure_timestamp_seconds',
    help: "Time of the Bird's last failed Flight; 0 for none seen.",
    labels: ['region', 'nest_id', 'bird_id'],
  },
} as const satisfies Record<string, Metric>;
