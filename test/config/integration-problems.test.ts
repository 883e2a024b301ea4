// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { generateKeyPairSync } from 'node:crypto';
import { describe } from 'vitest';
import { problemsIn, problemsOf, REGION, testProblems } from './load.ts';

/** The settings are on the sixth line, below a line that is empty or contains `global`. */
function receiver(kind: string, settings: string, { global = '', more = '' } = {}): string {
  return `${REGION}${global}\nroute: { receiver: a }\nreceivers:\n  - name: a\n${more}    ${kind}:\n      - ${settings}`;
}

const MAIL = { global: 'global: { smtp_smarthost: "m.example.com:25", smtp_from: n@example.com }' };
const KEY = generateKeyPairSync('rsa', { modulusLength: 1024 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

describe('good receivers have no problems', () => {
  testProblems(problemsOf, [
    // A template with what not all alerts of a group have.
    [
      receiver(
        'webhook_configs',
        `{ url: http://x, format: template, template: '{ "a": {{ commonLabels.bird_id | json }}, "b": "{{ commonLabels.team }}" }' }`,
      ),
    ],
    [receiver('slack_configs', '{ api_url: https://h.example/x, channel: "#ops" }')],
    [receiver('slack_configs', '{}', { global: 'global: { slack_api_url: https://h.example }' })],
    [receiver('msteamsv2_configs', '{ webhook_url_file: /t }'), { files: { '/t': 'https://t.example' } }],
    [receiver('pagerduty_configs', '{ routing_key: k, severity: error }')],
    [receiver('alertmanager_configs', '{ url: "http://am:9093/" }')],
    [receiver('alertmanager_configs', '{ url: "http://grafana/api/alertmanager/v2" }')],
    [
      receiver(
        'email_configs',
        '{ to: a@b.c, auth_username: u, oauth2: { client_id: i, client_secret: s, refresh_token: r }, dkim: { domain: b.c, selector: s, private_key_file: /k }, headers: { Subject: "{{ title }}" } }',
        MAIL,
      ),
      { files: { '/k': KEY } },
    ],
  ]);
});

describe('integrations that post', () => {
  testProblems(problemsOf, [
    [
      receiver('slack_configs', '{ channel: "#ops" }'),
      '7:9: receivers[0].slack_configs[0].api_url: is missing: set it or `global.slack_api_url` to an incoming webhook, or `app_token`',
    ],
    [
      receiver('slack_configs', '{}', { global: 'global: { slack_api_url: s3cret }' }),
      '2:26: global.slack_api_url: must be a URL that begins with http:// or https://',
    ],
    [
      receiver('slack_configs', '{ api_url: https://x, color: red, app_token: t }'),
      '7:54: receivers[0].slack_configs[0].app_token: excludes `api_url`: choose one',
    ],
    [
      receiver('msteamsv2_configs', '{}'),
      '7:9: receivers[0].msteamsv2_configs[0].webhook_url: is missing: give `webhook_url` or `webhook_url_file`',
    ],
    [
      receiver('msteams_configs', '{}'),
      '7:7: receivers[0].msteams_configs: is not supported by this version: use `msteamsv2_configs`: Teams has ended the connectors that these go to',
    ],
    // PagerDuty with an old key.
    [
      receiver('pagerduty_configs', '{ service_key: k, severity: page }'),
      '7:24: receivers[0].pagerduty_configs[0].service_key: is not supported by this version: use `routing_key` with an integration of Events API v2',
      '7:37: receivers[0].pagerduty_configs[0].severity: must be one of critical, error, warning, info',
    ],
    [
      receiver('pagerduty_configs', '{ routing_key: k, url: x }'),
      '7:32: receivers[0].pagerduty_configs[0].url: must be a URL that begins with http:// or https://',
    ],
    [
      receiver('alertmanager_configs', '{ url: "http://am:9093/api/v2/alerts" }'),
      '7:16: receivers[0].alertmanager_configs[0].url: must end before `/api/`: `/api/v2/alerts` is added',
    ],
    [
      receiver('alertmanager_configs', '{ url: "http://am:9093/prefix/api/v1/" }'),
      '7:16: receivers[0].alertmanager_configs[0].url: must end before `/api/`: `/api/v2/alerts` is added',
    ],
    [
      receiver('alertmanager_configs', '{ url: "http://am:9093/?x=1" }'),
      '7:16: receivers[0].alertmanager_configs[0].url: must end with its path: nothing after `?` or `#`',
    ],
    [
      receiver('pagerduty_configs', '{ routing_key: k }', { more: '    max_notifications_per_hour: 5\n' }),
      '6:33: receivers[0].max_notifications_per_hour: is not for a receiver with pagerduty_configs: leave it out, PagerDuty folds what belongs together itself',
    ],
    // Storms and ends that would keep incidents open.
    [
      receiver('pagerduty_configs', '{ routing_key: k }', {
        more: '    fold_storms: 5m\n    fold_ends: 5m\n',
      }),
      '6:18: receivers[0].fold_storms: is not for a receiver with pagerduty_configs: leave it out, PagerDuty folds what belongs together itself',
      '7:16: receivers[0].fold_ends: is not for a receiver with pagerduty_configs: leave it out, PagerDuty folds what belongs together itself',
    ],
    // A push service that is no host, and a time without a unit.
    [
      receiver('browser_configs', '{ push_services: ["https://push.example.com/x"], ttl: 5 }'),
      '7:27: receivers[0].browser_configs[0].push_services[0]: must be a host, such as push.example.com',
      '7:63: receivers[0].browser_configs[0].ttl: must be a duration such as 30s, 5m or 1h30m',
    ],
    [
      receiver('browser_configs', '{}\n      - {}'),
      '8:9: receivers[0].browser_configs[1]: must be the only one: people subscribe to the receiver, not to an entry',
    ],
    [
      receiver('browser_configs', '{ http_config: { basic_auth: { username: a, password: b } } }'),
      '7:24: receivers[0].browser_configs[0].http_config: is used to log in to the service: remove the credentials from `http_config`',
    ],
    [
      receiver('webhook_configs', '{ url: http://x, secret_previous: s }'),
      '7:9: receivers[0].webhook_configs[0].secret: is missing: `secret_previous` needs the new secret as well',
    ],
    [
      receiver('webhook_configs', '{ url: http://x, format: template }'),
      '7:9: receivers[0].webhook_configs[0].template: is missing: write the JSON that is posted, as a Liquid template',
    ],
    [
      receiver('webhook_configs', `{ url: http://x, template: '{}' }`),
      '7:9: receivers[0].webhook_configs[0].format: must be template; otherwise `template` is not used',
    ],
  ]);
});

describe('mails', () => {
  const email = (settings: string) => receiver('email_configs', `{ to: a@b.c, ${settings} }`, MAIL);
  testProblems(problemsIn(email), [
    // XOAUTH2 without what it needs.
    [
      'oauth2: {}',
      '7:9: receivers[0].email_configs[0].auth_username: is missing: `oauth2` needs a user name',
      '7:22: receivers[0].email_configs[0].oauth2.client_secret: is missing: give `client_secret` or `client_secret_file`',
      '7:22: receivers[0].email_configs[0].oauth2.refresh_token: is missing: give `refresh_token` or `refresh_token_file`',
      '7:22: receivers[0].email_configs[0].oauth2.client_id: is missing: give it, or an `access_token`',
    ],
    [
      'auth_username: u, auth_password: p, oauth2: { access_token: t }',
      '7:55: receivers[0].email_configs[0].auth_password: give either a password or `oauth2`, not both',
    ],
    [
      'auth_username: u, oauth2: { access_token: t, client_id: c, refresh_token_file: /none }',
      '7:78: receivers[0].email_configs[0].oauth2.client_id: is of no use beside `access_token`: give one or the other',
      '7:101: receivers[0].email_configs[0].oauth2.refresh_token_file: is of no use beside `access_token`: give one or the other',
    ],
    [
      'dkim: { domain: b.c, selector: s, private_key: s3cret }',
      '7:69: receivers[0].email_configs[0].dkim.private_key: must be a private key in PEM',
    ],
    // DKIM without a domain.
    [
      'dkim: { selector: s, private_key_file: /k }',
      '7:22: receivers[0].email_configs[0].dkim.domain: is missing',
      { files: { '/k': KEY } },
    ],
    // Headers that a mail has anyway.
    [
      'headers: { To: x, References: y, "X Y": z }',
      '7:33: receivers[0].email_configs[0].headers.To: cannot be set here: use `to`',
      '7:40: receivers[0].email_configs[0].headers.References: cannot be set here: leave it out, mails are threaded',
      '7:55: receivers[0].email_configs[0].headers["X Y"]: is not the name of a header',
    ],
  ]);
});

describe('templates', () => {
  const slack = (text: string) => receiver('slack_configs', `{ api_url: https://x, text: '${text}' }`);
  const wrong = (what: string) => `7:37: receivers[0].slack_configs[0].text: ${what}`;
  const liquid = 'this is a Go template, and templates here are Liquid:';
  testProblems(problemsIn(slack), [
    [
      '{{ template "slack.default.text" . }}',
      wrong(`line 1, column 1: ${liquid} leave the key out for the built-in message, or write the text here`),
    ],
    [
      '{{ range .Alerts.Firing }}x{{ end }}',
      wrong(`line 1, column 1: ${liquid} write {% for alert in firing %} … {% endfor %}`),
    ],
    [
      '{{ titel }}',
      wrong(
        'there is no variable titel; there are status, title, context, message, subject, receiver, groupKey, groupLabels, commonLabels, commonAnnotations, externalURL, notification_reason, routeLabels, truncatedAlerts, alerts, firing, resolved, notices',
      ),
    ],
    ['{{ title | toUpper }}', wrong('undefined filter: toUpper, line:1, col:1')],
    ['{{ title | raw }}', wrong('undefined filter: raw, line:1, col:1')],
    ['{% if title %}', wrong('tag {% if title %} not closed, line:1, col:1')],
    ['{% include "x" %}', wrong('tag "include" not found, line:1, col:1')],
  ]);
  testProblems(problemsOf, [
    [
      receiver('webhook_configs', `{ url: http://x, format: template, template: '{ "a": {{ title }} }' }`),
      '7:54: receivers[0].webhook_configs[0].template: the result is not JSON: a comma, a quote or a bracket is wrong',
    ],
    [
      receiver(
        'webhook_configs',
        `{ url: http://x, format: template, template: '{ "a": {{ commonLabels.bird_id }} }' }`,
      ),
      '7:54: receivers[0].webhook_configs[0].template: the result is not JSON: a comma, a quote or a bracket is wrong; this is so in a group whose alerts differ, where commonLabels has less: the filter json writes what is missing as null',
    ],
    // A template from the environment is not quoted.
    [
      receiver('slack_configs', '{ api_url: https://x, text: "${TEXT}" }'),
      wrong('is not a Liquid template that works'),
      { environment: { TEXT: '{{ s3cret }}' } },
    ],
    [
      receiver('slack_configs', '{ api_url: https://x, text: {{ title }} }'),
      '7:38: a key must be a plain word',
    ],
  ]);
});

describe('templates where plain text is expected', () => {
  const go = 'this is a Go template, and this key takes plain text: ';
  const byRoute =
    'write it as it is; where it depends on a label, give each value a receiver and a route of its own';
  const told = (kind: string, key: string, column: number, what = `${go}${byRoute}`) =>
    `7:${column}: receivers[0].${kind}[0].${key}: ${what}`;
  const slack = (setting: string) => receiver('slack_configs', `{ api_url: https://x, ${setting} }`);
  testProblems(problemsIn(slack), [
    ["channel: '#{{ .CommonLabels.team }}'", told('slack_configs', 'channel', 40)],
    [`username: '{{ template "slack.default.username" . }}'`, told('slack_configs', 'username', 41)],
    [`icon_url: 'https://x/{{ .Status }}'`, told('slack_configs', 'icon_url', 41)],
    [
      "channel: '#{{ commonLabels.team }}'",
      told('slack_configs', 'channel', 40, `this is a template, and this key takes plain text: ${byRoute}`),
    ],
    // A key without effect may hold what it likes.
    [`color: '{{ if eq .Status "firing" }}danger{{ end }}'`],
  ]);
  testProblems(problemsOf, [
    [
      receiver('webhook_configs', `{ url: 'https://x/s3cret/{{ .CommonLabels.s3cret }}' }`),
      told('webhook_configs', 'url', 16),
    ],
    [
      receiver('pagerduty_configs', `{ routing_key: '{{ .CommonLabels.s3cret }}' }`),
      told('pagerduty_configs', 'routing_key', 24),
    ],
    // Recipients, and what else a mail has.
    [
      receiver(
        'email_configs',
        `{ to: '{{ .CommonLabels.mail }}', from: '{{.Receiver}}@x.y', dkim: { domain: '{{ .X }}', selector: s, private_key_file: /k }, headers: { Subject: "x", Cc: '{{ .CommonLabels.mail }}' } }`,
        MAIL,
      ),
      `7:15: receivers[0].email_configs[0].to: ${go}${byRoute}`,
      `7:49: receivers[0].email_configs[0].from: ${go}${byRoute}`,
      `7:86: receivers[0].email_configs[0].dkim.domain: ${go}${byRoute}`,
      '7:160: receivers[0].email_configs[0].headers.Cc: cannot be set here: use `to`',
      { files: { '/k': KEY } },
    ],
    [
      receiver('slack_configs', '{ api_url: https://x }', {
        global: "global: { smtp_smarthost: '{{ .Host }}:25' }",
      }),
      `2:27: global.smtp_smarthost: ${go}${byRoute}`,
    ],
    // Braces in a password are no template.
    [receiver('email_configs', `{ to: a@b.c, auth_username: u, auth_password: 'a{{b}}c' }`, MAIL)],
  ]);
});
