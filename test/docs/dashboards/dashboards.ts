/** What each dashboard shows. `npm run docs` writes them into `config/grafana/`. */
import { type Dashboard, dashboardJson, line, lines, row, stat, table, type Variable } from './dashboard.ts';

const REGION: Variable = {
  name: 'region',
  label: 'Region',
  query: 'label_values(nestwatch_region_up, region)',
  several: true,
};
const ONE_REGION: Variable = { ...REGION, several: false };
const NEST: Variable = {
  name: 'nest',
  label: 'Nest',
  query: 'query_result(nestwatch_nest_info{region="$region"})',
  regex: '/nest="(?<text>[^"]*)".*nest_id="(?<value>[^"]*)"/',
  several: false,
};
const BIRD: Variable = {
  name: 'bird',
  label: 'Bird',
  query: 'query_result(nestwatch_bird_info{region="$region",nest_id="$nest"})',
  regex: '/bird="(?<text>[^"]*)".*bird_id="(?<value>[^"]*)"/',
  several: false,
};

const R = 'region=~"$region"';
const N = 'region="$region",nest_id="$nest"';
const B = `${N},bird_id="$bird"`;

/** Adds the Nest's name to an expression by Nest. */
const named = (expr: string) =>
  `${expr} * on (region, nest_id) group_left (nest) max by (region, nest_id, nest) (nestwatch_nest_info)`;
/** Adds the Bird's name to an expression by Bird. */
const birdNamed = (expr: string) =>
  `${expr} * on (region, nest_id, bird_id) group_left (bird) max by (region, nest_id, bird_id, bird) (nestwatch_bird_info)`;

/** The share of failed Flights among those that succeeded or failed within `range`. */
function failureRatio(metric: string, labels: string, by: string, range: string): string {
  const ended = (status: string) => `sum by (${by}) (increase(${metric}{${labels},${status}}[${range}]))`;
  return `${ended('status="failed"')} / (${ended('status=~"succeeded|failed"')} > 0)`;
}

/**
 * By how much a counter rose within the time shown. A counter that begins in that time, such as one of a new cause,
 * counts in full; `increase` alone would ignore its first value.
 */
function newlySeen(metric: string): string {
  const series = `${metric}{${R}}`;
  return `(${series} unless ${series} offset $__range) > 0 or increase(${series}[$__range]) > 0`;
}

const NESTS = 'nestwatch_nest_flights_ended_total';
const BIRDS = 'nestwatch_flights_ended_total';

