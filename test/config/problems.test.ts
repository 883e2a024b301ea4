// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe, expect, test } from 'vitest';
import { load, problemsOf, REGION, type Surroundings } from './load.ts';

const KINDS =
  'FlightFailed, BirdDeactivated, BirdTriggerFailing, ConnectionDisconnected, ServiceNotification, RegionDown, RegionUnauthorized, FeedBehind, FeedIncomplete, DeliveryFailing, FlightStuck, BirdStale, SchemaDrift';
const NO_INTEGRATION =
  'is not supported by this version: use `email_configs`, `slack_configs`, `msteamsv2_configs`, `pagerduty_configs` or `webhook_configs` with `format: template`';
const MAIL = 'global: { smtp_smarthost: "m.example.com:25", smtp_from: n@example.com }\n';

type Case = readonly [name: string, text: string, problems: readonly string[], surroundings?: Surroundings];

function tell(cases: readonly Case[]): void {
  for (const [name, text, problems, surroundings] of cases) {
    test(name, () => {
      expect(problemsOf(text, surroundings)).toEqual(problems);
    });
  }
}

describe('text that is not YAML is told once, without quoting it', () => {
  tell([
    [
      'a value after a closing quote',
      'token: "abc" s3cret',
      ['1:14: this does not belong here: a quote, comma or bracket is wrong before it'],
    ],
    ['an open bracket', 'a: [1\nb: 2', ['2:1: the indentation is wrong, or a bracket is not closed']],
    ['a tab', 'a:\n\tb: 1', ['2:1: indentation must be spaces, not tabs']],
    [
      'a value that holds a colon',
      'a: b: c',
      ['1:4: a value that holds `: ` must stand in quotes, and keys of one map in one column'],
    ],
    ['a value that begins like a tag', 'a: !s3cret', ['1:4: `!` here begins a tag: put the value in quotes']],
    [
      'a value that begins with @',
      'a: @s3cret',
      ['1:4: a value cannot begin with `@` or a backtick: put it in quotes'],
    ],
    [
      'an unknown escape',
      'a: "\\q"',
      ['1:5: in double quotes a backslash begins an escape: write two, or use single quotes'],
    ],
    [
      'a second document',
      'a: 1\n---\nb: 2',
      ['2:1: only one document may stand in the file: take out the second `---`'],
    ],
    [
      'an alias without an anchor',
      'a: *s3cret',
      ['1:4: a: `*` begins an alias, and no anchor of this name comes before it: put the value in quotes'],
    ],
    [
      'an alias inside its own anchor',
      'a: &x [*x]',
      ['1:8: a[0]: the alias stands inside what it refers to'],
    ],
    [
      'a reference in braces without quotes',
      'regions: { eu: { token: ${T} } }',
      ['1:26: inside { … } a reference must be in quotes: "${NAME}"'],
    ],
    [
      'aliases that unfold without end',
      `a: &a [x]\n${'bcdefghijk'
        .split('')
        .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghijk'[at]}`).join()}]`)
        .join('\n')}`,
      ['1:1: too many aliases'],
    ],
  ]);
});

