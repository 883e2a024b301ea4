// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe } from 'vitest';
import { problemsBelowRegion, problemsIn, REGION, testProblems } from './load.ts';

const NO_INTEGRATION =
  'is not supported by this version: use `webhook_configs` with `format: template`, or another channel';
const MAIL = 'global: { smtp_smarthost: "m.example.com:25", smtp_from: n@example.com }\n';

describe('receivers', () => {
  const email = (settings: string) =>
    `${REGION}${MAIL}route: { receiver: a }\nreceivers:\n  - name: a\n    email_configs: [{ ${settings} }]`;
  const webhook = (settings: string) =>
    `${REGION}route: { receiver: a }\nreceivers:\n  - name: a\n    webhook_configs: [{ ${settings} }]`;
  testProblems(problemsBelowRegion, [
    [
      'route: { receiver: a }\nreceivers: [{ name: a }, { name: a }]',
      '3:34: receivers[1].name: another receiver has this name already',
    ],
    [
      'route: { receiver: ops }\nreceivers: [{ name: ops, fallback: pagr }, { name: pager }]',
      '3:36: receivers[0].fallback: no receiver has the name "pagr"; did you mean pager?',
    ],
    [
      'route: { receiver: ops }\nreceivers: [{ name: ops, fallback: ops }]',
      '3:36: receivers[0].fallback: must be another receiver: this is the one that it stands in for',
    ],
    [
      'route: { receiver: ops }\nreceivers: [{ name: ops, max_notifications_per_hour: 0 }]',
      '3:54: receivers[0].max_notifications_per_hour: must be at least 1',
    ],
    [
      'route: { receiver: ops }\nreceivers: [{ name: ops, fold_ends: 59s }]',
      '3:37: receivers[0].fold_ends: must be at least 1m',
    ],
    [
      'route: { receiver: ops }\nreceivers: [{ name: ops, fold_storms: 31m }]',
      '3:39: receivers[0].fold_storms: must not be longer than 30m',
    ],
    ['route: { receiver: a }\nreceivers: [{ name: a }, {}]', '3:26: receivers[1].name: is missing'],
    [
      'route: { receiver: a }\nreceivers: [{ name: a, sns_configs: [{}], webex_configs: [] }]',
      `3:37: receivers[0].sns_configs: ${NO_INTEGRATION}`,
    ],
    ['global: { wechat_api_url: x, resolve_timeout: 5m }', `2:27: global.wechat_api_url: ${NO_INTEGRATION}`],
    [
      'route: { receiver: a }\nreceivers: [{ name: a, opsgenie_configs: [{ api_key: k }] }]',
      '3:42: receivers[0].opsgenie_configs: is not supported by this version: Opsgenie ends on 5 April 2027; use `pagerduty_configs`, or `webhook_configs` with `format: template` for Jira Service Management',
    ],
    [
      'route: { receiver: a }\nreceivers: [{ name: a, email_configs: [{ to: a@b.c, from: d@e.f }] }]',
      '3:40: receivers[0].email_configs[0].smarthost: is missing: set `global.smtp_smarthost` to the mail server',
    ],
    [
      'global: { smtp_smarthost: "m:25" }\nroute: { receiver: a }\nreceivers: [{ name: a, email_configs: [{ to: a@b.c }] }]',
      '4:40: receivers[0].email_configs[0].from: is missing: set `global.smtp_from` to the sender',
    ],
    [
      'global: { smtp_smarthost: mail }',
      '2:27: global.smtp_smarthost: must be host:port, such as mail.example.com:587',
    ],
    ['global: { smtp_smarthost: "mail:0" }', '2:27: global.smtp_smarthost: the port must be from 1 to 65535'],
    [
      'global: { smtp_from: nestwatch }',
      '2:22: global.smtp_from: must be a mail address, such as nestwatch@example.com',
    ],
  ]);
  testProblems(problemsIn(email), [
    [
      'to: "nest_members, ops"',
      '6:27: receivers[0].email_configs[0].to: must be one or more mail addresses separated by commas',
    ],
    ['send_resolved: true', '6:21: receivers[0].email_configs[0].to: is missing'],
    [
      'to: "a@b.c, ops"',
      '6:27: receivers[0].email_configs[0].to: must be one or more mail addresses separated by commas',
    ],
    [
      'to: "a@b.c\\nBcc: d@e.f"',
      '6:27: receivers[0].email_configs[0].to: must be one or more mail addresses separated by commas',
    ],
    [
      'to: a@b.c, auth_username: u',
      '6:21: receivers[0].email_configs[0].auth_password: is missing: the user name needs a password',
    ],
    [
      'to: a@b.c, auth_password: s3cret',
      '6:21: receivers[0].email_configs[0].auth_username: is missing: the password needs a user name',
    ],
    [
      'to: a@b.c, threading: {}',
      '6:45: receivers[0].email_configs[0].threading: is not supported by this version: leave it out, mails are threaded',
    ],
    [
      'to: a@b.c, send_resolved: yes',
      '6:49: receivers[0].email_configs[0].send_resolved: must be true or false',
    ],
  ]);
  testProblems(problemsIn(webhook), [
    ['max_alerts: 0', '5:23: receivers[0].webhook_configs[0].url: is missing: give `url` or `url_file`'],
    [
      'url: s3cret',
      '5:30: receivers[0].webhook_configs[0].url: must be a URL that begins with http:// or https://',
    ],
    [
      'url: "http://me:s3cret@host/hook"',
      '5:30: receivers[0].webhook_configs[0].url: must not hold a user name or password: use `http_config.basic_auth`',
    ],
    // An address in a file that is none.
    [
      'url_file: /u',
      '5:35: receivers[0].webhook_configs[0].url_file: /u: must be a URL that begins with http:// or https://',
      { files: { '/u': 's3cret' } },
    ],
    [
      'url: http://x, secret_file: /s',
      '5:53: receivers[0].webhook_configs[0].secret_file: /s does not exist',
    ],
    [
      'url: http://x, format: json',
      '5:48: receivers[0].webhook_configs[0].format: must be one of alertmanager, cloudevents, otlp, template',
    ],
  ]);
});
