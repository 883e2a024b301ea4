// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe, expect, test } from 'vitest';
import { load, problemsBelowRegion, problemsOf, REGION, testProblems } from './load.ts';

/** As files are decoded. */
const asUtf8 = (bytes: Buffer) => bytes.toString('utf8');

const INDENTED =
  'the indentation is wrong: the keys of one map stand in one column, and so do the dashes of one list';
const IN_FLOW = 'inside { … } a comma must stand between two entries, and `}` behind the last one';

describe('text that is not YAML is reported once, without quoting it', () => {
  testProblems(problemsOf, [
    ['token: "abc" s3cret', '1:14: this does not belong here: a quote, comma or bracket is wrong before it'],
    [asUtf8(Buffer.from(`\uFEFF${REGION}`, 'utf16le')), '1:1: this is not UTF-8: save the file as UTF-8'],
    [asUtf8(Buffer.from(REGION, 'utf16le')), '1:2: this is not UTF-8: save the file as UTF-8'],
    ['a: [1\nb: 2', '2:1: the indentation is wrong, or a bracket is not closed'],
    ['a:\n\tb: 1', '2:1: indentation must be spaces, not tabs'],
    ['a: b: c', '1:4: a value that holds `: ` must stand in quotes, and keys of one map in one column'],
    [`a:\n  - b: 1\n   c: 2`, `3:1: ${INDENTED}`],
    [`a:\n  b: c\n   d: s3cret`, `3:1: ${INDENTED}`],
    [`a:\n  b: "c"\n d: 1`, `3:1: ${INDENTED}`],
    [`a: {\n  b: http://s3cret\n  c: 1\n`, `2:6: ${IN_FLOW}`],
    ['a: {\n  b: 1\nc: 2', '3:1: the indentation is wrong, or a bracket is not closed'],
    ['a:\n  b s3cret\n  c: 1', '2:3: a key must end with a colon on its own line'],
    ['a: !s3cret', '1:4: `!` here begins a tag: put the value in quotes'],
    ['a: @s3cret', '1:4: a value cannot begin with `@` or a backtick: put it in quotes'],
    ['a: "\\q"', '1:5: in double quotes a backslash begins an escape: write two, or use single quotes'],
    ['a: 1\n---\nb: 2', '2:1: only one document may stand in the file: take out the second `---`'],
    [
      'a: *s3cret',
      '1:4: a: `*` begins an alias, and no anchor of this name comes before it: put the value in quotes',
    ],
    ['a: &x [*x]', '1:8: a[0]: the alias stands inside what it refers to'],
    ['regions: { eu: { token: ${T} } }', '1:26: inside { … } a reference must be in quotes: "${NAME}"'],
    [
      `a: &a [x]\n${'bcdefghijk'
        .split('')
        .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghijk'[at]}`).join()}]`)
        .join('\n')}`,
      '1:1: too many aliases',
    ],
    [`a: &a [${Array(100).fill('x').join()}]\nb: [${Array(600).fill('*a').join()}]`, '1:1: too many aliases'],
  ]);
  testProblems(problemsBelowRegion, [
    [
      `rules: [{ kind: FlightFailed, match: ['nest="${asUtf8(Buffer.from('Büro', 'latin1'))}"'] }]`,
      '2:47: this is not UTF-8: save the file as UTF-8',
    ],
    [`rules: [${'1,'.repeat(100_001)}]`, '1:1: the file has more than 100,000 values'],
  ]);
});

describe('the file', () => {
  testProblems(problemsOf, [
    ['', '1:1: regions: is missing: name at least one region, with its `base_url` and `token`'],
    ['- a', '1:1: the file must be a map that begins with `regions:`'],
  ]);
  testProblems(problemsBelowRegion, [
    ['rulez: []', '2:1: rulez: unknown key; did you mean `rules`?'],
    [
      'zzz: 1',
      '2:1: zzz: unknown key; known here: regions, store, poll, rules, global, route, receivers, forward, metrics, web, inhibit_rules, time_intervals, mute_time_intervals, digests, objectives, actions, context, heartbeat',
    ],
    // Context that is not known.
    [
      'context: { show: [changes, 5], back_after: 0 }',
      '2:19: context.show[0]: "changes" is not known; did you mean "change"? Known: change, novelty, who_acts, also_failing, connection',
      '2:28: context.show[1]: 5 is not known; known: change, novelty, who_acts, also_failing, connection',
      '2:44: context.back_after: must be at least 1s',
    ],
    [
      'zzweb:',
      '2:1: zzweb: unknown key; known here: regions, store, poll, rules, global, route, receivers, forward, metrics, web, inhibit_rules, time_intervals, mute_time_intervals, digests, objectives, actions, context, heartbeat',
    ],
    ['web: {}\nweb: {}', '3:1: web: the key stands here twice'],
    // A key that occurs twice, and a mistake in the second.
    [
      'web: {}\nweb: { listen: x }',
      '3:1: web: the key stands here twice',
      '3:16: web.listen: must be host:port, such as 127.0.0.1:9465 or [::1]:9465',
    ],
    ['poll: []\nrules: {}', '2:7: poll: must be a map of keys and values', '3:8: rules: must be a list'],
    [
      'tracing: { x: 1 }\ntemplates: [x]\nevent_recorder: { x: 1 }',
      '4:17: event_recorder: is not supported by this version: use `forward`: it sends every event once',
    ],
    // The same if it is empty.
    ['inhibit_rules: []\ntime_intervals:\ndigests: []\ntemplates: []'],
  ]);
});