describe('the file', () => {
  tell([
    ['nothing', '', ['1:1: regions: is missing: name at least one region, with its `base_url` and `token`']],
    ['a list', '- a', ['1:1: the file must be a map that begins with `regions:`']],
    ['an unknown section', `${REGION}rulez: []`, ['2:1: rulez: unknown key; did you mean `rules`?']],
    [
      'an unknown section unlike any other',
      `${REGION}zzz: 1`,
      [
        '2:1: zzz: unknown key; known here: regions, store, poll, rules, global, route, receivers, forward, web, inhibit_rules, time_intervals, mute_time_intervals, digests, heartbeat',
      ],
    ],
    [
      'an unknown key without a value',
      `${REGION}zzweb:`,
      [
        '2:1: zzweb: unknown key; known here: regions, store, poll, rules, global, route, receivers, forward, web, inhibit_rules, time_intervals, mute_time_intervals, digests, heartbeat',
      ],
    ],
    ['a key that stands twice', `${REGION}web: {}\nweb: {}`, ['3:1: web: the key stands here twice']],
    [
      'a key that stands twice, and a mistake in the second',
      `${REGION}web: {}\nweb: { listen: x }`,
      [
        '3:1: web: the key stands here twice',
        '3:16: web.listen: must be host:port, such as 127.0.0.1:9465 or [::1]:9465',
      ],
    ],
    [
      'a section of another type',
      `${REGION}poll: []\nrules: {}`,
      ['2:7: poll: must be a map of keys and values', '3:8: rules: must be a list'],
    ],
    [
      'what this version does not support',
      `${REGION}tracing: { x: 1 }\ntemplates: [x]\nevent_recorder: { x: 1 }`,
      [
        '2:10: tracing: is not supported by this version: leave it out',
        '3:12: templates: is not supported by this version: write Liquid in `title`, `text`, `html` or `headers` of a receiver',
        '4:17: event_recorder: is not supported by this version: use `forward`: it tells every event once',
      ],
    ],
    [
      'the same where it is empty',
      `${REGION}inhibit_rules: []\ntime_intervals:\ndigests: []\ntemplates: []`,
      [],
    ],
  ]);
});

describe('regions', () => {
  const region = (settings: string) => `regions:\n  eu: { ${settings} }`;
  tell([
    ['none at all', 'regions: {}', ['1:10: regions: must name at least one region']],
    [
      'a list of them',
      'regions: [eu]',
      ['1:10: regions: must be a map of region names, such as eu, and their settings'],
    ],
    [
      'one without settings',
      'regions:\n  eu:',
      ['2:3: regions.eu: must be a map with `base_url` and `token`'],
    ],
    [
      'a name in capitals',
      'regions: { EU: { base_url: https://x, token: t } }',
      ['1:12: regions.EU: a region name has only lower-case letters, digits and hyphens'],
    ],
    ['no address', region('token: t'), ['2:3: regions.eu.base_url: is missing']],
    [
      'an address that is none',
      region('base_url: eu-1, token: t'),
      ['2:19: regions.eu.base_url: must be a URL that begins with http:// or https://'],
    ],
    [
      'an address with a password',
      region('base_url: "https://u:s3cret@x", token: t'),
      ['2:19: regions.eu.base_url: must not hold a user name or password'],
    ],
    [
      'an address with a query',
      region('base_url: "https://x/a?b=c", token: t'),
      ['2:19: regions.eu.base_url: must end with its path: nothing after `?` or `#`'],
    ],
    [
      'no token',
      region('base_url: https://x'),
      ['2:3: regions.eu.token: is missing: give `token` or `token_file`'],
    ],
    [
      'an empty token',
      region('base_url: https://x, token: ""'),
      ['2:37: regions.eu.token: must not be empty'],
    ],
    [
      'a token of two lines',
      region('base_url: https://x, token: "a\\nb"'),
      ['2:37: regions.eu.token: must be one line without control characters'],
    ],
    [
      'a token that YAML reads as a number',
      region('base_url: https://x, token: 12'),
      ['2:37: regions.eu.token: must be text: put it in quotes'],
    ],
    [
      'both twins',
      region('base_url: https://x, token: t, token_file: f'),
      ['2:52: regions.eu.token_file: give either `token` or `token_file`, not both'],
    ],
    [
      'a token that is not set',
      region('base_url: https://x, token: "${T}"'),
      ['2:37: regions.eu.token: $T is not set in the environment'],
    ],
    [
      'a token that is set and empty',
      region('base_url: https://x, token: "${T}"'),
      ['2:37: regions.eu.token: must not be empty'],
      { environment: { T: '' } },
    ],
    [
      'a token file that is not there',
      region('base_url: https://x, token_file: t/f'),
      ['2:42: regions.eu.token_file: /etc/nestwatch/t/f does not exist'],
    ],
    [
      'a token file that is empty',
      region('base_url: https://x, token_file: /f'),
      ['2:42: regions.eu.token_file: /f: is empty'],
      { files: { '/f': '\n' } },
    ],
    [
      'a token put where its file belongs',
      region('base_url: https://x, token_file: "${T}"'),
      ['2:42: regions.eu.token_file: the file does not exist'],
      { environment: { T: 's3cret' } },
    ],
    [
      'an unknown key',
      region('base_url: https://x, tokn: t'),
      [
        '2:3: regions.eu.token: is missing: give `token` or `token_file`',
        '2:30: regions.eu.tokn: unknown key; did you mean `token`?',
      ],
    ],
    [
      'an unknown key further down',
      region('base_url: https://x, token: t, nests: { exclud: [] }'),
      ['2:49: regions.eu.nests.exclud: unknown key; did you mean `exclude`?'],
    ],
    [
      'numbers out of bounds',
      region('base_url: https://x, token: t, requests_per_second: 0, concurrency: 1.5'),
      [
        '2:61: regions.eu.requests_per_second: must be at least 0.1',
        '2:77: regions.eu.concurrency: must be a whole number',
      ],
    ],
    [
      'a number that is text',
      region('base_url: https://x, token: t, concurrency: "8"'),
      ['2:53: regions.eu.concurrency: must be a number'],
    ],
    [
      'a number that is not set, told once',
      region('base_url: https://x, token: t, requests_per_second: "${R}"'),
      ['2:61: regions.eu.requests_per_second: $R is not set in the environment'],
    ],
    [
      'a number from the environment that is none',
      region('base_url: https://x, token: t, requests_per_second: "${R}"'),
      ['2:61: regions.eu.requests_per_second: must be a number (it comes from the environment)'],
      { environment: { R: 'many' } },
    ],
    [
      'a timeout without a unit',
      region('base_url: https://x, token: t, timeout: 15'),
      ['2:49: regions.eu.timeout: must be a duration such as 30s, 5m or 1h30m'],
    ],
    [
      'a timeout that nothing could meet',
      region('base_url: https://x, token: t, timeout: 0'),
      ['2:49: regions.eu.timeout: must be at least 100ms'],
    ],
  ]);
});

