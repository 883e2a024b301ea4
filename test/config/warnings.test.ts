import { describe, expect, test } from 'vitest';
import { REGION, warningsOf } from './load.ts';

const regionAt = (url: string) => `regions: { eu: { base_url: "${url}", token: t0 } }`;

test.each([
  'https://eu.example.com',
  'http://127.0.0.1:80',
  'http://127.9.9.9',
  'http://[::1]:1',
  'http://localhost',
])('a token to %s is no concern', (url) => expect(warningsOf(regionAt(url))).toEqual([]));

test.each([
  'http://eu.example.com',
  'http://127.example.com',
  'http://10.0.0.1',
  'http://localhost.example.com',
])('a token to %s can be read on its way', (url) =>
  expect(warningsOf(regionAt(url))).toEqual([
    '1:28: regions.eu.base_url: the token goes there unencrypted: use https',
  ]),
);

test('a token to a region whose certificate is not checked can be read by a man in the middle', () => {
  const region = (url: string) =>
    `regions: { eu: { base_url: "${url}", token: t0, tls_config: { insecure_skip_verify: true } } }`;
  expect(warningsOf(region('https://eu.example.com'))).toEqual([
    expect.stringContaining(
      'regions.eu.tls_config.insecure_skip_verify: anyone on the network path can read the token',
    ),
  ]);
  expect(warningsOf(region('https://localhost'))).toEqual([]);
});

const mails = (global: string, own: string) => `${REGION}global: { smtp_from: a@b.c, ${global} }
receivers: [{ name: a, email_configs: [{ to: a@b.c, ${own} }] }]
route: { receiver: a }
`;
const LOGIN = 'auth_username: u, auth_password: p';
const UNENCRYPTED =
  'the password may be sent to the mail server unencrypted: do not set `require_tls: false`';
const UNPROVEN =
  'anyone on the network path can read the password: set the trusted certificate as `ca_file` instead of `insecure_skip_verify`';

test.each([
  ['smtp_smarthost: "m.x:25", smtp_require_tls: false', LOGIN, UNENCRYPTED],
  ['smtp_smarthost: "m.x:25"', `require_tls: false, ${LOGIN}`, UNENCRYPTED],
  ['smtp_smarthost: "m.x:25", smtp_tls_config: { insecure_skip_verify: true }', LOGIN, UNPROVEN],
  ['smtp_smarthost: "m.x:25"', `${LOGIN}, tls_config: { insecure_skip_verify: true }`, UNPROVEN],
  ['smtp_smarthost: "m.x:25"', LOGIN, undefined],
  ['smtp_smarthost: "m.x:465", smtp_require_tls: false', LOGIN, undefined],
  ['smtp_smarthost: "m.x:25", smtp_require_tls: false', '', undefined],
  ['smtp_smarthost: "localhost:25", smtp_require_tls: false', LOGIN, undefined],
])('a password that others can read: %s %s', (global, own, warning) => {
  const expected = warning ? [`3:40: receivers[0].email_configs[0]: ${warning}`] : [];
  expect(warningsOf(mails(global, own))).toEqual(expected);
});

test('receivers whose certificate is not checked', () => {
  const http = '{ tls_config: { insecure_skip_verify: true } }';
  const receivers = `[{ name: a, webhook_configs: [{ url: "https://h.x" }, { url: "https://h.x", http_config: ${http} }] }]`;
  expect(
    warningsOf(`${REGION}global: { http_config: ${http} }
receivers: ${receivers}
route: { receiver: a }
`),
  ).toEqual(
    [
      'global.http_config.tls_config.insecure_skip_verify',
      'receivers[0].webhook_configs[1].http_config.tls_config.insecure_skip_verify',
    ].map((path) => expect.stringContaining(`${path}: anyone on the network path can read what is sent`)),
  );
});