describe('poll and store', () => {
  testProblems(problemsBelowRegion, [
    // Intervals out of order, and another mistake beside them.
    [
      'poll: { interval: 30s, min_interval: 1m, max_interval: 20s, page_size: 0 }',
      '2:38: poll.min_interval: must not be longer than `interval`, which is 30s',
      '2:56: poll.max_interval: must not be shorter than `interval`, which is 30s',
      '2:72: poll.page_size: must be at least 1',
    ],
    [
      'poll: { interval: 10m, max_interval: 5m }',
      '2:38: poll.max_interval: must not be shorter than `interval`, which is 10m',
    ],
    ['poll: { page_size: 50000 }', '2:20: poll.page_size: must be at most 10000'],
    ['poll: { max_alert_age: 0 }', '2:24: poll.max_alert_age: must be at least 1m'],
    ['poll: { overlap: 101y }', '2:18: poll.overlap: must not be longer than 100y'],
    // Two mistakes of the store.
    [
      'store: { url: "mysql://h/d", retention: 1s }',
      '2:15: store.url: must be sqlite:FILE, sqlite::memory: or postgres://user@host/database',
      '2:41: store.retention: must be at least 1m',
    ],
    [
      'store: { url: "postgres://u:s3cret@h/d" }',
      '2:15: store.url: must not hold the password: give `password_file` beside it',
    ],
    [
      'store: { url: "postgres://h/d" }',
      '2:15: store.url: must name a user and a database: postgres://user@host/database',
    ],
    [
      'store: { url: "postgres://u@/d" }',
      '2:15: store.url: must name a host, or the directory of a socket: postgres://user@/database?host=/run/postgresql',
    ],
    [
      'store: { url: "postgres://u@h:port/d" }',
      '2:15: store.url: must look like postgres://user@host/database',
    ],
    [
      'store: { url: "postgres://us%er@h/d" }',
      '2:15: store.url: has a `%` that begins no escape: write `%25` for it',
    ],
    [
      'store: { url: "postgres://u@h/%zz" }',
      '2:15: store.url: has a `%` that begins no escape: write `%25` for it',
    ],
    [
      'store: { url: "postgres://u@h/d?sslmode=prefer" }',
      '2:15: store.url: has an sslmode that is not known; known here: disable, require, verify-ca, verify-full',
    ],
    [
      'store: { url: "postgres://u@h/d?options=x" }',
      '2:15: store.url: has a parameter that is not known; known here: host, sslmode, sslrootcert, sslcert, sslkey',
    ],
    [
      'store: { url: "postgres://u@h/d", schema: My-Schema }',
      '2:43: store.schema: must be lower-case letters, digits and underscores, no digit first, at most 63',
    ],
    [
      'store: { url: "sqlite:a.db", password: s3cret }',
      '2:40: store.password: is of no use here: `url` is no address of PostgreSQL',
    ],
    [
      'store: { url: data/nestwatch.db }',
      '2:15: store.url: must be sqlite:FILE, sqlite::memory: or postgres://user@host/database',
    ],
    ['store: { retention: 1s }', '2:21: store.retention: must be at least 1m'],
    [
      'store: { retention: 1d }\npoll: { initial_lookback: 2d }',
      '2:21: store.retention: must not be shorter than `poll.initial_lookback` and `poll.overlap`',
    ],
  ]);
});

