// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { EmailIntegration } from '../../src/channels/email/email-config.ts';
import { loadWebConfig } from '../../src/config/config-source.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import type { Route } from '../../src/domain/routing/route.ts';
import { load, problemsOf, REGION } from './load.ts';

describe('values', () => {
  test('numbers and booleans may come from the environment', () => {
    const config = load(
      `${REGION}store: { retention: "\${KEEP}" }\npoll: { page_size: "\${SIZE}" }\nweb: { enable_lifecycle: "\${LIFE:-true}" }`,
      { environment: { KEEP: '7d', SIZE: '50' } },
    );
    expect([config.store.retentionMs, config.poll.pageSize, config.web.enableLifecycle]).toEqual([
      604_800_000,
      50,
      true,
    ]);
  });

  test('`send_resolved: true` from the environment counts as written', () => {
    const { receivers } = load(
      `${REGION}route: { receiver: a }\nreceivers: [{ name: a, webhook_configs: [{ url: "http://x", send_resolved: "\${YES}" }] }]`,
      { environment: { YES: 'true' } },
    );
    expect(receivers[0]!.integrations[0]).toMatchObject({ sendResolved: true, endsMoments: true });
  });

  test('text from the environment stays text, even if it looks like a number or YAML', () => {
    const tokens = ['12', 'true', '#a', '[b', '{c: d}', '$e', '${F}', '*g', ' h ', '"i"'];
    for (const token of tokens) {
      const { regions } = load('regions:\n  eu:\n    base_url: https://x\n    token: ${T}', {
        environment: { T: token, F: 'again' },
      });
      expect(regions[0]!.token.reveal()).toBe(token);
    }
  });

  test('keys are not expanded', () => {
    expect(
      problemsOf('regions: { "${R}": { base_url: https://x, token: t } }', { environment: { R: 'eu' } }),
    ).toEqual(['1:12: regions["${R}"]: a region name has only lower-case letters, digits and hyphens']);
  });

  test('anchors, aliases and merges keep the places of their values', () => {
    const text = `regions:
  eu: &base { base_url: https://x, token: "\${T}", concurrency: "\${N}" }
  us: { <<: *base, base_url: https://y }`;
    expect(
      load(text, { environment: { T: 't', N: '3' } }).regions.map((one) => [one.baseUrl, one.concurrency]),
    ).toEqual([
      ['https://x', 3],
      ['https://y', 3],
    ]);
    expect(problemsOf(text, { environment: { T: 't', N: 'x' } })).toEqual([
      '2:64: regions.eu.concurrency: must be a number (it comes from the environment)',
      '2:64: regions.us.concurrency: must be a number (it comes from the environment)',
    ]);
  });

  test('addresses lose their trailing slash', () => {
    const { regions, web } = load(
      'regions: { eu: { base_url: "https://x/api-rest/", token: t } }\nweb: { external_url: "https://n.example.com/watch/" }',
    );
    expect([regions[0]!.baseUrl, web.externalUrl]).toEqual([
      'https://x/api-rest',
      'https://n.example.com/watch',
    ]);
  });

  test.each([
    ['0.0.0.0:80', { host: '0.0.0.0', port: 80, externalUrl: 'http://localhost:80' }],
    [':9465', { host: '', port: 9465, externalUrl: 'http://localhost:9465' }],
    ['[::1]:9465', { host: '::1', port: 9465, externalUrl: 'http://[::1]:9465' }],
    ['[::]:9465', { host: '::', port: 9465, externalUrl: 'http://localhost:9465' }],
    ['watch.internal:0', { host: 'watch.internal', port: 0, externalUrl: 'http://watch.internal:0' }],
  ])('web.listen %s', (listen, web) => {
    expect(load(`${REGION}web: { listen: "${listen}" }`).web).toMatchObject(web);
  });

  test('a rule keeps its settings', () => {
    const { rules } = load(`${REGION}
rules:
  - kind: FlightFailed
    match: ['nest=~"Prod.*"', '{region="eu",bird!="x"}']
    severity: page
    for_each: error
    threshold: 3
    window: 1h
    resolve_after: never
    labels: { team: loc-ops }
    annotations: { runbook_url: https://wiki.example.com }`);
    expect(rules.slice(1).map(({ kind }) => kind)).toEqual(DEFAULT_RULES.map(({ kind }) => kind));
    expect(rules[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}$/),
      kind: 'FlightFailed',
      match: [
        expect.objectContaining({ name: 'nest', op: '=~', value: 'Prod.*' }),
        expect.objectContaining({ name: 'region', op: '=', value: 'eu' }),
        expect.objectContaining({ name: 'bird', op: '!=', value: 'x' }),
      ],
      severity: 'page',
      labels: { team: 'loc-ops' },
      annotations: { runbook_url: 'https://wiki.example.com' },
      forEach: 'error',
      threshold: 3,
      windowMs: 3_600_000,
      forMs: 0,
      keepFiringForMs: 0,
      flapping: { changes: 4, withinMs: 3_600_000, calmMs: 1_800_000 },
      resolveAfterMs: null,
    });
  });

  test('the id of a rule is its name, or made from its kind and matchers, whatever its position', () => {
    const idsOf = (...rules: string[]) =>
      load(`${REGION}rules: [${rules.join(', ')}]`).rules.map(({ id }) => id);
    const prod = '{ kind: FlightFailed, match: [\'nest="Prod"\', \'bird!=""\'] }';
    const [first] = idsOf(prod);
    expect(idsOf('{ kind: BirdStale, name: mine }', prod).slice(0, 2)).toEqual(['mine', first]);
    const turned = '{ kind: FlightFailed, match: [\'bird!="",nest="Prod"\'], severity: page }';
    expect(idsOf(turned)[0]).toBe(first);
    expect(idsOf('{ kind: FlightStuck, match: [\'nest="Prod"\', \'bird!=""\'] }')[0]).not.toBe(first);
    expect(idsOf(prod, prod, `{ kind: BirdStale, name: ${first}-3 }`, prod).slice(0, 4)).toEqual([
      first,
      `${first}-2`,
      `${first}-3`,
      `${first}-4`,
    ]);
  });

  test.each([
    ['FlightFailed, consecutive: 3', { consecutive: 3, threshold: 1 }],
    ['FlightFailed, ratio: 0.5, of_last: 10', { ratio: 0.5, ofLast: 10 }],
    ['FlightFailed, for: 5m, keep_firing_for: 10m', { forMs: 300_000, keepFiringForMs: 600_000 }],
    ['FlightStuck, max_duration: 2h', { maxDurationMs: 7_200_000 }],
    ['BirdStale, expect_every: 25h', { expectEveryMs: 90_000_000 }],
    ['BirdStale, flapping: { changes: 0 }', { flapping: null }],
    [
      'RegionDown, flapping: { changes: 6, calm: 1h }',
      { flapping: { changes: 6, withinMs: 3_600_000, calmMs: 3_600_000 } },
    ],
  ])('a rule %s', (text, values) => {
    expect(load(`${REGION}rules: [{ kind: ${text} }]`).rules[0]).toMatchObject(values);
  });

  test('a mail takes from global what it does not set itself', () => {
    const { receivers } = load(
      `${REGION}
global:
  smtp_smarthost: mail.example.com:587
  smtp_from: n@example.com
  smtp_hello: watch.example.com
  smtp_auth_username: user
  smtp_auth_password_file: secrets/smtp
  smtp_require_tls: false
  smtp_tls_config: { insecure_skip_verify: true }
route: { receiver: ops }
receivers:
  - name: ops
    email_configs:
      - to: a@example.com
      - to: b@example.com
        from: Watch <w@example.com>
        smarthost: "[::1]:25"
        hello: other
        auth_username: me
        auth_password: mine
        require_tls: true
        tls_config: { insecure_skip_verify: false }
        send_resolved: true`,
      { files: { '/etc/nestwatch/secrets/smtp': 'shared\n' } },
    );
    const mails = (receivers[0]!.integrations as readonly EmailIntegration[]).map((one) => ({
      ...one,
      password: one.password?.reveal(),
    }));
    expect(mails).toEqual([
      {
        kind: 'email',
        to: ['a@example.com'],
        from: 'n@example.com',
        smarthost: { host: 'mail.example.com', port: 587 },
        requireTls: false,
        username: 'user',
        password: 'shared',
        hello: 'watch.example.com',
        isImplicitTls: false,
        tls: { insecureSkipVerify: true },
        sendResolved: false,
      },
      {
        kind: 'email',
        to: ['b@example.com'],
        from: 'Watch <w@example.com>',
        smarthost: { host: '::1', port: 25 },
        requireTls: true,
        username: 'me',
        password: 'mine',
        hello: 'other',
        isImplicitTls: false,
        tls: { insecureSkipVerify: false },
        sendResolved: true,
        endsMoments: true,
      },
    ]);
  });

  test.each([
    [465, '', '', true],
    [587, '', '', false],
    [2465, 'smtp_force_implicit_tls: true', '', true],
    [465, 'smtp_force_implicit_tls: false', '', false],
    [465, 'smtp_force_implicit_tls: true', 'force_implicit_tls: false', false],
    [587, 'smtp_force_implicit_tls: false', 'force_implicit_tls: true', true],
  ])('TLS from the start, on port %i with %j and %j', (port, global, own, isImplicitTls) => {
    const { receivers } = load(`${REGION}
global: { smtp_smarthost: "mail.example.com:${port}", smtp_from: n@example.com, ${global} }
route: { receiver: ops }
receivers: [{ name: ops, email_configs: [{ to: a@example.com, ${own} }] }]`);
    expect(receivers[0]!.integrations[0]).toMatchObject({ isImplicitTls });
  });
});