test('a receiver that nothing leads to', () => {
  const receivers = ['root', 'child', 'boss', 'spare', 'lake', 'reader', 'nobody'].map((name) =>
    name === 'root'
      ? '  - { name: root, fallback: spare }'
      : `  - { name: ${name}, webhook_configs: [{ url: "https://x", format: ${name === 'lake' ? 'cloudevents' : 'alertmanager'} }] }`,
  );
  const text = `${REGION}receivers:
${receivers.join('\n')}
route:
  receiver: root
  routes: [{ receiver: child, matchers: [bird=b], escalate_after: 1m, escalate_to: boss }]
forward: [{ receiver: lake }]
`;
  expect(warningsOf(text)).toEqual([
    '8:13: receivers[5].name: nothing leads to this receiver: name it in a route',
    '9:13: receivers[6].name: nothing leads to this receiver: name it in a route',
  ]);
  expect(warningsOf(`${text}digests: [{ name: d, cron: "0 8 * * *", receiver: reader }]`)).toEqual([
    '9:13: receivers[6].name: nothing leads to this receiver: name it in a route',
  ]);
});

test('a receiver that notifies nobody of a Nest without active members', () => {
  const text = (root: string, rest = '') => `${REGION}global: { smtp_smarthost: "m:25", smtp_from: a@b.c }
receivers:
  - { name: team, email_configs: [{ to: nest_members }]${rest} }
  - { name: both, email_configs: [{ to: "nest_members, ops@example.com" }] }
route: { receiver: ${root}, routes: [{ receiver: team, matchers: [nest=a] }, { receiver: both }] }
`;
  const where = 'where a Nest has no active members, or an alert belongs to no Nest,';
  expect(warningsOf(text('both'))).toEqual([
    `4:5: receivers[0]: ${where} receiver "both" of the root route is notified instead: set \`fallback\``,
  ]);
  expect(warningsOf(text('team'))).toEqual([
    `4:5: receivers[0]: ${where} nobody is notified: set \`fallback\``,
  ]);
  expect(warningsOf(text('both', ', fallback: both'))).toEqual([]);
});

test.each([
  [
    '20d',
    [
      '`store.retention` keeps 2 weeks of whole days, and nothing is ever judged by it: it needs 3 weeks; 29d keeps 4',
    ],
  ],
  ['28d', ['`store.retention` keeps 3 weeks of whole days, and it learns from 4 weeks; 29d keeps 4']],
  ['29d', []],
])('days are learned from, and a retention of %s is short', (retention, expected) => {
  const text = `${REGION}store: { retention: ${retention} }
rules:
  - { kind: FlightsUnusual }
  - { kind: FlightsUnusual, per: 1h, match: [bird=a] }
  - { kind: FlightsUnusual, at_most: 5, match: [bird=b] }
`;
  const found = warningsOf(text).filter((one) => one.includes('store.retention'));
  expect(found).toEqual(expected.map((one) => `4:5: rules[0]: ${one}`));
});

test('Flights that wait at no step, or at any', () => {
  const text = `${REGION}rules:
  - { kind: FlightWaiting, match: [bird=a] }
  - { kind: FlightWaiting, match: [bird=b], steps: ["*review*", "*"] }
  - { kind: FlightWaiting, match: [bird=c], steps: ["*review*"] }
`;
  expect(warningsOf(text).filter((one) => one.includes('rules['))).toEqual([
    '3:5: rules[0]: this rule never fires: name in `steps` the steps that wait for a person, such as "*review*"',
    '4:65: rules[1].steps[1]: matches every step, so every Flight that writes nothing for `after` seems to wait: name the steps that wait for a person',
  ]);
});

test('a type of events that is not known', () => {
  const text = `${REGION}rules:
  - { kind: EventMatched, match: ['type="bird_log.Publishd"'] }
  - { kind: EventMatched, match: ['type=~"bird_log.(Published|New)"', 'message=~".*x.*"'] }
  - { kind: EventMatched, match: ['type=~"bird_log.(?:Published|Suspnded)"'] }
  - { kind: EventMatched, match: ['type=~"inventory.member_aded|inventory.(member|user)_.*"'] }
  - { kind: EventMatched, match: ['type=~"flight.failed|inventory.member_aded"'] }
  - { kind: EventMatched, match: ['type!~"bird_log.(Publishd|Saved)"'] }
`;
  expect(warningsOf(text).filter((one) => one.includes('rules['))).toEqual([
    '3:34: rules[0].match: no type of events is known that fits bird_log.Publishd; did you mean bird_log.Published?',
    '5:34: rules[2].match: no type of events is known that fits bird_log.Suspnded; did you mean bird_log.Suspended?',
    '7:34: rules[4].match: no type of events is known that fits inventory.member_aded; did you mean inventory.member_added?',
    '8:34: rules[5].match: no type of events is known that fits bird_log.Publishd; did you mean bird_log.Published?',
  ]);
});

