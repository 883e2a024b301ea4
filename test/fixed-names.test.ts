/** Names that people depend on, used as they use them; `config/public-names.txt` lists all. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { problemsOf } from './config/load.ts';
import { serve } from './web/served.ts';

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
  ])('%s takes every filter [long]', async (path) => {
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