describe('integrations', () => {
  test('that post keep their settings, in the order of their kinds', () => {
    const { receivers } = load(
      `${REGION}
global: { slack_api_url_file: /slack, pagerduty_url: https://pd.example.com }
route: { receiver: ops }
receivers:
  - name: ops
    alertmanager_configs: [{ url: "http://am:9093/", send_resolved: false }]
    pagerduty_configs: [{ routing_key: key, severity: error, description: '{{ title }}' }]
    msteamsv2_configs: [{ webhook_url: https://t.example.com, timeout: 3s }]
    slack_configs: [{ channel: '#ops', username: watch, icon_emoji: ':bell:', text: '{{ title }}' }]
    webhook_configs:
      - { url: https://h.example.com, secret: new, secret_previous: old }
      - { url: https://h.example.com, format: template, template: '{"a":"{{ title }}"}' }`,
      { files: { '/slack': 'https://s.example.com\n' } },
    );
    const revealed = receivers[0]!.integrations.map((one) =>
      Object.fromEntries(
        Object.entries(one).map(([key, value]) => {
          if (typeof value !== 'object' || value === null) return [key, value];
          return [key, 'reveal' in value ? value.reveal() : Object.keys(value)];
        }),
      ),
    );
    const shared = { timeoutMs: 10_000, sendResolved: true };
    const hook = { kind: 'webhook', url: 'https://h.example.com', maxAlerts: 0, ...shared };
    expect(revealed).toEqual([
      { ...hook, format: 'alertmanager', secret: 'new', previousSecret: 'old' },
      { ...hook, format: 'template', secret: null, template: ['use', 'render'] },
      {
        kind: 'slack',
        ...{ url: 'https://s.example.com', channel: '#ops', username: 'watch' },
        ...{ iconEmoji: ':bell:', iconUrl: '', text: ['use', 'render'] },
        ...shared,
        // As in Alertmanager.
        sendResolved: false,
      },
      { kind: 'msteamsv2', url: 'https://t.example.com', ...shared, timeoutMs: 3_000 },
      {
        kind: 'pagerduty',
        ...{ url: 'https://pd.example.com', routingKey: 'key', severity: 'error' },
        description: ['use', 'render'],
        ...shared,
      },
      { kind: 'alertmanager', url: 'http://am:9093', ...shared, sendResolved: false },
    ]);
  });

  test('a mail keeps how it logs in, signs and is shown', () => {
    const { receivers } = load(
      `${REGION}
global: { smtp_smarthost: "m.example.com:25", smtp_from: n@example.com }
route: { receiver: ops }
receivers:
  - name: ops
    email_configs:
      - to: a@example.com
        auth_username: me
        oauth2: { client_id: id, client_secret: hush, refresh_token_file: /token }
        headers: { subject: '{{ status }}', X-Team: loc }
        html: '<p>{{ title }}</p>'`,
      { files: { '/token': 'refresh\n' } },
    );
    const [mail] = receivers[0]!.integrations as readonly EmailIntegration[];
    expect(mail).toMatchObject({
      username: 'me',
      password: null,
      oauth2: { clientId: 'id', tokenUrl: 'https://accounts.google.com/o/oauth2/token' },
      templates: { subject: { use: 'text' }, html: { use: 'html' }, headers: { 'X-Team': { use: 'text' } } },
    });
    const oauth2 = mail?.oauth2;
    expect(oauth2 && 'refreshToken' in oauth2 && oauth2.refreshToken.reveal()).toBe('refresh');
    expect(JSON.stringify(mail)).not.toMatch(/hush|refresh"/);
  });
});

describe('the route tree', () => {
  const tree = load(`${REGION}
receivers: [{ name: ops }, { name: pager }, { name: night }]
route:
  receiver: ops
  group_by: [alertname, region]
  group_wait: 10s
  routes:
    - matchers: ['severity="critical"', 'region=~"e.*"']
      receiver: pager
      group_by: ['...']
      repeat_interval: 1h
      continue: true
      routes:
        - { matchers: ['nest="Prod"'], receiver: night, group_interval: 1m, group_by: [] }
    - matchers: ['bird="x"']`).route;

  const all = (route: Route): Route[] => [route, ...route.routes.flatMap(all)];

  test('a child inherits what it does not set', () => {
    expect(
      all(tree).map((one) => [
        one.path,
        one.receiver,
        one.groupBy,
        one.groupWaitMs,
        one.groupIntervalMs,
        one.repeatIntervalMs,
      ]),
    ).toEqual([
      ['0', 'ops', ['alertname', 'region'], 10_000, 300_000, 14_400_000],
      ['0.0', 'pager', 'all', 10_000, 300_000, 3_600_000],
      ['0.0.0', 'night', [], 10_000, 60_000, 3_600_000],
      ['0.1', 'ops', ['alertname', 'region'], 10_000, 300_000, 14_400_000],
    ]);
  });

  test('a child inherits the settings of an escalation that it does not set, or sets none', () => {
    const { route } = load(`${REGION}
receivers: [{ name: ops }, { name: boss }, { name: chief }]
route:
  receiver: ops
  escalate_to: boss
  escalate_after: 15m
  routes:
    - { matchers: ['bird="a"'] }
    - { matchers: ['bird="b"'], escalate_after: 5m }
    - { matchers: ['bird="c"'], escalate_to: chief }
    - matchers: ['bird="d"']
      escalate_after: never
      routes: [{ matchers: ['nest="e"'] }]`);
    expect(all(route).map(({ escalation }) => escalation)).toEqual([
      { afterMs: 900_000, receiver: 'boss' },
      { afterMs: 900_000, receiver: 'boss' },
      { afterMs: 300_000, receiver: 'boss' },
      { afterMs: 900_000, receiver: 'chief' },
      undefined,
      undefined,
    ]);
  });

  test('continue is not inherited', () => {
    expect(all(tree).map((one) => one.continue)).toEqual([false, true, false, false]);
  });

  test("keys are Alertmanager's, with the matchers in its order", () => {
    expect(all(tree).map((one) => one.key)).toEqual([
      '{}',
      '{}/{region=~"e.*",severity="critical"}',
      '{}/{region=~"e.*",severity="critical"}/{nest="Prod"}',
      '{}/{bird="x"}',
    ]);
  });

  test('without a route a receiver named default gets everything', () => {
    const { route, receivers } = load(
      `${REGION}receivers: [{ name: default, webhook_configs: [{ url: http://x }] }]`,
    );
    expect([route.receiver, receivers.length, receivers[0]!.integrations.length]).toEqual(['default', 1, 1]);
  });

  test('events can be forwarded without any route', () => {
    const { forward, receivers } = load(
      `${REGION}receivers: [{ name: lake, webhook_configs: [{ url: http://x, format: cloudevents }] }]\nforward: [{ receiver: lake, matchers: ['feed="flight"'] }]`,
    );
    expect(forward).toEqual([
      { receiver: 'lake', matchers: [expect.objectContaining({ name: 'feed', value: 'flight' })] },
    ]);
    expect(receivers.map(({ name }) => name)).toEqual(['lake', 'default']);
  });
});

describe('files', () => {
  test('a missing file is reported at its place', () => {
    expect(() =>
      loadConfig({ file: '/no/such.yaml', environment: {}, readFile: (path) => readFileSync(path, 'utf8') }),
    ).toThrow('/no/such.yaml:1:1: the file does not exist');
    // `npm run` starts commands in another folder than the one where they are typed.
    expect(() =>
      loadConfig({ file: 'no.yaml', environment: {}, readFile: (path) => readFileSync(path, 'utf8') }),
    ).toThrow(`${resolve('no.yaml')}:1:1: the file does not exist`);
  });

  test('the address of the daemon can be read while other sections are wrong', () => {
    const text = 'regions: 5\nrules: "${UNSET}"\nweb: { listen: "127.0.0.1:${PORT}" }';
    const source = { file: 'n.yaml', text, readFile: () => '' };
    expect(loadWebConfig({ ...source, environment: { PORT: '81' } })).toMatchObject({
      host: '127.0.0.1',
      port: 81,
    });
    expect(() => loadWebConfig({ ...source, environment: {} })).toThrow(
      'n.yaml:3:16: web.listen: $PORT is not set in the environment',
    );
  });
});

test.each([
  ['a short interval takes the least one along', 'interval: 2s', [2_000, 2_000, 300_000]],
  ['a long interval takes the greatest one along', 'interval: 10m', [600_000, 10_000, 600_000]],
])('%s', (_, poll, expected) => {
  const { intervalMs, minIntervalMs, maxIntervalMs } = load(`${REGION}poll: { ${poll} }`).poll;
  expect([intervalMs, minIntervalMs, maxIntervalMs]).toEqual(expected);
});