test('a time interval that no route uses', () => {
  const week = 'time_intervals: [{ weekdays: [sunday] }]';
  expect(
    warningsOf(`${REGION}receivers: [{ name: a }]
route: { receiver: a, routes: [{ matchers: [bird=b], mute_time_intervals: [one], active_time_intervals: [two] }] }
time_intervals: [{ name: one, ${week} }, { name: left, ${week} }]
mute_time_intervals: [{ name: two, ${week} }, { name: over, ${week} }]
`),
  ).toEqual([
    '4:83: time_intervals[1].name: no route or rule names this time interval',
    '5:88: mute_time_intervals[1].name: no route or rule names this time interval',
  ]);
});

test('routes behind one that takes every alert', () => {
  expect(
    warningsOf(`${REGION}receivers: [{ name: a }]
route:
  receiver: a
  routes:
    - { receiver: a, continue: true }
    - receiver: a
      routes:
        - { receiver: a }
        - { matchers: [bird=b] }
    - { matchers: [bird=c], routes: [{ receiver: a }, { receiver: a }] }
`),
  ).toEqual([
    '10:11: route.routes[1].routes[1]: no alert reaches this route: routes[0] has no matchers and takes all',
    '11:7: route.routes[2]: no alert reaches this route: routes[1] has no matchers and takes all',
  ]);
});

test('a configuration without routes and receivers has none', () => {
  expect(warningsOf(REGION)).toEqual([]);
});

describe('an address that others reach', () => {
  const open = 'anyone who can reach this address can read everything and silence alerts: set `web.auth`';

  test.each(['0.0.0.0:9465', ':9465', '10.0.0.1:1', '[::]:9465'])('%s is open without a token', (listen) => {
    expect(warningsOf(`${REGION}web: { listen: "${listen}" }`)).toEqual([`2:16: web.listen: ${open}`]);
    expect(
      warningsOf(`${REGION}web: { listen: "${listen}", auth: { bearer_token: 0123456789abcdef } }`),
    ).toEqual([]);
  });

  test.each(['127.0.0.1:9465', '127.9.9.9:1', 'localhost:1', '[::1]:1'])('%s is not', (listen) =>
    expect(warningsOf(`${REGION}web: { listen: "${listen}" }`)).toEqual([]),
  );
});

describe('a rule that never acts', () => {
  const rules = (...list: string[]) =>
    warningsOf(`${REGION}rules:\n${list.map((one) => `  - ${one}\n`).join('')}`);

  test('follows one of its kind that matches everything', () => {
    expect(
      rules(
        '{ kind: FlightFailed, match: [nest=a] }',
        '{ kind: FlightFailed }',
        '{ kind: FlightFailed, match: [nest=b] }',
        '{ kind: FlightStuck, match: [nest=b] }',
        '{ kind: FlightFailed }',
      ),
    ).toEqual([
      '5:5: rules[2]: this rule never applies: rules[1] takes all FlightFailed before it; move it up or leave it out',
      '7:5: rules[4]: this rule never applies: rules[1] takes all FlightFailed before it; move it up or leave it out',
    ]);
  });

  test('follows one whose matchers it repeats', () => {
    expect(
      rules(
        '{ kind: FlightFailed, match: [nest=a] }',
        `{ kind: FlightFailed, match: ['{bird=b,nest="a"}'] }`,
        '{ kind: FlightFailed, match: [nest=~a] }',
      ),
    ).toEqual([
      '4:5: rules[1]: this rule never applies: rules[0] takes all FlightFailed before it that this one would; move it up or leave it out',
    ]);
  });

  test.each([
    [
      'FlightFailed',
      'severity="warning"',
      'there is no label severity yet, it is what a rule decides: match on alertname, bird, bird_id, error, error_type, nest, nest_id, region',
    ],
    [
      'FlightFailed',
      'team=~"a|b"',
      'there is no label team yet: match on alertname, bird, bird_id, error, error_type, nest, nest_id, region',
    ],
    ['RegionDown', 'nest=a', 'there is no label nest yet: match on alertname, region'],
    ['FlightFailed', 'alertname=FlightStuck', 'the alertname is the kind: remove the matcher'],
    ['FlightFailed', 'region=us', 'no region matches: match on eu'],
    ['DeliveryFailing', 'region=eu', 'no region matches: match on all'],
    ['WatchImpaired', 'region=us', 'no region matches: match on eu, all'],
    ['FlightFailed', 'nest=a,nest!=a', 'no nest fits this and nest="a": write a rule for each'],
  ])('%s with %s', (kind, matcher, why) => {
    expect(rules(`{ kind: ${kind}, match: ['${matcher}'] }`)).toEqual([
      `3:${15 + kind.length + 8}: rules[0].match[0]: this rule never applies: ${why}`,
    ]);
  });

  test.each([
    'severity!=critical',
    'team=~".*"',
    'region=~"e."',
    'error=~".*quota.*"',
    'alertname=FlightFailed',
  ])('%s matches something', (matcher) => {
    expect(rules(`{ kind: FlightFailed, match: ['${matcher}'] }`)).toEqual([]);
  });

  test.each(['eu', 'all'])('an impairment of the watch may have region %s', (region) => {
    expect(rules(`{ kind: WatchImpaired, match: ['region=${region}', 'reason=disk_low'] }`)).toEqual([]);
  });
});