const OVERVIEW: Dashboard = {
  uid: 'nestwatch-overview',
  title: 'nestwatch / Overview',
  description: 'All regions: firing alerts, Flights, and where and why they fail.',
  variables: [REGION],
  panels: [
    stat('Regions up', `sum(nestwatch_region_up{${R}})`),
    stat('Firing alerts', `sum(nestwatch_alerts_firing{${R}}) or vector(0)`, { alarmAt: 1 }),
    stat('Failed Flights', `sum(increase(${NESTS}{${R},status="failed"}[$__range]))`, {
      unit: 'short',
      warnAt: 1,
    }),
    stat(
      'Failure ratio',
      `sum(increase(${NESTS}{${R},status="failed"}[$__range])) / sum(increase(${NESTS}{${R},status=~"succeeded|failed"}[$__range]))`,
      { unit: 'percentunit', warnAt: 0.01, alarmAt: 0.1 },
    ),
    stat('Birds', `count(nestwatch_bird_info{${R}})`),
    stat('Suspended Birds', `sum(nestwatch_bird_status{${R},status="suspended"})`, { warnAt: 1 }),
    row('Flights'),
    line(
      'Ended Flights per minute',
      '{{status}}',
      `sum by (status) (rate(${NESTS}{${R}}[$__rate_interval])) * 60`,
      { stacked: true },
    ),
    line(
      'Failure ratio by Nest (1 h)',
      '{{region}} · {{nest}}',
      named(`(${failureRatio(NESTS, R, 'region, nest_id', '1h')})`),
      { unit: 'percentunit', min: 0, max: 1 },
    ),
    table(
      'Failures by cause',
      `topk(15, sum by (region, error) (${newlySeen('nestwatch_flight_failures_total')}))`,
    ),
    table(
      'Birds with the most failures',
      `topk(15, ${birdNamed(`(sum by (region, nest_id, bird_id) (increase(${BIRDS}{${R},status="failed"}[$__range])) > 0)`)})`,
    ),
    row('Promises and changes'),
    line(
      'Deadlines per day',
      '{{region}} {{outcome}}',
      `sum by (region, outcome) (increase(nestwatch_deadlines_total{${R}}[1d]))`,
      { min: 0, width: 8 },
    ),
    line(
      'Nests and regions that use up an objective',
      '{{severity}}',
      `sum by (severity) (nestwatch_alerts_firing{${R},alertname="ObjectiveBurning"}) or vector(0)`,
      { min: 0, width: 8 },
    ),
    line(
      'Changes of Nests, Birds and members per hour',
      '{{type}}',
      `sum by (type) (increase(nestwatch_events_total{${R},feed="inventory"}[1h]))`,
      { min: 0, width: 8 },
    ),
    row('Alerts'),
    line('Firing alerts', '{{alertname}}', `sum by (alertname) (nestwatch_alerts_firing{${R}})`, {
      stacked: true,
      min: 0,
    }),
    table(
      'Firing alerts by Nest',
      `${named(`sum by (alertname, severity, region, nest_id) (nestwatch_alerts_firing{${R},nest_id!=""})`)}`,
    ),
    line(
      'Lost connections per hour',
      '{{region}} {{state}}',
      `sum by (region, state) (increase(nestwatch_connections_lost_total{${R}}[1h]))`,
    ),
    line(
      'Event delay (p95)',
      '{{region}} {{feed}}',
      `histogram_quantile(0.95, sum by (region, feed, le) (rate(nestwatch_event_delay_seconds_bucket{${R}}[$__rate_interval])))`,
      { unit: 's', min: 0 },
    ),
  ],
};

const NEST_BOARD: Dashboard = {
  uid: 'nestwatch-nest',
  title: 'nestwatch / Nest',
  description: 'One Nest: its Flights, their durations, and its Birds.',
  variables: [ONE_REGION, NEST],
  panels: [
    stat('Birds', `count(nestwatch_bird_info{${N}})`),
    stat('Firing alerts', `sum(nestwatch_alerts_firing{${N}}) or vector(0)`, { alarmAt: 1 }),
    stat('Flights', `sum(increase(${NESTS}{${N}}[$__range]))`, { unit: 'short' }),
    stat('Failed', `sum(increase(${NESTS}{${N},status="failed"}[$__range]))`, { unit: 'short', warnAt: 1 }),
    stat('Active Flights', `sum(nestwatch_flights_active{${N}})`),
    stat(
      'Flight duration (p95)',
      `histogram_quantile(0.95, sum by (le) (increase(nestwatch_flight_duration_seconds_bucket{${N}}[$__range])))`,
      { unit: 's' },
    ),
    line(
      'Ended Flights per minute',
      '{{status}}',
      `sum by (status) (rate(${NESTS}{${N}}[$__rate_interval])) * 60`,
      { stacked: true },
    ),
    line('Failure ratio (1 h)', 'failed', failureRatio(NESTS, N, 'region, nest_id', '1h'), {
      unit: 'percentunit',
      min: 0,
      max: 1,
    }),
    lines(
      'Flight duration',
      [0.5, 0.95].map((part) => ({
        expr: `histogram_quantile(${part}, sum by (le) (rate(nestwatch_flight_duration_seconds_bucket{${N}}[$__rate_interval])))`,
        legend: `p${part * 100}`,
      })),
      { unit: 's', min: 0 },
    ),
    line(
      'Failures by Bird',
      '{{bird}}',
      birdNamed(
        `sum by (region, nest_id, bird_id) (increase(${BIRDS}{${N},status="failed"}[$__rate_interval]))`,
      ),
      { stacked: true, min: 0 },
    ),
    table('Birds', `nestwatch_bird_info{${N}}`, { hidden: ['region', 'nest_id', 'nest', 'Value'] }),
    table('Last failures', birdNamed(`(nestwatch_flight_last_failure_timestamp_seconds{${N}} > 0) * 1000`), {
      unit: 'dateTimeAsIso',
      hidden: ['region', 'nest_id'],
    }),
  ],
};

