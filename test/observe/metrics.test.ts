import { describe, expect, test } from 'vitest';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { NestwatchError } from '../../src/errors.ts';
import { LIMITS } from '../../src/limits.ts';
import { PART_LENGTH } from '../../src/observe/bird-series.ts';
import { BIRD_METRICS, METRICS } from '../../src/observe/metric-catalogue.ts';
import { type Collected, createMetrics } from '../../src/observe/metrics.ts';
import type { ObservedBird } from '../../src/report.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../virtual-clock.ts';
import { NOTHING, textOf } from './scraped.ts';

function world(
  options: {
    maxBirds?: number;
    birds?: 'all' | 'failing' | 'none';
    clock?: VirtualClock;
    regions?: string[];
    collect?: (isAlerting: boolean) => Promise<Collected>;
    lastFailureUs?: (region: string, birdId: string) => number;
    isShared?: boolean;
  } = {},
) {
  const metrics = createMetrics({
    version: '0.1.0',
    revision: 'abc',
    nodeVersion: 'v26',
    clock: options.clock ?? createVirtualClock(),
    regions: options.regions ?? ['eu', 'us'],
    operations: ['searchNests', 'getFlight'],
    receivers: [
      { name: 'ops', integrations: [{ kind: 'email' }, { kind: 'email' }] },
      { name: 'pager', integrations: [{ kind: 'webhook' }] },
    ],
    rules: [{ kind: 'FlightFailed', severity: 'page' }, ...DEFAULT_RULES],
    collect: options.collect ?? (async () => NOTHING),
    longestTurnMs: () => 1250,
    processMetrics: false,
    ...(options.lastFailureUs && { lastFailureUs: options.lastFailureUs }),
    ...(options.isShared !== undefined && { isShared: options.isShared }),
    ...(options.birds && { birds: options.birds }),
    ...(options.maxBirds !== undefined && { maxBirds: options.maxBirds }),
  });
  const text = (format?: 'openmetrics') => textOf(metrics.render(format));
  /** The value of one series as Prometheus shows it; undefined if there is none. */
  async function value(series: string): Promise<number | undefined> {
    const line = (await text()).split('\n').find((one) => one.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  }
  async function series(name: string): Promise<string[]> {
    return (await text()).split('\n').filter((line) => line.startsWith(`${name}{`));
  }
  return { ...metrics, text, value, series };
}

function bird(birdId: string, change: Partial<ObservedBird> = {}): ObservedBird {
  return {
    nestId: '682',
    nest: 'Marketing',
    birdId,
    bird: `Bird ${birdId}`,
    status: 'active',
    triggerType: 'manual',
    ...change,
  };
}

test("a Bird's last failure is known from an earlier life", async () => {
  const failedUs = 1_700_000_000_000_000;
  const { report, value } = world({ lastFailureUs: (_, birdId) => (birdId === '1' ? failedUs : 0) });
  report({ what: 'inventory', region: 'eu', birds: [bird('1'), bird('2')] });
  const series = (id: string) =>
    `nestwatch_flight_last_failure_timestamp_seconds{region="eu",nest_id="682",bird_id="${id}"}`;
  expect([await value(series('1')), await value(series('2'))]).toEqual([failedUs / 1e6, 0]);
  const place = { region: 'eu', nestId: '682', birdId: '1' } as const;
  report({ what: 'flight', ...place, status: 'failed', atUs: failedUs - 1e6 });
  expect(await value(series('1'))).toBe(failedUs / 1e6);
});

describe('before anything has happened', () => {
  test.each([
    ['nestwatch_build_info{version="0.1.0",revision="abc",node_version="v26"}', 1],
    ['nestwatch_region_up{region="us"}', 0],
    ['nestwatch_alerts{alertname="FlightFailed",severity="page",state="firing"}', 0],
    ['nestwatch_alerts{alertname="RegionDown",severity="critical",state="pending"}', 0],
    ['nestwatch_alerts{alertname="ConnectionDisconnected",severity="warning",state="resolved"}', 0],
    ['nestwatch_polls_total{region="eu",feed="inventory"}', 0],
    ['nestwatch_polls_failed_total{region="eu",feed="flight",reason="timeout"}', 0],
    ['nestwatch_poll_duration_seconds_count{region="us",feed="bird_log"}', 0],
    ['nestwatch_poll_last_success_timestamp_seconds{region="us",feed="notification"}', 0],
    ['nestwatch_api_requests_total{region="eu",operation="getFlight"}', 0],
    ['nestwatch_events_total{region="eu",feed="flight",type="flight.failed"}', 0],
    ['nestwatch_events_duplicate_total{region="us",feed="flight"}', 0],
    ['nestwatch_notifications_suppressed_total{reason="silenced"}', 0],
    ['nestwatch_notifications_suppressed_total{reason="time_interval"}', 0],
    ['nestwatch_entries_quarantined_total{region="us",feed="flight"}', 0],
    ['nestwatch_event_delay_seconds_count{region="eu",feed="flight"}', 0],
    ['nestwatch_notifications_total{receiver="ops",integration="email"}', 0],
    ['nestwatch_notifications_failed_total{receiver="pager",integration="webhook",reason="rejected"}', 0],
    ['nestwatch_deliveries_pending{receiver="ops"}', 0],
    ['nestwatch_deliveries_dead{receiver="pager"}', 0],
    ['nestwatch_deliveries{receiver="pager",state="ambiguous"}', 0],
    ['nestwatch_event_loop_longest_seconds', 1.25],
    ['nestwatch_config_last_reload_successful', 1],
    ['nestwatch_config_last_reload_success_timestamp_seconds', TEST_START_US / 1e6],
    ['nestwatch_series_dropped_total{metric="nestwatch_bird_info"}', 0],
  ])('%s is %d', async (series, expected) => {
    expect(await world().value(series)).toBe(expected);
  });

  test('a rate limit is not shown before one is known', async () => {
    const { report, series } = world();
    expect(await series('nestwatch_api_rate_limit')).toEqual([]);
    report({ what: 'rate_limit', region: 'eu', requestsPerSecond: 2.5 });
    expect(await series('nestwatch_api_rate_limit')).toEqual(['nestwatch_api_rate_limit{region="eu"} 2.5']);
  });

  test('two instances share nothing', async () => {
    const [one, other] = [world(), world()];
    one.report({ what: 'region_health', region: 'eu', health: 'up', reason: '' });
    expect(await other.value('nestwatch_region_up{region="eu"}')).toBe(0);
  });

  test('every metric of the catalogue is rendered with its help and type', async () => {
    const body = await world().text();
    for (const { name, help, type } of [...Object.values(METRICS), ...Object.values(BIRD_METRICS)]) {
      expect(body).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
    }
  });
});

test('is one text if it is short, and in parts if it is long', async () => {
  const { render, report } = world({ maxBirds: 2_000, regions: ['eu'] });
  const parts = async () => Array.fromAsync((await render('openmetrics')).body);
  expect(await parts()).toHaveLength(1);
  const birds = Array.from({ length: 2_000 }, (_, index) => bird(String(index)));
  report({ what: 'inventory', region: 'eu', birds });
  const lengths = (await parts()).map(({ length }) => length);
  expect(lengths.length).toBeGreaterThan(1);
  for (const length of lengths.slice(0, -1)) expect(length).toBeGreaterThanOrEqual(PART_LENGTH);
  expect(Math.max(...lengths)).toBeLessThan(2 * PART_LENGTH + 1_000);
});

describe('reading', () => {
  test('a poll counts, with its duration, its success or the reason of its failure', async () => {
    const { report, value } = world();
    const poll = { what: 'poll', region: 'eu', feed: 'flight', durationMs: 300 } as const;
    report({ ...poll, atUs: 5_000_000 });
    report({ ...poll, atUs: 9_000_000, failure: 'not_json' });
    expect(await value('nestwatch_polls_total{region="eu",feed="flight"}')).toBe(2);
    expect(await value('nestwatch_polls_failed_total{region="eu",feed="flight",reason="not_json"}')).toBe(1);
    expect(await value('nestwatch_poll_last_success_timestamp_seconds{region="eu",feed="flight"}')).toBe(5);
    expect(await value('nestwatch_poll_duration_seconds_sum{region="eu",feed="flight"}')).toBe(0.6);
    expect(await value('nestwatch_polls_total{region="us",feed="flight"}')).toBe(0);
  });

  test('a request counts by operation', async () => {
    const { report, value } = world();
    const request = { what: 'request', region: 'us', operation: 'getFlight', durationMs: 40 } as const;
    report(request);
    report({ ...request, failure: 'timeout' });
    const labels = 'region="us",operation="getFlight"';
    expect(await value(`nestwatch_api_requests_total{${labels}}`)).toBe(2);
    expect(await value(`nestwatch_api_requests_failed_total{${labels},reason="timeout"}`)).toBe(1);
    expect(await value(`nestwatch_api_request_duration_seconds_bucket{le="0.05",${labels}}`)).toBe(2);
    expect(await value(`nestwatch_api_request_duration_seconds_bucket{le="0.025",${labels}}`)).toBe(0);
  });

  test('the delay of an event is measured only from when the watch began', async () => {
    const { report, value } = world();
    const event = {
      key: 'e1',
      type: 'flight.failed',
      occurredAtUs: 0,
    } as const;
    const past = { ...event, delayMs: 3_600_000, historic: true };
    const present = { ...event, delayMs: 4_000, historic: false };
    report({ what: 'events', region: 'eu', feed: 'flight', events: [past, present] });
    expect(await value('nestwatch_events_total{region="eu",feed="flight",type="flight.failed"}')).toBe(2);
    expect(await value('nestwatch_event_delay_seconds_sum{region="eu",feed="flight"}')).toBe(4);
  });

  test('new types of the service get a series, until there are too many or they are not words', async () => {
    const { report, value, series } = world({ regions: ['eu'] });
    const event = { key: 'e1', occurredAtUs: 0, delayMs: 0, historic: false };
    const types = ['UserInvited', '"} 1\nfake_metric 1', ...Array.from({ length: 500 }, (_, at) => `T${at}`)];
    const events = types.map((type) => ({ ...event, type: `notification.${type}` }));
    report({ what: 'events', region: 'eu', feed: 'notification', events });
    const labels = 'region="eu",feed="notification"';
    expect(await value(`nestwatch_events_total{${labels},type="notification.UserInvited"}`)).toBe(1);
    expect(await value(`nestwatch_events_total{${labels},type="other"}`)).toBe(482);
    expect(await value('nestwatch_series_dropped_total{metric="nestwatch_events_total"}')).toBe(482);
    expect((await series('nestwatch_events_total')).length).toBeLessThan(54);
  });

  test('entries that were repeated, recovered, missing or malformed add up', async () => {
    const { report, value } = world();
    report({ what: 'duplicates', region: 'eu', feed: 'bird_log', count: 37 });
    report({ what: 'recovered', region: 'eu', feed: 'bird_log', count: 5 });
    report({ what: 'missing', region: 'eu', feed: 'bird_log', count: 2 });
    report({ what: 'quarantined', region: 'eu', feed: 'bird_log', count: 2, reason: 'createdAt: missing' });
    expect(await value('nestwatch_events_duplicate_total{region="eu",feed="bird_log"}')).toBe(37);
    expect(await value('nestwatch_entries_quarantined_total{region="eu",feed="bird_log"}')).toBe(2);
    expect(await value('nestwatch_entries_recovered_total{region="eu",feed="bird_log"}')).toBe(5);
    expect(await value('nestwatch_entries_missing_total{region="eu",feed="bird_log"}')).toBe(2);
  });

  test.each(['down', 'unauthorized'] as const)('a region that is %s is not up', async (health) => {
    const { report, value } = world();
    report({ what: 'region_health', region: 'eu', health: 'up', reason: '' });
    expect(await value('nestwatch_region_up{region="eu"}')).toBe(1);
    report({ what: 'region_health', region: 'eu', health, reason: '' });
    expect(await value('nestwatch_region_up{region="eu"}')).toBe(0);
  });
});

describe('Birds', () => {
  const LABELS = 'region="eu",nest_id="682",bird_id="1"';

  test('have all their series at 0 from the inventory on', async () => {
    const { report, value } = world();
    report({ what: 'inventory', region: 'eu', birds: [bird('1')] });
    for (const status of ['succeeded', 'failed', 'cancelled', 'active']) {
      expect(await value(`nestwatch_flights_total{${LABELS},status="${status}"}`)).toBe(0);
    }
    expect(await value(`nestwatch_flights_active{${LABELS}}`)).toBe(0);
    expect(await value(`nestwatch_flight_last_failure_timestamp_seconds{${LABELS}}`)).toBe(0);
    expect(await value(`nestwatch_bird_status{${LABELS},status="active"}`)).toBe(1);
    expect(await value(`nestwatch_bird_status{${LABELS},status="suspended"}`)).toBe(0);
    expect(
      await value(`nestwatch_bird_info{${LABELS},nest="Marketing",bird="Bird 1",trigger_type="manual"}`),
    ).toBe(1);
  });

  test('count their Flights, and remember the newest failure whatever the order', async () => {
    const { report, value, series } = world();
    const flight = { what: 'flight', region: 'eu', nestId: '682', birdId: '1', status: 'failed' } as const;
    report({ ...flight, atUs: 90_000_000 });
    report({ ...flight, atUs: 50_000_000 });
    report({ ...flight, status: 'succeeded', atUs: 95_000_000 });
    report({ what: 'flights_active', region: 'eu', nestId: '682', birdId: '1', count: 3 });
    expect(await value(`nestwatch_flights_total{${LABELS},status="failed"}`)).toBe(2);
    report({ ...flight, status: 'active', atUs: 96_000_000 });
    expect(await value(`nestwatch_flights_total{${LABELS},status="succeeded"}`)).toBe(1);
    expect(await value(`nestwatch_flights_total{${LABELS},status="active"}`)).toBe(1);
    expect(await value(`nestwatch_flights_started_total{${LABELS}}`)).toBe(1);
    expect(await value(`nestwatch_flights_ended_total{${LABELS},status="failed"}`)).toBe(2);
    expect(await series('nestwatch_flights_ended_total')).toHaveLength(3);
    expect(await value(`nestwatch_flight_last_failure_timestamp_seconds{${LABELS}}`)).toBe(90);
    expect(await value(`nestwatch_flights_active{${LABELS}}`)).toBe(3);
  });

  test('show a new status, even an unknown one, and drop it when it ends', async () => {
    const { report, value, series } = world();
    report({ what: 'inventory', region: 'eu', birds: [bird('1', { status: 'archived' })] });
    expect(await value(`nestwatch_bird_status{${LABELS},status="archived"}`)).toBe(1);
    expect(await value(`nestwatch_bird_status{${LABELS},status="active"}`)).toBe(0);
    report({ what: 'inventory', region: 'eu', birds: [bird('1', { status: 'suspended' })] });
    expect(await value(`nestwatch_bird_status{${LABELS},status="suspended"}`)).toBe(1);
    expect(await series('nestwatch_bird_status')).toHaveLength(3);
  });

  test('keep their counts under a new name', async () => {
    const { report, value, series } = world();
    report({ what: 'inventory', region: 'eu', birds: [bird('1')] });
    report({ what: 'flight', region: 'eu', nestId: '682', birdId: '1', status: 'failed', atUs: 1 });
    report({ what: 'inventory', region: 'eu', birds: [bird('1', { bird: 'Renamed' })] });
    expect(await series('nestwatch_bird_info')).toEqual([
      `nestwatch_bird_info{${LABELS},nest="Marketing",bird="Renamed",trigger_type="manual"} 1`,
    ]);
    expect(await value(`nestwatch_flights_total{${LABELS},status="failed"}`)).toBe(1);
  });

  test('that vanish lose every series, only in their own region', async () => {
    const { report, text } = world();
    for (const region of ['eu', 'us']) {
      report({ what: 'inventory', region, birds: [bird('1'), bird('2')] });
      report({ what: 'flight', region, nestId: '682', birdId: '1', status: 'paused', atUs: 1 });
    }
    report({ what: 'inventory', region: 'eu', birds: [bird('2')] });
    const lines = (await text()).split('\n').filter((line) => line.includes('bird_id="1"'));
    expect(lines.filter((line) => line.includes('region="eu"'))).toEqual([]);
    expect(lines.filter((line) => line.includes('region="us"'))).toHaveLength(16);
  });

  test('that move to another Nest start anew there', async () => {
    const { report, value, text } = world();
    report({ what: 'inventory', region: 'eu', birds: [bird('1')] });
    report({ what: 'inventory', region: 'eu', birds: [bird('1', { nestId: '9' })] });
    expect(await text()).not.toContain('nest_id="682"');
    expect(await value('nestwatch_flights_active{region="eu",nest_id="9",bird_id="1"}')).toBe(0);
  });

  test('beyond the limit have no series, are counted, and take the room of those that vanish', async () => {
    const { report, value, series } = world({ maxBirds: 4 });
    const birds = ['1', '2', '3', '4', '5'].map((id) => bird(id));
    report({ what: 'inventory', region: 'eu', birds });
    report({ what: 'inventory', region: 'us', birds: [bird('1')] });
    report({ what: 'flight', region: 'eu', nestId: '682', birdId: '5', status: 'failed', atUs: 1 });
    expect(await series('nestwatch_flights_active')).toHaveLength(3);
    expect(await value('nestwatch_series_dropped_total{metric="nestwatch_bird_info"}')).toBe(3);
    expect(await value('nestwatch_series_dropped_total{metric="nestwatch_flights_total"}')).toBe(4);
    report({ what: 'inventory', region: 'eu', birds: [bird('5')] });
    expect(await value('nestwatch_flights_active{region="eu",nest_id="682",bird_id="5"}')).toBe(0);
  });

  test('with hostile names and ids stay one harmless line', async () => {
    const { report, series } = world();
    const name = `<script>"\n\u202e${'x'.repeat(500)}`;
    const hostile = bird('1"\n', { bird: name, nest: 'a\\b', nestId: '2"' });
    report({ what: 'inventory', region: 'eu', birds: [hostile] });
    const [line, ...more] = await series('nestwatch_bird_info');
    expect(more).toEqual([]);
    expect(line).toContain('nest_id="2\\"",bird_id="1\\"\\n",nest="a\\\\b",bird="<script>\\" xxx');
    expect(line!.length).toBeLessThan(300);
    expect(line).not.toMatch(/[\u202e\n]/);
  });
});

describe('which Birds are shown', () => {
  const ended = { what: 'flight', region: 'eu', nestId: '682', atUs: TEST_START_US } as const;
  const shownBirds = async (text: () => Promise<string>) =>
    [...(await text()).matchAll(/^nestwatch_flights_active\{.*bird_id="(.*?)"/gm)].map(([, id]) => id);

  test('failing: those with a failed Flight within a day, and suspended ones', async () => {
    const clock = createVirtualClock();
    const { report, text, value } = world({ birds: 'failing', clock });
    report({
      what: 'inventory',
      region: 'eu',
      birds: [bird('1'), bird('2', { status: 'suspended' }), bird('3'), bird('4')],
    });
    report({ ...ended, birdId: '3', status: 'failed' });
    report({ ...ended, birdId: '4', status: 'succeeded' });
    expect(await shownBirds(text)).toEqual(['2', '3']);
    await clock.advance(86_400_000);
    expect(await shownBirds(text)).toEqual(['2']);
    report({ ...ended, birdId: '3', status: 'failed', atUs: clock.nowUs() });
    expect(
      await value('nestwatch_flights_ended_total{region="eu",nest_id="682",bird_id="3",status="failed"}'),
    ).toBe(2);
  });

  test('failing: the room is for those that are shown, wherever they are in the inventory', async () => {
    const { report, text, value } = world({ birds: 'failing', maxBirds: 4 });
    const dropped = () => value('nestwatch_series_dropped_total{metric="nestwatch_flights_active"}');
    const birds = ['1', '2', '3', '4', '5'].map((id) => bird(id));
    report({ what: 'inventory', region: 'eu', birds });
    report({ ...ended, birdId: '4', status: 'failed' });
    report({ ...ended, birdId: '5', status: 'failed' });
    expect([await shownBirds(text), await dropped()]).toEqual([['4', '5'], 0]);
    report({ ...ended, birdId: '1', status: 'failed' });
    expect(await shownBirds(text)).toEqual(['1', '4']);
    expect(await dropped()).toBe(1);
  });

  test('none: no Bird, and no room is missed; Nests still count', async () => {
    const { report, text, value } = world({ birds: 'none', maxBirds: 2 });
    report({ what: 'inventory', region: 'eu', birds: [bird('1'), bird('2'), bird('3')] });
    report({ ...ended, birdId: '3', status: 'failed' });
    expect(await text()).not.toContain('bird_id');
    expect(await value('nestwatch_series_dropped_total{metric="nestwatch_bird_info"}')).toBe(0);
    expect(await value('nestwatch_nest_flights_ended_total{region="eu",nest_id="682",status="failed"}')).toBe(
      1,
    );
  });
});

describe('Nests', () => {
  const LABELS = 'region="eu",nest_id="682"';
  const ended = { what: 'flight', region: 'eu', nestId: '682', birdId: '1', atUs: 1 } as const;

  test('have all their series at 0 from the inventory on', async () => {
    const { report, value } = world();
    report({ what: 'inventory', region: 'eu', birds: [bird('1'), bird('2')] });
    expect(await value(`nestwatch_nest_info{${LABELS},nest="Marketing"}`)).toBe(1);
    for (const status of ['succeeded', 'failed', 'cancelled']) {
      expect(await value(`nestwatch_nest_flights_ended_total{${LABELS},status="${status}"}`)).toBe(0);
    }
    expect(await value(`nestwatch_flight_duration_seconds_count{${LABELS}}`)).toBe(0);
  });

  test('count the ends of their Flights, and their durations if known', async () => {
    const { report, value } = world();
    report({ ...ended, status: 'failed', durationMs: 61_000, cause: 'No' });
    report({ ...ended, status: 'succeeded', birdId: '2' });
    report({ ...ended, status: 'active' });
    expect(await value(`nestwatch_nest_flights_ended_total{${LABELS},status="failed"}`)).toBe(1);
    expect(await value(`nestwatch_nest_flights_ended_total{${LABELS},status="succeeded"}`)).toBe(1);
    expect(await value(`nestwatch_flight_duration_seconds_sum{${LABELS}}`)).toBe(61);
    expect(await value(`nestwatch_flight_duration_seconds_bucket{le="60",${LABELS}}`)).toBe(0);
    expect(await value(`nestwatch_flight_duration_seconds_bucket{le="300",${LABELS}}`)).toBe(1);
  });

  test('that are renamed keep their counts, and those that vanish lose every series', async () => {
    const { report, value, text } = world();
    report({ what: 'inventory', region: 'eu', birds: [bird('1'), bird('2', { nestId: '9', nest: 'Old' })] });
    report({ ...ended, status: 'paused' });
    report({ ...ended, status: 'paused', nestId: '9' });
    report({ what: 'inventory', region: 'eu', birds: [bird('1', { nest: 'Sales' })] });
    expect(await text()).not.toMatch(/nest_id="9"|Marketing/);
    expect(await value(`nestwatch_nest_info{${LABELS},nest="Sales"}`)).toBe(1);
    expect(await value(`nestwatch_nest_flights_ended_total{${LABELS},status="paused"}`)).toBe(1);
  });

  test('beyond the limit have no series and are counted [long]', async () => {
    const { report, series, value } = world({ regions: ['eu'] });
    const most = LIMITS.shown_nests.most;
    const birds = Array.from({ length: most + 2 }, (_, id) => bird(String(id), { nestId: String(id) }));
    report({ what: 'inventory', region: 'eu', birds });
    report({ ...ended, nestId: String(most), status: 'failed' });
    expect(await series('nestwatch_nest_info')).toHaveLength(most);
    expect(await value('nestwatch_series_dropped_total{metric="nestwatch_nest_info"}')).toBe(2);
    expect(await value('nestwatch_series_dropped_total{metric="nestwatch_nest_flights_ended_total"}')).toBe(
      3,
    );
  });
});

describe('failures by cause', () => {
  const failed = {
    what: 'flight',
    region: 'eu',
    nestId: '1',
    birdId: '1',
    status: 'failed',
    atUs: 1,
  } as const;
  const label = (error: string) => `nestwatch_flight_failures_total{region="eu",error="${error}"}`;

  test('count each in its region', async () => {
    const { report, value } = world();
    expect(await value(label('_other'))).toBe(0);
    report({ ...failed, cause: 'HTTP # from …' });
    report({ ...failed, cause: 'HTTP # from …' });
    report({ ...failed, cause: '' });
    report({ ...failed, region: 'us', cause: 'HTTP # from …' });
    expect(await value(label('HTTP # from …'))).toBe(2);
    expect(await value(label('_none'))).toBe(1);
  });

  test('show the most frequent ones, and count the others as _other [long]', async () => {
    const { report, value, series } = world({ regions: ['eu'] });
    const most = LIMITS.shown_causes.most;
    for (let index = 0; index < most; index += 1) report({ ...failed, cause: `cause ${index}` });
    for (let index = 1; index < most; index += 1) report({ ...failed, cause: `cause ${index}` });
    report({ ...failed, cause: 'new' });
    expect([await value(label('new')), await value(label('_other'))]).toEqual([undefined, 1]);
    report({ ...failed, cause: 'new' });
    report({ ...failed, cause: 'cause 0' });
    // It occurred more often than the rarest one shown, which it replaces; later failures of that one count as
    // `_other`.
    expect([await value(label('new')), await value(label('cause 0'))]).toEqual([1, undefined]);
    expect(await value(label('_other'))).toBe(2);
    for (let index = 0; index < 5_000; index += 1) report({ ...failed, cause: `once ${index}` });
    report({ ...failed, cause: '_other' });
    expect(await value(label('_other'))).toBe(5_003);
    expect(await series('nestwatch_flight_failures_total')).toHaveLength(most + 1);
  });
});

test('lost connections count by whether the service still tries', async () => {
  const { report, value } = world();
  report({ what: 'connection_lost', region: 'eu', state: 'given_up' });
  expect(await value('nestwatch_connections_lost_total{region="eu",state="given_up"}')).toBe(1);
  expect(await value('nestwatch_connections_lost_total{region="eu",state="retrying"}')).toBe(0);
});

describe('OpenMetrics', () => {
  test('shows event keys beside what they were counted in, and ends with its mark', async () => {
    const { report, text } = world();
    report({ what: 'inventory', region: 'eu', birds: [bird('1')] });
    const key = 'eu/flight/77/failed';
    const flight = { region: 'eu', nestId: '682', birdId: '1', status: 'failed', atUs: 1 } as const;
    report({ what: 'flight', ...flight, durationMs: 2_000, cause: 'No', eventKey: key });
    const event = { key, type: 'flight.failed', occurredAtUs: 0, delayMs: 4_000, historic: false };
    const earlier = { ...event, key: 'earlier' };
    report({ what: 'events', region: 'eu', feed: 'flight', events: [earlier, event] });
    const body = await text('openmetrics');
    const exemplars = body.split('\n').filter((line) => line.includes(` # {event_key="${key}"} `));
    expect(exemplars.map((line) => line.split('{')[0])).toEqual([
      'nestwatch_event_delay_seconds_bucket',
      'nestwatch_flight_duration_seconds_bucket',
      'nestwatch_flight_failures_total',
    ]);
    expect(body).toContain('# TYPE nestwatch_flights_ended counter\n');
    expect(body).toContain(
      '\nnestwatch_flights_ended_total{region="eu",nest_id="682",bird_id="1",status="failed"} 1\n',
    );
    expect(body).toContain('# TYPE nestwatch_events counter\nnestwatch_events_total{');
    expect(body.endsWith('\n# EOF\n')).toBe(true);
    expect(body).not.toContain('\n\n');
    expect(await text()).not.toContain('event_key');
  });

  test('a key that is too long for it is omitted', async () => {
    const { report, text } = world();
    const key = 'x'.repeat(300);
    const event = { key, type: 'flight.failed', occurredAtUs: 0, delayMs: 1, historic: false };
    report({ what: 'events', region: 'eu', feed: 'flight', events: [event] });
    expect(await text('openmetrics')).not.toContain('event_key');
  });
});

describe('notifying', () => {
  const delivery = {
    what: 'delivery',
    receiver: 'pager',
    integration: 'webhook',
    id: 'd1',
    attempt: 1,
  } as const;
  const LABELS = 'receiver="pager",integration="webhook"';

  test('each attempt counts; failures count by reason, acceptances with their latency', async () => {
    const { report, value } = world();
    report({ ...delivery, outcome: 'retry', reason: 'timeout' });
    report({ ...delivery, outcome: 'ambiguous', reason: 'ambiguous' });
    report({ ...delivery, outcome: 'delivered', latencyMs: 12_000 });
    report({ ...delivery, outcome: 'dead', reason: 'rejected' });
    // Some of several recipients refused it.
    report({ ...delivery, outcome: 'delivered', reason: 'rejected', latencyMs: 3000 });
    expect(await value(`nestwatch_notifications_total{${LABELS}}`)).toBe(5);
    expect(await value(`nestwatch_notifications_failed_total{${LABELS},reason="timeout"}`)).toBe(1);
    expect(await value(`nestwatch_notifications_failed_total{${LABELS},reason="rejected"}`)).toBe(2);
    expect(await value(`nestwatch_notification_latency_seconds_sum{${LABELS}}`)).toBe(15);
  });

  test('what is suppressed is not an attempt', async () => {
    const { report, value } = world();
    report({ ...delivery, outcome: 'suppressed' });
    report({ what: 'suppressed', reason: 'too_old', count: 3 });
    expect(await value(`nestwatch_notifications_total{${LABELS}}`)).toBe(0);
    expect(await value('nestwatch_notifications_suppressed_total{reason="at_delivery"}')).toBe(1);
    expect(await value('nestwatch_notifications_suppressed_total{reason="too_old"}')).toBe(3);
  });

  test('a message with a built-in text instead of a template counts, from 0', async () => {
    const { report, value } = world();
    expect(await value(`nestwatch_template_failures_total{${LABELS}}`)).toBe(0);
    report({ what: 'template_failed', receiver: 'pager', integration: 'webhook', error: 'x' });
    expect(await value(`nestwatch_template_failures_total{${LABELS}}`)).toBe(1);
  });

  test('trouble counts by stage and code, and unexpected errors as a bug', async () => {
    const { report, value } = world();
    report({ what: 'trouble', stage: 'store', error: new NestwatchError('disk_full', 'no space') });
    report({ what: 'trouble', stage: 'intake', error: new TypeError('x') });
    expect(await value('nestwatch_troubles_total{stage="store",reason="disk_full"}')).toBe(1);
    expect(await value('nestwatch_troubles_total{stage="intake",reason="bug"}')).toBe(1);
  });

  test('a failed reload leaves the time of the configuration in use', async () => {
    const { report, value } = world();
    report({ what: 'config_reload', success: true, atUs: 7_000_000 });
    report({ what: 'config_reload', success: false, atUs: 9_000_000 });
    expect(await value('nestwatch_config_last_reload_successful')).toBe(0);
    expect(await value('nestwatch_config_last_reload_success_timestamp_seconds')).toBe(7);
  });
});

describe('another configuration', () => {
  const more = {
    regions: ['eu', 'ap'],
    receivers: [
      { name: 'ops', integrations: [{ kind: 'email' }, { kind: 'webhook' }] },
      { name: 'lake', integrations: [{ kind: 'webhook' }] },
    ],
    rules: [{ kind: 'FlightFailed', severity: 'urgent' }],
  };

  test('brings its own series at 0 and leaves what was counted', async () => {
    const { report, value, follow } = world();
    const polled = { what: 'poll', region: 'eu', feed: 'flight', durationMs: 5, atUs: 9_000_000 } as const;
    report(polled);
    report({ what: 'region_health', region: 'eu', health: 'up', reason: '' });
    follow(more);
    expect(await value('nestwatch_region_up{region="eu"}')).toBe(1);
    expect(await value('nestwatch_polls_total{region="eu",feed="flight"}')).toBe(1);
    expect(await value('nestwatch_poll_duration_seconds_count{region="eu",feed="flight"}')).toBe(1);
    expect(await value('nestwatch_region_up{region="ap"}')).toBe(0);
    expect(await value('nestwatch_deliveries_dead{receiver="lake"}')).toBe(0);
    expect(await value('nestwatch_notifications_total{receiver="ops",integration="webhook"}')).toBe(0);
    expect(await value('nestwatch_alerts{alertname="FlightFailed",severity="urgent",state="firing"}')).toBe(
      0,
    );
  });

  test('divides the room for Birds among the regions that it has', async () => {
    const { report, series, follow } = world({ maxBirds: 4 });
    const birds = ['1', '2', '3'].map((id) => bird(id));
    report({ what: 'inventory', region: 'eu', birds });
    expect(await series('nestwatch_flights_active')).toHaveLength(2);
    follow({ ...more, regions: ['eu', 'us', 'ap', 'sa'] });
    expect(await series('nestwatch_flights_active')).toHaveLength(1);
    follow({ ...more, regions: ['eu'] });
    report({ what: 'inventory', region: 'eu', birds });
    expect(await series('nestwatch_flights_active')).toHaveLength(3);
  });

  test('removes every series of a region that it no longer has', async () => {
    const { report, text, keepRegions, value } = world();
    report({ what: 'inventory', region: 'us', birds: [bird('1')] });
    report({ what: 'poll', region: 'us', feed: 'flight', durationMs: 5, atUs: 9_000_000 });
    expect(await text()).toContain('region="us"');
    await keepRegions(['eu', 'ap']);
    expect(await text()).not.toContain('region="us"');
    expect(await value('nestwatch_polls_total{region="eu",feed="flight"}')).toBe(0);
  });
});

describe('what is read at each scrape', () => {
  const firing = { alertname: 'FlightFailed', severity: 'critical', state: 'firing' };
  const SERIES = 'nestwatch_alerts{alertname="FlightFailed",severity="critical",state="firing"}';

  test('alerts that are gone fall to 0', async () => {
    let alerts = [{ ...firing, count: 2 }];
    const { value } = world({ collect: async () => ({ ...NOTHING, alerts }) });
    expect(await value(SERIES)).toBe(2);
    alerts = [];
    expect(await value(SERIES)).toBe(0);
  });

  test('firing alerts by region and Nest, without what no longer fires', async () => {
    const one = { alertname: 'FlightFailed', severity: 'warning', region: 'eu', nestId: '7', count: 3 };
    let firing = [one];
    const { series } = world({ collect: async () => ({ ...NOTHING, firing }) });
    expect(await series('nestwatch_alerts_firing')).toEqual([
      'nestwatch_alerts_firing{alertname="FlightFailed",severity="warning",region="eu",nest_id="7"} 3',
    ]);
    firing = [];
    expect(await series('nestwatch_alerts_firing')).toEqual([]);
  });

  test('of very many combinations the largest, and the others added up', async () => {
    const most = LIMITS.shown_firing.most;
    const firing = Array.from({ length: most + 5 }, (_, index) => ({
      alertname: 'FlightFailed',
      severity: 'warning',
      region: 'eu',
      nestId: String(index),
      count: index + 1,
    }));
    const { series, value } = world({ collect: async () => ({ ...NOTHING, firing }) });
    expect(await series('nestwatch_alerts_firing')).toHaveLength(most + 1);
    const other = 'alertname="FlightFailed",severity="warning",region="eu",nest_id="_other"';
    expect(await value(`nestwatch_alerts_firing{${other}}`)).toBe(1 + 2 + 3 + 4 + 5);
  });

  test.each([true, false])('ready is %s', async (ready) => {
    const { value } = world({ collect: async () => ({ ...NOTHING, ready }) });
    expect(await value('nestwatch_ready')).toBe(ready ? 1 : 0);
  });

  test('silences by state', async () => {
    const silences = [
      { state: 'active', count: 2 },
      { state: 'expired', count: 0 },
    ];
    const { value } = world({ collect: async () => ({ ...NOTHING, silences }) });
    expect(await value('nestwatch_silences{state="active"}')).toBe(2);
    expect(await value('nestwatch_silences{state="expired"}')).toBe(0);
  });

  test('whether actions are paused is not said once no region has `fly`', async () => {
    let isPaused: boolean | undefined = true;
    const { text, value } = world({ collect: async () => ({ ...NOTHING, isPaused }) });
    expect(await value('nestwatch_actions_paused')).toBe(1);
    isPaused = undefined;
    expect(await text()).not.toMatch(/^nestwatch_actions_paused/m);
  });

  test('pending deliveries are all that are not settled, even if two scrapes overlap', async () => {
    const deliveries = ['pending', 'leased', 'retry', 'ambiguous', 'dead', 'delivered', 'suppressed'].map(
      (state, index) => ({ receiver: 'ops', state, count: 10 ** index }),
    );
    const { text, value } = world({ collect: async () => ({ ...NOTHING, deliveries }) });
    await Promise.all([text(), text()]);
    expect(await value('nestwatch_deliveries_pending{receiver="ops"}')).toBe(1_111);
    expect(await value('nestwatch_deliveries_dead{receiver="ops"}')).toBe(10_000);
    expect(await value('nestwatch_deliveries_dead{receiver="pager"}')).toBe(0);
    for (const { state, count } of deliveries) {
      expect(await value(`nestwatch_deliveries{receiver="ops",state="${state}"}`)).toBe(count);
    }
  });

  test('cursors, and up to where feeds are complete, are timestamps', async () => {
    const flights = { region: 'eu', feed: 'flight', cursorUs: 1_500_000, verifiedUntilUs: 500_000 } as const;
    const { value } = world({ collect: async () => ({ ...NOTHING, cursors: [flights] }) });
    expect(await value('nestwatch_cursor_timestamp_seconds{region="eu",feed="flight"}')).toBe(1.5);
    expect(await value('nestwatch_verified_timestamp_seconds{region="eu",feed="flight"}')).toBe(0.5);
  });

  test('a scrape fails if its sources do', async () => {
    const { render } = world({ collect: () => Promise.reject(new NestwatchError('store_failed', 'gone')) });
    await expect(render()).rejects.toThrow('gone');
  });
});

describe('of several replicas', () => {
  const KEPT: Collected = {
    ...NOTHING,
    alerts: [{ alertname: 'FlightFailed', severity: 'page', state: 'firing', count: 3 }],
    firing: [{ alertname: 'FlightFailed', severity: 'page', region: 'eu', nestId: '682', count: 3 }],
    silences: [{ state: 'active', count: 2 }],
    deliveries: [{ receiver: 'ops', state: 'dead', count: 1 }],
    setAside: [{ sort: 'rule', count: 1 }],
    cursors: ['eu', 'us'].map((region) => ({
      ...{ region, feed: 'flight' as const, cursorUs: 5e6, verifiedUntilUs: 4e6 },
    })),
    reads: ['eu', 'us'].map((region) => ({
      ...{ region, feed: 'flight' as const, overdue: 1, oldestReadUs: 3e6 },
    })),
    space: { used: 10, free: 20 },
  };
  const duty = (region: string, isOwned: boolean) =>
    ({ what: 'duty', duty: `region ${region}`, region, isOwned }) as const;
  const alerting = (isOwned: boolean) =>
    ({ what: 'duty', duty: 'alerting', region: undefined, isOwned }) as const;
  const SHARED = [
    'nestwatch_alerts{',
    'nestwatch_alerts_firing{',
    'nestwatch_silences{',
    'nestwatch_deliveries{',
    'nestwatch_deliveries_dead{',
    'nestwatch_deliveries_pending{',
    'nestwatch_set_aside{',
    'nestwatch_store_bytes ',
    'nestwatch_store_free_bytes ',
  ];
  const starting = (text: string, names: readonly string[]) =>
    names.filter((name) => text.split('\n').some((line) => line.startsWith(name)));

  test('the series of a region come only from its owner', async () => {
    const { report, text } = world({ isShared: true, collect: async () => KEPT });
    const of = (whole: string, region: string) =>
      whole.split('\n').filter((line) => line.includes(`region="${region}"`));
    const before = await text();
    expect(of(before, 'eu')).toEqual(['nestwatch_region_owner{region="eu"} 0']);

    report(duty('eu', true));
    report({ what: 'inventory', region: 'eu', birds: [bird('1')] });
    report({ what: 'region_health', region: 'eu', health: 'up', reason: '' });
    const owned = await text();
    expect(of(owned, 'eu')).toEqual(
      expect.arrayContaining([
        'nestwatch_region_owner{region="eu"} 1',
        'nestwatch_region_up{region="eu"} 1',
        'nestwatch_polls_total{region="eu",feed="flight"} 0',
        'nestwatch_cursor_timestamp_seconds{region="eu",feed="flight"} 5',
        'nestwatch_streams_overdue{region="eu",feed="flight"} 1',
        expect.stringMatching(/^nestwatch_bird_info\{region="eu"/),
      ]),
    );
    expect(of(owned, 'us')).toEqual(['nestwatch_region_owner{region="us"} 0']);

    report(duty('eu', false));
    expect(of(await text(), 'eu')).toEqual(['nestwatch_region_owner{region="eu"} 0']);
  });

  test('a region that comes back before a scrape continues its counts', async () => {
    const { report, value } = world({ isShared: true });
    report(duty('eu', true));
    report({ what: 'duplicates', region: 'eu', feed: 'flight', count: 2 });
    report(duty('eu', false));
    report(duty('eu', true));
    expect(await value('nestwatch_events_duplicate_total{region="eu",feed="flight"}')).toBe(2);
    expect(await value('nestwatch_region_owner{region="eu"}')).toBe(1);
  });

  test('the one that alerts shows what all share, and queries the store for it', async () => {
    const asked: boolean[] = [];
    const { report, text } = world({
      isShared: true,
      async collect(isAlerting: boolean) {
        asked.push(isAlerting);
        return KEPT;
      },
    });
    expect(starting(await text(), SHARED)).toEqual([]);
    report(alerting(true));
    const shown = await text();
    expect(starting(shown, SHARED)).toEqual(SHARED);
    expect(shown).toContain('nestwatch_alerting_owner 1');
    report(alerting(false));
    const after = await text();
    expect(starting(after, SHARED)).toEqual([]);
    expect(after).toContain('nestwatch_alerting_owner 0');
    expect(asked).toEqual([false, true, false]);
  });

  test('the last heartbeat is shown by the one that sends it', async () => {
    const { report, value } = world({ isShared: true });
    const last = () => value('nestwatch_heartbeat_last_success_timestamp_seconds');
    expect(await last()).toBeUndefined();
    report({ what: 'duty', duty: 'repeating', region: undefined, isOwned: true });
    expect(await last()).toBe(0);
    report({ what: 'heartbeat', outcome: 'sent', reason: '', atUs: 7e6 });
    expect(await last()).toBe(7);
    report({ what: 'duty', duty: 'repeating', region: undefined, isOwned: false });
    expect(await last()).toBeUndefined();
  });

  test('each shows its own name, which another one on the same host changes', async () => {
    let replica: string | undefined = 'web';
    const { text } = world({ isShared: true, collect: async () => ({ ...KEPT, replica }) });
    const shown = async () =>
      (await text()).split('\n').filter((line) => /^nestwatch_replica_info/.test(line));
    expect(await shown()).toEqual(['nestwatch_replica_info{replica="web"} 1']);
    replica = 'web#7';
    expect(await shown()).toEqual(['nestwatch_replica_info{replica="web#7"} 1']);
    replica = undefined;
    expect(await shown()).toEqual([]);
  });

  test('one that has its store to itself owns all of it', async () => {
    const { text } = world({ collect: async () => KEPT });
    const whole = await text();
    expect(starting(whole, SHARED)).toEqual(SHARED);
    expect(whole).toContain('nestwatch_alerting_owner 1');
    expect(whole).toContain('nestwatch_region_owner{region="us"} 1');
  });
});
