// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe } from 'vitest';
import { REGION, testProblems } from './load.ts';

const NO_INTEGRATION =
  'is not supported by this version: use `webhook_configs` with `format: template`, or another channel';
const MAIL = 'global: { smtp_smarthost: "m.example.com:25", smtp_from: n@example.com }\n';

describe('receivers', () => {
  const email = (settings: string) =>
    `${REGION}${MAIL}route: { receiver: a }\nreceivers:\n  - name: a\n    email_configs: [{ ${settings} }]`;
  const webhook = (settings: string) =>
    `${REGION}route: { receiver: a }\nreceivers:\n  - name: a\n    webhook_configs: [{ ${settings} }]`;
  testProblems([
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
      'ends folded for too short',
      `${REGION}route: { receiver: ops }\nreceivers: [{ name: ops, fold_ends: 59s }]`,
      ['3:37: receivers[0].fold_ends: must be at least 1m'],
    ],
    [
      'storms folded for too long',
      `${REGION}route: { receiver: ops }\nreceivers: [{ name: ops, fold_storms: 31m }]`,
      ['3:39: receivers[0].fold_storms: must not be longer than 30m'],
    ],
    [
      'members beside what is no address',
      email('to: "nest_members, ops"'),
      ['6:27: receivers[0].email_configs[0].to: must be one or more mail addresses separated by commas'],
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
      `${REGION}global: { wechat_api_url: x, resolve_timeout: 5m }`,
      [`2:27: global.wechat_api_url: ${NO_INTEGRATION}`],
    ],
    [
      'Opsgenie, which ends',
      `${REGION}route: { receiver: a }\nreceivers: [{ name: a, opsgenie_configs: [{ api_key: k }] }]`,
      [
        '3:42: receivers[0].opsgenie_configs: is not supported by this version: Opsgenie ends on 5 April 2027; use `pagerduty_configs`, or `webhook_configs` with `format: template` for Jira Service Management',
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
      ['6:27: receivers[0].email_configs[0].to: must be one or more mail addresses separated by commas'],
    ],
    [
      'a line break in a recipient',
      email('to: "a@b.c\\nBcc: d@e.f"'),
      ['6:27: receivers[0].email_configs[0].to: must be one or more mail addresses separated by commas'],
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
      'an address with a password',
      webhook('url: "http://me:s3cret@host/hook"'),
      [
        '5:30: receivers[0].webhook_configs[0].url: must not hold a user name or password: use `http_config.basic_auth`',
      ],
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
      [
        '5:48: receivers[0].webhook_configs[0].format: must be one of alertmanager, cloudevents, otlp, template',
      ],
    ],
  ]);
});