const BIRD_BOARD: Dashboard = {
  uid: 'nestwatch-bird',
  title: 'nestwatch / Bird',
  description: 'One Bird: its status and its Flights.',
  variables: [ONE_REGION, NEST, BIRD],
  panels: [
    stat('Bird is active', `nestwatch_bird_status{${B},status="active"}`),
    stat('Active Flights', `nestwatch_flights_active{${B}}`),
    stat('Started', `increase(nestwatch_flights_started_total{${B}}[$__range])`, { unit: 'short' }),
    stat('Succeeded', `increase(${BIRDS}{${B},status="succeeded"}[$__range])`, { unit: 'short' }),
    stat('Failed', `increase(${BIRDS}{${B},status="failed"}[$__range])`, { unit: 'short', warnAt: 1 }),
    stat('Last failure', `nestwatch_flight_last_failure_timestamp_seconds{${B}} * 1000`, {
      unit: 'dateTimeFromNow',
    }),
    line('Ended Flights per hour', '{{status}}', `sum by (status) (increase(${BIRDS}{${B}}[1h]))`, {
      stacked: true,
      min: 0,
    }),
    line('Failure ratio (1 h)', 'failed', failureRatio(BIRDS, B, 'region, nest_id, bird_id', '1h'), {
      unit: 'percentunit',
      min: 0,
      max: 1,
    }),
    line('Active Flights', 'active', `nestwatch_flights_active{${B}}`, { min: 0 }),
    line('Status', '{{status}}', `nestwatch_bird_status{${B}} == 1`, { min: 0, max: 1 }),
  ],
};

