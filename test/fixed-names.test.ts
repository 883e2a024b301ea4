/**
 * The names that people's scripts, dashboards, receivers and configurations depend on. Names may be added, but none
 * of these may change. What each of them does is tested where it is implemented.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BIRD_METRICS, METRICS } from '../src/observe/metric-catalogue.ts';
import { nestwatch } from './cli/test-io.ts';
import { problemsOf } from './config/load.ts';
import { serve } from './web/served.ts';

describe('commands and their flags', () => {
  const CONFIG = '--config.file';
  test.each([
    ['run', [CONFIG, '--once', '--log.level', '--log.format']],
    ['demo', ['--for']],
    ['simulate', ['--listen', '--region', '--token', '--seed', '--birds', '--faults', '--control']],
    ['api', ['--region', '--body', '--all', '--yes', CONFIG]],
    ['check-config', ['--online', '--strict', '--json', CONFIG]],
    ['test-receiver', ['--resolved', '--dry-run', '--json', CONFIG]],
    ['routes show', [CONFIG, '--json']],
    ['routes test', [CONFIG, '--json']],
    ['silence add', ['--url', '--json']],
    ['silence list', ['--url', '--json']],
    ['silence query', ['--url', '--json']],
    ['silence update', ['--url', '--json']],
    ['silence expire', ['--url', '--json']],
    ['silence import', ['--url', '--json']],
    ['silence export', ['--url']],
    ['alerts list', ['--url', '--json']],
    ['alerts show', ['--url', '--json']],
    ['status', ['--url', '--json']],
    ['healthcheck', ['--url', '--json']],
    ['backfill', ['--from', '--to', '--region', '--notify', CONFIG, '--json']],
    ['deliveries list', ['--dead', '--url', '--json']],
    ['deliveries show', ['--url', '--json']],
    ['deliveries retry', ['--url', '--json']],
    ['explain', ['--url', '--json']],
    ['events', ['--url', '--json']],
    ['birds list', ['--url', '--json']],
    ['flights list', ['--url', '--json']],
    ['doctor', [CONFIG, '--json']],
    ['config show', [CONFIG, '--json']],
    ['store backup', [CONFIG, '--json']],
    ['store check', [CONFIG, '--json']],
    ['store copy', [CONFIG, '--json']],
    ['schema', []],
    ['init', []],
    ['completion', []],
    ['version', ['--json']],
  ])('%s', async (command, flags) => {
    const { exit, stdout } = await nestwatch([...command.split(' '), '--help']);
    expect(exit).toBe(0);
    // For a command that does not exist, the help would be that of its parent.
    const [usage] = stdout.split('\n');
    for (const word of command.split(' ')) expect(usage).toMatch(new RegExp(`[ |]${word}([ |]|$)`));
    const named = stdout.split(/[\s,]+/);
    for (const flag of flags) expect(named).toContain(flag);
  });
});

describe('addresses', () => {
  test.each([
    ...['/', '/alerts', '/birds', '/events', '/deliveries', '/nests', '/silences', '/config'],
    ...['/metrics', '/-/healthy', '/-/ready', '/healthz', '/readyz'],
    ...['/api/v1/status', '/api/v1/health', '/api/v1/events', '/api/v1/alerts', '/api/v1/birds'],
    ...['/api/v1/deliveries', '/api/v2/status', '/api/v2/alerts', '/api/v2/alerts/groups'],
    ...['/api/v2/receivers', '/api/v2/silences'],
  ])('GET %s', async (path) => {
    expect((await (await serve()).ask(path)).status).toBe(200);
  });

  const FILTERS = ['region=eu', 'nest=a', 'bird=a', 'flight=a', 'name=a', 'severity=critical', 'text=a'];
  test.each([
    ...['/api/v1/alerts', '/api/v1/birds', '/api/v1/deliveries', '/api/v1/events', '/api/v1/flights'],
    ...['/api/v1/nests', '/alerts', '/birds', '/deliveries', '/events', '/nests'],
  ])('%s takes every filter', async (path) => {
    const { ask } = await serve();
    for (const filter of [...FILTERS, 'since=2h', 'until=2026-07-02T10:00:00Z']) {
      expect({ filter, status: (await ask(`${path}?${filter}`)).status }).toEqual({ filter, status: 200 });
    }
  });

  test('/api/v1/events also takes its own parameters', async () => {
    const { ask } = await serve();
    const path = '/api/v1/events?feed=flight&type=flight.failed&limit=5&cursor=';
    expect((await ask(path)).status).toBe(200);
  });
});

test.each([
  ['nestwatch_build_info', 'version,revision,node_version'],
  ['nestwatch_region_up', 'region'],
  ['nestwatch_region_owner', 'region'],
  ['nestwatch_polls_total', 'region,feed'],
  ['nestwatch_polls_failed_total', 'region,feed,reason'],
  ['nestwatch_poll_duration_seconds', 'region,feed'],
  ['nestwatch_poll_last_success_timestamp_seconds', 'region,feed'],
  ['nestwatch_cursor_timestamp_seconds', 'region,feed'],
  ['nestwatch_verified_timestamp_seconds', 'region,feed'],
  ['nestwatch_entries_missing_total', 'region,feed'],
  ['nestwatch_entries_recovered_total', 'region,feed'],
  ['nestwatch_entries_quarantined_total', 'region,feed'],
  ['nestwatch_api_requests_total', 'region,operation'],
  ['nestwatch_api_requests_failed_total', 'region,operation,reason'],
  ['nestwatch_api_request_duration_seconds', 'region,operation'],
  ['nestwatch_api_rate_limit', 'region'],
  ['nestwatch_events_total', 'region,feed,type'],
  ['nestwatch_events_duplicate_total', 'region,feed'],
  ['nestwatch_event_delay_seconds', 'region,feed'],
  ['nestwatch_bird_info', 'region,nest_id,bird_id,nest,bird,trigger_type'],
  ['nestwatch_bird_status', 'region,nest_id,bird_id,status'],
  ['nestwatch_flights_total', 'region,nest_id,bird_id,status'],
  ['nestwatch_flights_active', 'region,nest_id,bird_id'],
  ['nestwatch_flight_last_failure_timestamp_seconds', 'region,nest_id,bird_id'],
  ['nestwatch_alerts', 'alertname,severity,state'],
  ['nestwatch_alerts_firing', 'alertname,severity,region,nest_id'],
  ['nestwatch_silences', 'state'],
  ['nestwatch_notifications_total', 'receiver,integration'],
  ['nestwatch_notifications_failed_total', 'receiver,integration,reason'],
  ['nestwatch_notifications_suppressed_total', 'reason'],
  ['nestwatch_notification_latency_seconds', 'receiver,integration'],
  ['nestwatch_deliveries_pending', 'receiver'],
  ['nestwatch_deliveries_dead', 'receiver'],
  ['nestwatch_config_last_reload_successful', ''],
  ['nestwatch_config_last_reload_success_timestamp_seconds', ''],
  ['nestwatch_series_dropped_total', 'metric'],
  ['nestwatch_watch_impaired', 'reason'],
  ['nestwatch_streams_overdue', 'region,feed'],
  ['nestwatch_oldest_read_timestamp_seconds', 'region,feed'],
  ['nestwatch_store_bytes', ''],
  ['nestwatch_store_free_bytes', ''],
  ['nestwatch_event_loop_longest_seconds', ''],
])('%s has the labels %j', (name, labels) => {
  const metrics = [...Object.values(METRICS), ...Object.values(BIRD_METRICS)];
  const metric = metrics.find((one) => one.name === name);
  expect(metric?.labels.toSorted()).toEqual(labels.split(',').filter(Boolean).toSorted());
});

test('keys of the configuration', () => {
  const text = `
regions:
  eu:
    base_url: https://eu-1.example.com/api-rest
    token: abc
    requests_per_second: 5
    concurrency: 8
    timeout: 15s
    nests: { include: ["*"], exclude: ["Sandbox*"] }
    links: { nest: "https://x/{{ nest_id }}", bird: "https://x/{{ bird_id }}", flight: "https://x/{{ flight_id }}" }
store: { url: "postgres://user@host/db", password_file: /password, retention: 30d }
poll: { interval: 30s, min_interval: 10s, max_interval: 5m, inventory_interval: 5m, page_size: 100, overlap: 2m, initial_lookback: 1h, audit_interval: 10m }
rules:
  - kind: FlightFailed
    match: ['nest=~"Prod.*"']
    severity: critical
    for_each: bird
    threshold: 1
    window: 10m
    labels: { team: loc-ops }
    annotations: { runbook_url: https://wiki.example.com/flights }
global: { smtp_smarthost: "mail.example.com:587", smtp_from: "nestwatch@example.com", smtp_require_tls: true }
route:
  receiver: ops
  group_by: [alertname, region, nest]
  group_wait: 30s
  group_interval: 5m
  repeat_interval: 4h
  routes:
    - { matchers: ['severity="critical"'], receiver: pager, continue: true }
receivers:
  - { name: ops, email_configs: [{ to: ops@example.com, send_resolved: true }] }
  - name: pager
    webhook_configs: [{ url: "http://127.0.0.1:9000/hook", format: alertmanager, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, http_config: { follow_redirects: false } }]
    slack_configs: [{ api_url: "https://hooks.slack.com/services/T/B/x" }]
    msteamsv2_configs: [{ webhook_url: "https://x.example.com/" }]
    pagerduty_configs: [{ routing_key: abc }]
    alertmanager_configs: [{ url: "http://127.0.0.1:9093" }]
  - { name: lake, webhook_configs: [{ url: "http://127.0.0.1:9000/lake", format: cloudevents }] }
inhibit_rules: []
time_intervals: []
forward:
  - { matchers: ['feed=~".*"'], receiver: lake }
digests:
  - { name: daily, cron: "0 8 * * 1-5", timezone: Europe/Amsterdam, receiver: ops }
heartbeat: { url: "https://hc.example.com/ping/x", interval: 1m }
metrics: { birds: failing }
web: { listen: 127.0.0.1:9465, external_url: "http://127.0.0.1:9465", enable_lifecycle: true, auth: { bearer_token: 0123456789abcdef, tokens: [{ token: abcdefgh, scopes: [read, metrics, write] }] } }
`;
  expect(problemsOf(text, { files: { '/password': 'secret' } })).toEqual([]);
});

test.each([
  ...['prometheus/rules.yml', 'prometheus/rules_test.yml', 'grafana', 'compose', 'kubernetes'],
  ...['runbooks.md', 'templates'],
])('config/%s exists', (path) => {
  expect(existsSync(join(import.meta.dirname, '../config', path))).toBe(true);
});