describe('poll and store', () => {
  tell([
    [
      'intervals out of order, and another mistake beside them',
      `${REGION}poll: { interval: 30s, min_interval: 1m, max_interval: 20s, page_size: 0 }`,
      [
        '2:38: poll.min_interval: must not be longer than `interval`, which is 30s',
        '2:56: poll.max_interval: must not be shorter than `interval`, which is 30s',
        '2:72: poll.page_size: must be at least 1',
      ],
    ],
    [
      'an interval beyond the greatest',
      `${REGION}poll: { interval: 10m, max_interval: 5m }`,
      ['2:38: poll.max_interval: must not be shorter than `interval`, which is 10m'],
    ],
    [
      'a page that no service gives',
      `${REGION}poll: { page_size: 50000 }`,
      ['2:20: poll.page_size: must be at most 10000'],
    ],
    [
      'an age at which all news is old',
      `${REGION}poll: { max_alert_age: 0 }`,
      ['2:24: poll.max_alert_age: must be at least 1m'],
    ],
    [
      'a wait without end',
      `${REGION}poll: { overlap: 101y }`,
      ['2:18: poll.overlap: must not be longer than 100y'],
    ],
    [
      'PostgreSQL',
      `${REGION}store: { url: "postgres://u:s3cret@h/d" }`,
      ['2:15: store.url: PostgreSQL is not supported by this version: use sqlite:FILE'],
    ],
    [
      'a store of no kind',
      `${REGION}store: { url: data/nestwatch.db }`,
      ['2:15: store.url: must be sqlite:FILE or sqlite::memory:'],
    ],
    [
      'a retention of nothing',
      `${REGION}store: { retention: 1s }`,
      ['2:21: store.retention: must be at least 1m'],
    ],
    [
      'a retention shorter than what is read',
      `${REGION}store: { retention: 1d }\npoll: { initial_lookback: 2d }`,
      ['2:21: store.retention: must not be shorter than `poll.initial_lookback` and `poll.overlap`'],
    ],
  ]);
});