const WATCH_BOARD: Dashboard = {
  uid: 'nestwatch-watch',
  title: 'nestwatch / nestwatch itself',
  description:
    'Whether nestwatch itself works: reading, completeness, notifications, the process and its store.',
  variables: [REGION],
  panels: [
    stat('Ready', 'min(nestwatch_ready)'),
    stat('Impairments', 'count(max by (reason) (nestwatch_watch_impaired) == 1) or vector(0)', { warnAt: 1 }),
    stat('Overdue streams', `sum(nestwatch_streams_overdue{${R}})`, { warnAt: 1 }),
    stat('Pending deliveries', 'sum(nestwatch_deliveries_pending)'),
    stat('Dead deliveries', 'sum(nestwatch_deliveries_dead)', { alarmAt: 1 }),
    stat('Uptime', 'time() - process_start_time_seconds{job=~".*nestwatch.*"}', { unit: 's' }),
    table('Impairments', 'max by (reason) (nestwatch_watch_impaired)', { width: 8 }),
    table('Regions', `nestwatch_region_up{${R}}`, { width: 8 }),
    table('Version', 'nestwatch_build_info', { width: 8, hidden: ['Value'] }),
    row('Reading'),
    line(
      'Requests per second',
      '{{region}} {{operation}}',
      `sum by (region, operation) (rate(nestwatch_api_requests_total{${R}}[$__rate_interval]))`,
    ),
    line(
      'Failed requests per minute',
      '{{region}} {{reason}}',
      `sum by (region, reason) (rate(nestwatch_api_requests_failed_total{${R}}[$__rate_interval])) * 60`,
    ),
    line(
      'Request duration (p95)',
      '{{region}}',
      `histogram_quantile(0.95, sum by (region, le) (rate(nestwatch_api_request_duration_seconds_bucket{${R}}[$__rate_interval])))`,
      { unit: 's', min: 0 },
    ),
    line('Allowed requests per second', '{{region}}', `nestwatch_api_rate_limit{${R}}`),
    line(
      'Age of the oldest cursor',
      '{{region}} {{feed}}',
      `time() - (nestwatch_cursor_timestamp_seconds{${R}} > 0)`,
      { unit: 's', min: 0 },
    ),
    line(
      'Time not yet proven complete',
      '{{region}} {{feed}}',
      `time() - (nestwatch_verified_timestamp_seconds{${R}} > 0)`,
      { unit: 's', min: 0 },
    ),
    line(
      'Events per minute',
      '{{region}} {{feed}}',
      `sum by (region, feed) (rate(nestwatch_events_total{${R}}[$__rate_interval])) * 60`,
    ),
    lines('Missed, missing or malformed entries per hour', [
      {
        expr: `sum by (region) (increase(nestwatch_entries_recovered_total{${R}}[1h]))`,
        legend: '{{region}} missed, found by an audit',
      },
      {
        expr: `sum by (region) (increase(nestwatch_entries_missing_total{${R}}[1h]))`,
        legend: '{{region}} missing: counted but not returned',
      },
      {
        expr: `sum by (region) (increase(nestwatch_entries_quarantined_total{${R}}[1h]))`,
        legend: '{{region}} malformed',
      },
    ]),
    row('Notifications'),
    line(
      'Delivery attempts per minute',
      '{{receiver}} {{integration}}',
      'sum by (receiver, integration) (rate(nestwatch_notifications_total[$__rate_interval])) * 60',
    ),
    line(
      'Failed delivery attempts per minute',
      '{{receiver}} {{integration}} {{reason}}',
      'sum by (receiver, integration, reason) (rate(nestwatch_notifications_failed_total[$__rate_interval])) * 60',
    ),
    line(
      'Time from an event to its accepted notification (p95)',
      '{{receiver}} {{integration}}',
      'histogram_quantile(0.95, sum by (receiver, integration, le) (rate(nestwatch_notification_latency_seconds_bucket[$__rate_interval])))',
      { unit: 's', min: 0 },
    ),
    line(
      'Suppressed notifications per hour',
      '{{reason}}',
      'sum by (reason) (increase(nestwatch_notifications_suppressed_total[1h]))',
    ),
    row('Process'),
    line('Memory', '{{instance}}', 'process_resident_memory_bytes{job=~".*nestwatch.*"}', {
      unit: 'bytes',
      min: 0,
    }),
    line('CPU', '{{instance}}', 'rate(process_cpu_seconds_total{job=~".*nestwatch.*"}[$__rate_interval])', {
      unit: 'percentunit',
      min: 0,
    }),
    line('Longest event loop delay', '{{instance}}', 'nestwatch_event_loop_longest_seconds', {
      unit: 's',
      min: 0,
    }),
    lines(
      'Store',
      [
        { expr: 'nestwatch_store_bytes', legend: 'used' },
        { expr: 'nestwatch_store_free_bytes', legend: 'free' },
      ],
      { unit: 'bytes', min: 0 },
    ),
    line(
      'Handled errors per hour',
      '{{stage}} {{reason}}',
      'sum by (stage, reason) (increase(nestwatch_troubles_total[1h]))',
    ),
    line('Set aside', '{{what}}', 'nestwatch_set_aside', { min: 0 }),
  ],
};

export const DASHBOARDS: readonly { readonly file: string; readonly dashboard: Dashboard }[] = [
  { file: 'config/grafana/overview.json', dashboard: OVERVIEW },
  { file: 'config/grafana/nest.json', dashboard: NEST_BOARD },
  { file: 'config/grafana/bird.json', dashboard: BIRD_BOARD },
  { file: 'config/grafana/nestwatch.json', dashboard: WATCH_BOARD },
];

/** What the file of a dashboard holds. */
export function dashboardText(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboardJson(dashboard), null, 2)}\n`;
}
