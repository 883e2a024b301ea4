// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe, expect, test } from 'vitest';
import { BUILT_IN_INHIBITIONS } from '../../src/domain/muting/muting.ts';
import { routesFor } from '../../src/domain/routing/route.ts';
import { load, REGION, warningsOf } from './load.ts';

const OLD = `${REGION}global: { resolve_timeout: 5m }
route:
  receiver: a
  labels: { team: '{{ .GroupLabels.nest }}', reason: '{{ routeLabels "team" }}', plain: x }
  routes:
    - match: { severity: critical, tier: 1 }
      receiver: a
      routes: [{ match_re: { nest: 'Prod|Stage' }, matchers: [bird!="x"], receiver: b }]
receivers: [{ name: a, labels: { team: x } }, { name: b, labels: {} }]
inhibit_rules:
  - { source_match: { alertname: A }, target_match_re: { alertname: 'B.*' }, target_matchers: [region="eu"], equal: [nest] }
templates: [/etc/alertmanager/*.tmpl]
tracing: { endpoint: x }
`;

describe("Alertmanager's older forms", () => {
  test('mean what they mean in Alertmanager', () => {
    const { route, inhibitRules } = load(OLD);
    const receivers = (labels: Record<string, string>) =>
      routesFor(route, labels).map(({ receiver, path }) => [receiver, path]);
    const critical = { severity: 'critical', tier: '1' };
    expect(receivers({ ...critical, nest: 'Prod' })).toEqual([['b', '0.0.0']]);
    expect(receivers({ ...critical, nest: 'Production' })).toEqual([['a', '0.0']]);
    expect(receivers({ ...critical, nest: 'Prod', bird: 'x' })).toEqual([['a', '0.0']]);
    expect(receivers({ severity: 'critical' })).toEqual([['a', '0']]);
    // The group's key is the same as with today's matchers.
    expect(route.writeLabels!({ groupLabels: {}, commonLabels: {} })).toEqual({ plain: 'x' });
    const today = load(
      OLD.replace('match: { severity: critical, tier: 1 }', `matchers: ['severity="critical"', 'tier="1"']`),
    );
    expect(route.routes[0]!.key).toBe(today.route.routes[0]!.key);
    const [rule, ...builtIn] = inhibitRules;
    expect(builtIn).toEqual(BUILT_IN_INHIBITIONS);
    expect(rule!.sourceMatchers.map(({ name, op, value }) => [name, op, value])).toEqual([
      ['alertname', '=', 'A'],
    ]);
    expect(rule!.targetMatchers.map(({ name, op, value }) => [name, op, value])).toEqual([
      ['alertname', '=~', 'B.*'],
      ['region', '=', 'eu'],
    ]);
  });

  test('cause a warning, with what to write instead', () => {
    expect(warningsOf(OLD).map((line) => line.replace(/^\d+:\d+: /, ''))).toEqual(
      expect.arrayContaining([
        'global.resolve_timeout: has no effect here: alerts resolve by their rules (`resolve_after`)',
        'route.routes[0].match: is an older form: write `matchers: [\'severity="critical"\', \'tier="1"\']`',
        'route.routes[0].routes[0].match_re: is an older form: write `matchers: [\'nest=~"Prod|Stage"\']`',
        'inhibit_rules[0].source_match: is an older form: write `source_matchers: [\'alertname="A"\']`',
        'inhibit_rules[0].target_match_re: is an older form: write `target_matchers: [\'alertname=~"B.*"\']`',
        'templates: has no effect here: write Liquid in `title`, `text`, `html` or `headers` of a receiver',
        'tracing: has no effect here: leave it out',
        'route.labels.team: is left out: line 1, column 1: this is a Go template, and templates here are Liquid: write {{ groupLabels.nest }}',
        'route.labels.reason: is left out: line 1, column 1: this is a Go template, and templates here are Liquid: write {{ routeLabels.team }}',
      ]),
    );
  });

  test('with a value from the environment are not quoted', () => {
    const text = `${REGION}route: { receiver: a, routes: [{ match: { x: '\${SECRET}' }, receiver: b }] }\nreceivers: [{ name: a }, { name: b }]`;
    const warnings = warningsOf(text, 'all else', { SECRET: 's3cret' }).join('\n');
    expect(warnings).toContain('write `matchers: [\'x="…"\']`');
    expect(warnings).not.toContain('s3cret');
  });

  test('keys that only concern looks are read, and named', () => {
    const text = `${REGION}global: { smtp_auth_username: '', smtp_auth_password: '', smtp_hello: '', smtp_smarthost: ':25', smtp_from: a@b.c }
route: { receiver: a }
receivers:
  - name: a
    email_configs: [{ to: x@y.z }]
    slack_configs: [{ api_url: https://x, color: '{{ .Status }}', fields: [], image_url: }]
    pagerduty_configs: [{ routing_key: k, details: { a: b } }]
    telegram_configs: [{ bot_token: '1:a', chat_id: 1, parse_mode: HTML }]`;
    expect(warningsOf(text)).toEqual([
      '7:50: receivers[0].slack_configs[0].color: has no effect here: leave it out, the message is built in; `title` and `text` change it',
      '8:52: receivers[0].pagerduty_configs[0].details: has no effect here: leave it out, it is filled in',
      '9:68: receivers[0].telegram_configs[0].parse_mode: has no effect here: leave it out, the message is built in',
    ]);
    // Empty values in `global` have no effect.
    expect(load(text).receivers[0]!.integrations[0]).toMatchObject({
      smarthost: { host: 'localhost', port: 25 },
      username: '',
      hello: '',
    });
  });

  test('a time interval in local time, and lists that restrict nothing', () => {
    const { timeIntervals } = load(`${REGION}time_intervals:
  - { name: here, time_intervals: [{ location: Local, times: [], weekdays: [] }] }
  - { name: never, time_intervals: [] }
`);
    const [here] = timeIntervals.get('here')!;
    expect(here!.spec.location).toBe(new Intl.DateTimeFormat('en').resolvedOptions().timeZone);
    expect(here!.contains(1_700_000_000_000_000)).toBe(true);
    expect(timeIntervals.get('never')).toEqual([]);
  });
});