test.each([
  [
    'approval: one',
    'web: { auth: { bearer_token: t0ken-of-all } }',
    ['actions[0].approval: nobody can approve it'],
  ],
  [
    'approval: one',
    'web: { auth: { bearer_token: t0ken-of-all, tokens: [{ name: n, token: t0ken-of-n, scopes: [fly] }] } }',
    [],
  ],
  ['approval: one', '', []],
  ['hold_notification: 5m', '', ['actions[0].hold_notification: ends before the Bird is started']],
])('an action with %s, and %s, may be in vain', (key, web, expected) => {
  const text = `regions: { eu: { base_url: "http://localhost", token: t0, fly: true } }
${web}
actions: [{ name: a, on: FlightFailed, do: fly_again, per_hour: 1, ${key} }]
receivers: [{ name: default, webhook_configs: [{ url: "http://localhost" }] }]`;
  const found = warningsOf(text).filter((one) => one.includes('actions[0]'));
  expect(found).toEqual(expected.map((one) => expect.stringContaining(one)));
});

test('a message that is held back for longer than an escalation waits', () => {
  const config = (hold: string) => `regions: { eu: { base_url: "http://localhost", token: t0, fly: true } }
actions: [{ name: a, on: FlightFailed, do: fly_again, per_hour: 1, hold_notification: ${hold} }]
route: { receiver: a, escalate_to: a, escalate_after: 10m }
receivers: [{ name: a, webhook_configs: [{ url: "http://localhost" }] }]`;
  const isLate = (text: string) =>
    warningsOf(text).some((one) => one.includes('actions[0].hold_notification'));
  expect([isLate(config('10m')), isLate(config('11m'))]).toEqual([false, true]);
});

test.each([
  ['0 7 1 * *', '31d', 'keeps 31d, and its month needs 32d'],
  ['0 0 1 * *', '31d', 'keeps 31d, and its month needs 32d'],
  ['0 7 1 * *', '32d', undefined],
  ['0 7 15 * *', '15d', undefined],
  ['0 7 15 * *', '14d', 'keeps 14d, and its month needs 15d'],
  ['* * * * 1', '31d', 'keeps 31d, and its month needs 32d'],
])('a report by %s, and a retention of %s, may not know all of its month', (cron, retention, short) => {
  const text = `${REGION}store: { retention: ${retention} }
receivers: [{ name: a, webhook_configs: [{ url: "https://x" }] }]
route: { receiver: a }
digests:
  - { name: d, cron: "${cron}", receiver: a }
  - { name: m, cron: "${cron}", receiver: a, format: report }
`;
  const found = warningsOf(text).filter((one) => one.includes('store.retention'));
  const missing = 'deadlines and alerts before that are missing';
  expect(found).toEqual(short ? [`7:5: digests[1]: \`store.retention\` ${short}: ${missing}`] : []);
});