describe('rules', () => {
  tell([
    [
      'no kind',
      `${REGION}rules: [{ severity: x }]`,
      [`2:9: rules[0].kind: is missing: the kinds are ${KINDS}`],
    ],
    [
      'a kind that is not one',
      `${REGION}rules: [{ kind: Foo }]`,
      [`2:17: rules[0].kind: unknown kind; the kinds are ${KINDS}`],
    ],
    [
      'a kind with a slip',
      `${REGION}rules: [{ kind: FlightFaild }]`,
      ['2:17: rules[0].kind: unknown kind; did you mean FlightFailed?'],
    ],
    [
      'no map',
      `${REGION}rules: [FlightFailed]`,
      ['2:9: rules[0]: must be a map with `kind` and its parameters'],
    ],
    [
      'two ways to say how many failures are too many',
      `${REGION}rules: [{ kind: FlightFailed, threshold: 3, consecutive: 3, ratio: 0.5, of_last: 10 }]`,
      [
        '2:45: rules[0].consecutive: give only one of `threshold`, `consecutive` and `ratio`',
        '2:61: rules[0].ratio: give only one of `threshold`, `consecutive` and `ratio`',
        '2:73: rules[0].of_last: belongs to `ratio`: give it, or leave this out',
      ],
    ],
    [
      'a window without a count',
      `${REGION}rules: [{ kind: FlightFailed, consecutive: 3, window: 1h }]`,
      ['2:47: rules[0].window: belongs to `threshold`: leave it out'],
    ],
    [
      'a ratio of nobody knows how many',
      `${REGION}rules: [{ kind: FlightFailed, ratio: 0.5 }]`,
      ['2:31: rules[0].ratio: needs `of_last`: how many of the last Flights it looks at'],
    ],
    [
      'a ratio that nothing reaches',
      `${REGION}rules: [{ kind: FlightFailed, ratio: 1.5, of_last: 1 }, { kind: FlightFailed, ratio: 0, of_last: 200 }]`,
      [
        '2:38: rules[0].ratio: must be more than 0 and at most 1',
        '2:52: rules[0].of_last: must be at least 2',
        '2:86: rules[1].ratio: must be more than 0 and at most 1',
        '2:98: rules[1].of_last: must be at most 100',
      ],
    ],
    [
      'a row of errors instead of Flights',
      `${REGION}rules: [{ kind: FlightFailed, for_each: error, consecutive: 3 }]`,
      [
        '2:41: rules[0].for_each: `consecutive` looks at all Flights of a Bird: leave `for_each` out, or say bird',
      ],
    ],
    [
      'a count of one Flight',
      `${REGION}rules: [{ kind: FlightFailed, for_each: flight, threshold: 3 }]`,
      ['2:49: rules[0].threshold: a Flight fails once: leave it out with `for_each: flight`'],
    ],
    [
      'limits that are too short to be seen',
      `${REGION}rules: [{ kind: FlightStuck, max_duration: 10s }, { kind: BirdStale, expect_every: 0 }]`,
      [
        '2:44: rules[0].max_duration: must be at least 1m',
        '2:84: rules[1].expect_every: must be at least 1m',
      ],
    ],
    [
      'flapping that cannot be known',
      `${REGION}rules: [{ kind: BirdStale, flapping: { changes: 1, within: 2h, calm: 1s, often: 3 } }]`,
      [
        '2:49: rules[0].flapping.changes: must be at least 2, or 0 for never',
        '2:60: rules[0].flapping.within: must not be longer than 1h',
        '2:70: rules[0].flapping.calm: must be at least 1m',
        '2:74: rules[0].flapping.often: unknown key; known here: changes, within, calm',
      ],
    ],
    [
      'a parameter of another kind',
      `${REGION}rules: [{ kind: RegionDown, window: 5m }]`,
      [
        '2:29: rules[0].window: unknown key; known here: kind, match, severity, labels, annotations, keep_firing_for, flapping, for',
      ],
    ],
    [
      'parameters out of bounds',
      `${REGION}rules: [{ kind: FlightFailed, for_each: nest, threshold: 0, resolve_after: soon }]`,
      [
        '2:41: rules[0].for_each: must be one of bird, flight, error',
        '2:58: rules[0].threshold: must be at least 1',
        '2:76: rules[0].resolve_after: must be a duration such as 30s, 5m or 1h30m, or never',
      ],
    ],
    [
      'labels that nestwatch sets, and other mistakes beside them',
      `${REGION}rules: [{ kind: RegionDown, labels: { severity: x, nest: y, 0a: z, team: 5 } }]`,
      [
        '2:39: rules[0].labels.severity: write `severity` beside `kind` instead',
        '2:52: rules[0].labels.nest: is set by nestwatch: choose another name',
        '2:61: rules[0].labels.0a: is not a label name: letters, digits and underscores, no digit first',
        '2:74: rules[0].labels.team: must be text: put it in quotes',
      ],
    ],
  ]);

  test('a matcher that is none is told with the reason', () => {
    const [problem, ...others] = problemsOf(`${REGION}rules: [{ kind: RegionDown, match: ['region=~"("'] }]`);
    expect(problem).toMatch(/^2:37: rules\[0\]\.match\[0\]: .*\(/);
    expect(others).toEqual([]);
  });

  test('a matcher from the environment is not quoted', () => {
    expect(
      problemsOf(`${REGION}rules: [{ kind: RegionDown, match: ["\${M}"] }]`, {
        environment: { M: 's3cret' },
      }),
    ).toEqual(['2:37: rules[0].match[0]: is not a matcher such as severity="critical"']);
  });
});

describe('receivers', () => {
  const email = (settings: string) =>
    `${REGION}${MAIL}route: { receiver: a }\nreceivers:\n  - name: a\n    email_configs: [{ ${settings} }]`;
  const webhook = (settings: string) =>
    `${REGION}route: { receiver: a }\nreceivers:\n  - name: a\n    webhook_configs: [{ ${settings} }]`;
  tell([
    [
      'two of one name',
      `${REGION}route: { receiver: a }\nreceivers: [{ name: a }, { name: a }]`,
      ['3:34: receivers[1].name: another receiver has this name already'],
    ],
    [
      'a fallback that is no receiver',
      `${REGION}route: { receiver: ops }\nreceivers: [{ name: ops, fallback: pagr }, { name: pager }]`,
      ['3:36: receivers[0].fallback: no receiver has the name "pagr"; did you mean pager?'],
    ],
    [
      'its own fallback',
      `${REGION}route: { receiver: ops }\nreceivers: [{ name: ops, fallback: ops }]`,
      ['3:36: receivers[0].fallback: must be another receiver: this is the one that it stands in for'],
    ],
    [
      'a cap that tells nothing',
      `${REGION}route: { receiver: ops }\nreceivers: [{ name: ops, max_notifications_per_hour: 0 }]`,
      ['3:54: receivers[0].max_notifications_per_hour: must be at least 1'],
    ],
    [
      'storms that are folded for too long',
      `${REGION}route: { receiver: ops }\nreceivers: [{ name: ops, fold_storms: 31m }]`,
      ['3:39: receivers[0].fold_storms: must not be longer than 30m'],
    ],
    [
      'members beside what is no address',
      email('to: "nest_members, ops"'),
      ['6:27: receivers[0].email_configs[0].to: must be one or more mail addresses with commas between them'],
    ],
    [
      'none of a name',
      `${REGION}route: { receiver: a }\nreceivers: [{ name: a }, {}]`,
      ['3:26: receivers[1].name: is missing'],
    ],
    [
      'an integration of a later version',
      `${REGION}route: { receiver: a }\nreceivers: [{ name: a, sns_configs: [{}], webex_configs: [] }]`,
      [`3:37: receivers[0].sns_configs: ${NO_INTEGRATION}`],
    ],
    [
      'a setting of such an integration',
      `${REGION}global: { webex_api_url: x, resolve_timeout: 5m }`,
      [
        `2:26: global.webex_api_url: ${NO_INTEGRATION}`,
        '2:46: global.resolve_timeout: is not supported by this version: alerts resolve by their rules (`resolve_after`)',
      ],
    ],
    [
      'no mail server',
      `${REGION}route: { receiver: a }\nreceivers: [{ name: a, email_configs: [{ to: a@b.c, from: d@e.f }] }]`,
      [
        '3:40: receivers[0].email_configs[0].smarthost: is missing: set `global.smtp_smarthost` to the mail server',
      ],
    ],
    [
      'no sender',
      `${REGION}global: { smtp_smarthost: "m:25" }\nroute: { receiver: a }\nreceivers: [{ name: a, email_configs: [{ to: a@b.c }] }]`,
      ['4:40: receivers[0].email_configs[0].from: is missing: set `global.smtp_from` to the sender'],
    ],
    [
      'a mail server without a port',
      `${REGION}global: { smtp_smarthost: mail }`,
      ['2:27: global.smtp_smarthost: must be host:port, such as mail.example.com:587'],
    ],
    [
      'a sender that is no address',
      `${REGION}global: { smtp_from: nestwatch }`,
      ['2:22: global.smtp_from: must be a mail address, such as nestwatch@example.com'],
    ],
    ['no recipient', email('send_resolved: true'), ['6:21: receivers[0].email_configs[0].to: is missing']],
    [
      'a recipient that is no address',
      email('to: "a@b.c, ops"'),
      ['6:27: receivers[0].email_configs[0].to: must be one or more mail addresses with commas between them'],
    ],
    [
      'a line break in a recipient',
      email('to: "a@b.c\\nBcc: d@e.f"'),
      ['6:27: receivers[0].email_configs[0].to: must be one or more mail addresses with commas between them'],
    ],
    [
      'a user without a password',
      email('to: a@b.c, auth_username: u'),
      ['6:21: receivers[0].email_configs[0].auth_password: is missing: the user name needs a password'],
    ],
    [
      'a password without a user',
      email('to: a@b.c, auth_password: s3cret'),
      ['6:21: receivers[0].email_configs[0].auth_username: is missing: the password needs a user name'],
    ],
    [
      'mails without threads',
      email('to: a@b.c, threading: {}'),
      [
        '6:45: receivers[0].email_configs[0].threading: is not supported by this version: leave it out, mails are threaded',
      ],
    ],
    [
      'yes for true',
      email('to: a@b.c, send_resolved: yes'),
      ['6:49: receivers[0].email_configs[0].send_resolved: must be true or false'],
    ],
    [
      'no address of a webhook',
      webhook('max_alerts: 0'),
      ['5:23: receivers[0].webhook_configs[0].url: is missing: give `url` or `url_file`'],
    ],
    [
      'an address that is none',
      webhook('url: s3cret'),
      ['5:30: receivers[0].webhook_configs[0].url: must be a URL that begins with http:// or https://'],
    ],
    [
      'an address in a file that is none',
      webhook('url_file: /u'),
      [
        '5:35: receivers[0].webhook_configs[0].url_file: /u: must be a URL that begins with http:// or https://',
      ],
      { files: { '/u': 's3cret' } },
    ],
    [
      'a secret file that is not there',
      webhook('url: http://x, secret_file: /s'),
      ['5:53: receivers[0].webhook_configs[0].secret_file: /s does not exist'],
    ],
    [
      'an unknown format',
      webhook('url: http://x, format: json'),
      ['5:48: receivers[0].webhook_configs[0].format: must be one of alertmanager, cloudevents, template'],
    ],
    [
      'settings of the HTTP client',
      webhook('url: http://x, http_config: {}'),
      [
        '5:53: receivers[0].webhook_configs[0].http_config: is not supported by this version: leave it out, a key can stand in `url_file` and `secret` signs the message',
      ],
    ],
  ]);
});

describe('routes', () => {
  const below = (settings: string) =>
    `${REGION}receivers: [{ name: ops }]\nroute:\n  receiver: ops\n  routes:\n    - { ${settings} }`;
  tell([
    [
      'receivers that nothing leads to',
      `${REGION}receivers: [{ name: ops }]`,
      ['1:1: route: is missing: without it nothing reaches the receivers'],
    ],
    [
      'no receiver at the root',
      `${REGION}receivers: [{ name: ops }]\nroute: { group_by: [nest] }`,
      ['3:1: route.receiver: is missing: the root names the receiver of what no child takes'],
    ],
    [
      'a receiver that does not exist',
      `${REGION}route: { receiver: opps }\nreceivers: [{ name: ops }, { name: pager }]`,
      ['2:20: route.receiver: no receiver has the name "opps"; did you mean ops?'],
    ],
    [
      'one unlike any other',
      below('receiver: zzzzzz'),
      ['6:19: route.routes[0].receiver: no receiver has the name "zzzzzz"; there is ops'],
    ],
    [
      'no receivers at all',
      `${REGION}route: { receiver: ops }`,
      ['2:20: route.receiver: no receiver has the name "ops"; there is none'],
    ],
    [
      'a receiver with another mistake exists all the same',
      `${REGION}route: { receiver: ops }\nreceivers: [{ name: ops, slak: [] }]`,
      [
        '3:26: receivers[0].slak: unknown key; known here: name, fallback, max_notifications_per_hour, fold_storms, email_configs, webhook_configs, slack_configs, msteamsv2_configs, pagerduty_configs, alertmanager_configs',
      ],
    ],
    [
      'matchers at the root',
      `${REGION}receivers: [{ name: ops }]\nroute: { receiver: ops, matchers: ['a="b"'], continue: true }`,
      [
        '3:25: route.matchers: the root takes every alert: move this to a route below `routes`',
        '3:46: route.continue: the root takes every alert: move this to a route below `routes`',
      ],
    ],
    [
      'what Alertmanager has given up',
      below(`match: { a: "it's", 'b c': 1 }, match_re: { a: 'b|c' }`),
      [
        `6:16: route.routes[0].match: is not supported: write \`matchers: ['a="it''s"', '"b c"="1"']\``,
        `6:51: route.routes[0].match_re: is not supported: write \`matchers: ['a=~"b|c"']\``,
      ],
    ],
    [
      'what Alertmanager has given up, without anything in it',
      below('match: {}, match_re: [a]'),
      [
        `6:16: route.routes[0].match: is not supported: write \`matchers: ['name="value"']\``,
        `6:30: route.routes[0].match_re: is not supported: write \`matchers: ['name=~"regex"']\``,
      ],
    ],
    [
      'what Alertmanager has given up, with a value from the environment',
      below("match: { a: '${A}' }"),
      [`6:16: route.routes[0].match: is not supported: write \`matchers: ['a="…"']\``],
      { environment: { A: 's3cret' } },
    ],
    [
      'labels of a route, as the newest Alertmanager has them',
      below('labels: { a: b }'),
      [
        '6:17: route.routes[0].labels: is not supported by this version: leave it out; `labels` of a rule add some to its alerts',
      ],
    ],
    [
      'an interval of nothing',
      below('repeat_interval: 0s'),
      ['6:26: route.routes[0].repeat_interval: must be at least 10ms'],
    ],
    [
      'groups of all labels and more',
      below("group_by: ['...', nest]"),
      ['6:19: route.routes[0].group_by: `...` means all labels and stands alone'],
    ],
    [
      'a group label twice',
      below('group_by: [nest, nest]'),
      ['6:26: route.routes[0].group_by[1]: stands here twice'],
    ],
    [
      'a group label that is none',
      below('group_by: [a-b]'),
      ['6:20: route.routes[0].group_by[0]: must be a label name, or `...` for all'],
    ],
    [
      'a repetition that comes ever sooner',
      below('repeat_backoff: 0.5'),
      ['6:25: route.routes[0].repeat_backoff: must be at least 1'],
    ],
    [
      'an escalation to nobody',
      below('escalate_after: 15m'),
      ['6:7: route.routes[0].escalate_to: is missing: name the receiver that is told then'],
    ],
    [
      'an escalation at no time',
      below('escalate_to: ops'),
      ['6:7: route.routes[0].escalate_after: is missing: say how long to wait, such as 15m'],
    ],
    [
      'an escalation to a receiver that does not exist',
      below('escalate_after: 15m, escalate_to: opps'),
      ['6:43: route.routes[0].escalate_to: no receiver has the name "opps"; did you mean ops?'],
    ],
    [
      'an escalation after no duration',
      below('escalate_after: soon, escalate_to: ops'),
      ['6:25: route.routes[0].escalate_after: must be a duration such as 30s, 5m or 1h30m, or never'],
    ],
    [
      'mistakes at two levels at once',
      below('slack: 1, routes: [{ receiver: x }]'),
      [
        '6:9: route.routes[0].slack: unknown key; known here: receiver, matchers, continue, group_by, group_wait, group_interval, repeat_interval, repeat_backoff, escalate_to, escalate_after, routes, mute_time_intervals, active_time_intervals',
        '6:40: route.routes[0].routes[0].receiver: no receiver has the name "x"; there is ops',
      ],
    ],
  ]);
});

describe('forward and web', () => {
  tell([
    ['no receiver', `${REGION}forward: [{}]`, ['2:11: forward[0].receiver: is missing']],
    [
      'a receiver that does not exist',
      `${REGION}forward: [{ receiver: lake }]`,
      ['2:23: forward[0].receiver: no receiver has the name "lake"; there is none'],
    ],
    [
      'a receiver that does not take events',
      `${REGION}route: { receiver: a }\nreceivers: [{ name: a, webhook_configs: [{ url: http://x }] }]\nforward: [{ receiver: a }]`,
      ['4:23: forward[0].receiver: must have a webhook with `format: cloudevents`'],
    ],
    [
      'an address without a port',
      `${REGION}web: { listen: localhost }`,
      ['2:16: web.listen: must be host:port, such as 127.0.0.1:9465 or [::1]:9465'],
    ],
    [
      'a port alone',
      `${REGION}web: { listen: 9465 }`,
      ['2:16: web.listen: must be host:port, such as 127.0.0.1:9465 or [::1]:9465'],
    ],
    [
      'a port that there is not',
      `${REGION}web: { listen: "h:70000" }`,
      ['2:16: web.listen: must be host:port, such as 127.0.0.1:9465 or [::1]:9465'],
    ],
    [
      'an external address that is none',
      `${REGION}web: { external_url: nest }`,
      ['2:22: web.external_url: must be a URL that begins with http:// or https://'],
    ],
    [
      'a token file that is not there',
      `${REGION}web: { auth: { bearer_token_file: /b } }`,
      ['2:35: web.auth.bearer_token_file: /b does not exist'],
    ],
  ]);
});

test('every mistake is told at once, in the order of the file', () => {
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