describe('forward and web', () => {
  testProblems(problemsBelowRegion, [
    ['forward: [{}]', '2:11: forward[0].receiver: is missing'],
    [
      'forward: [{ receiver: lake }]',
      '2:23: forward[0].receiver: no receiver has the name "lake"; there is none',
    ],
    [
      'route: { receiver: a }\nreceivers: [{ name: a, webhook_configs: [{ url: http://x }] }]\nforward: [{ receiver: a }]',
      '4:23: forward[0].receiver: must have a webhook with `format: cloudevents` or `otlp`',
    ],
    [
      'web: { listen: localhost }',
      '2:16: web.listen: must be host:port, such as 127.0.0.1:9465 or [::1]:9465',
    ],
    ['web: { listen: 9465 }', '2:16: web.listen: must be host:port, such as 127.0.0.1:9465 or [::1]:9465'],
    ['web: { listen: "h:70000" }', '2:16: web.listen: the port must be from 0 to 65535'],
    ['web: { listen: "[::1]:99999" }', '2:16: web.listen: the port must be from 0 to 65535'],
    [
      'web: { external_url: nest }',
      '2:22: web.external_url: must be a URL that begins with http:// or https://',
    ],
    // Addresses beside another mistake, which hides neither.
    [
      'web: { listen: x, external_url: y, enable_lifecycle: z }',
      '2:16: web.listen: must be host:port, such as 127.0.0.1:9465 or [::1]:9465',
      '2:33: web.external_url: must be a URL that begins with http:// or https://',
      '2:54: web.enable_lifecycle: must be true or false',
    ],
    ['web: { auth: { bearer_token_file: /b } }', '2:35: web.auth.bearer_token_file: /b does not exist'],
  ]);
});

test('all mistakes are reported at once, in the order of the file', () => {
  const lines = problemsOf(`regions: { EU: { base_url: x } }
poll: { page_size: 0 }
rules: [{ kind: X }]
global: { smtp_from: x }
route: { receiver: nobody, routes: 5 }
receivers: [{}]
forward: [{}]
web: { listen: x }
zzz: 1`);
  expect(lines.map((line) => line.replace(/^(\d+):.*?: (.*?): .*$/, '$1 $2'))).toEqual([
    '1 regions.EU',
    '1 regions.EU.token',
    '1 regions.EU.base_url',
    '2 poll.page_size',
    '3 rules[0].kind',
    '4 global.smtp_from',
    '5 route.receiver',
    '5 route.routes',
    '6 receivers[0].name',
    '7 forward[0].receiver',
    '8 web.listen',
    '9 zzz',
  ]);
});

test('the problems can be read one by one', () => {
  expect(() => load('regions: 5')).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      file: '/etc/nestwatch/n.yaml',
      problems: [
        {
          line: 1,
          column: 10,
          path: 'regions',
          message: 'must be a map of region names, such as eu, and their settings',
        },
      ],
    }),
  );
});

describe('a secret that is given without a value', () => {
  test.each([
    ['web: { auth: { bearer_token: } }', 'web.auth.bearer_token'],
    ['web: { auth: { bearer_token_file: null } }', 'web.auth.bearer_token_file'],
    [
      'receivers: [{ name: a, webhook_configs: [{ url: "https://x", secret: ~ }] }]\nroute: { receiver: a }',
      'receivers[0].webhook_configs[0].secret',
    ],
  ])('%s [long]', (text, path) => {
    const [problem, ...others] = problemsOf(`${REGION}${text}\n`);
    expect(others).toEqual([]);
    expect(problem).toContain(`${path}: is empty: give it a value, or leave the key out`);
  });
});

test('no empty name is proposed', () => {
  const text = 'receivers: [{ name: "", webhook_configs: [{ url: "https://x" }] }]\nroute: { receiver: a }\n';
  expect(problemsOf(`${REGION}${text}`).join('\n')).not.toContain('did you mean ?');
});

test.each([
  'web: { listen: { toString: x } }',
  'context: { show: [{ toString: x }] }',
  'poll: { interval: { toString: x }, page_size: { toString: x } }',
  'global: { http_config: { proxy_from_environment: { toString: x }, proxy_url: "http://p:1" } }',
  'route: { receiver: { toString: x }, routes: [{ match: { a: { toString: x } } }] }',
  'time_intervals: [{ name: { toString: x }, time_intervals: [{ times: [{ start_time: { toString: x }, end_time: "1:00" }] }] }]',
  'receivers: [{ name: a, email_configs: [{ to: a@b.c, smarthost: { toString: x } }] }]\nroute: { receiver: a }',
  'rules: [{ kind: { toString: x }, match: [{ toString: x }], name: { toString: x } }]',
])('a map that defines its own conversion to text is refused where a text belongs: %s', (text) => {
  expect(problemsOf(`${REGION}${text}\n`)).not.toEqual([]);
});
