import * as z from 'zod';
import { refused, refusedKeys } from '../document/refused-key.ts';
import { duration, twins, words } from '../values/value-shape.ts';

/** A receiver and all that can stand in it, one shape for each integration. */

export const NO_INTEGRATION =
  'use `email_configs`, `slack_configs`, `msteamsv2_configs`, `pagerduty_configs` or `webhook_configs` with `format: template`';
const NO_HTTP_CONFIG = 'leave it out, a key can stand in the file of the address';
const BUILT_IN = 'leave it out, the message is built in; `title` and `text` change it';

export const tlsShape = z.strictObject({
  insecure_skip_verify: z
    .boolean()
    .optional()
    .describe("Accept any certificate: only inside one's own network."),
  ...refusedKeys(
    ['ca', 'ca_file', 'cert', 'cert_file', 'key', 'key_file', 'key_ref', 'cert_ref', 'ca_ref'],
    'start nestwatch with NODE_EXTRA_CA_CERTS for a private certificate authority',
  ),
  ...refusedKeys(['server_name', 'min_version', 'max_version'], 'leave it out'),
});

function template(what: string) {
  return words.optional().describe(`A Liquid template ${what}, in place of the built-in one.`);
}

const mailOauth2Shape = z.strictObject({
  ...twins('access_token', 'A token that another program keeps fresh in its file; or else:'),
  client_id: words.optional(),
  ...twins('client_secret', 'Of the client that may send mails.'),
  ...twins('refresh_token', 'Exchanged for access tokens.'),
  token_url: words.optional().describe('Where; https://accounts.google.com/o/oauth2/token at first.'),
});

const dkimShape = z.strictObject({
  domain: words.describe('The domain that signs: that of the sender.'),
  selector: words.describe('The key stands in the DNS under selector._domainkey.domain.'),
  ...twins('private_key', 'In PEM.'),
});

export const emailShape = z.strictObject({
  to: words.describe(
    "One or more addresses, with commas between them; nest_members: the active members of the alert's Nest.",
  ),
  from: words.optional().describe('In place of `smtp_from`.'),
  smarthost: words.optional().describe('In place of `smtp_smarthost`.'),
  hello: words.optional().describe('In place of `smtp_hello`.'),
  auth_username: words.optional().describe('In place of `smtp_auth_username`.'),
  ...twins('auth_password', 'In place of `smtp_auth_password`.'),
  require_tls: z.boolean().optional().describe('In place of `smtp_require_tls`.'),
  tls_config: tlsShape.optional().describe('In place of `smtp_tls_config`.'),
  send_resolved: z.boolean().prefault(false).describe('Whether the end of an alert is told.'),
  oauth2: mailOauth2Shape.optional().describe('Logs in with XOAUTH2 in place of a password.'),
  dkim: dkimShape.optional().describe('Signs every mail.'),
  headers: z
    .record(z.string(), words)
    .optional()
    .describe('Liquid templates: `Subject` in place of the built-in one, and further headers.'),
  text: template('of the text part'),
  html: template('of the HTML part'),
  ...refusedKeys(
    ['auth_secret', 'auth_secret_file', 'auth_identity'],
    'use `auth_username` and `auth_password`',
  ),
  force_implicit_tls: refused('use port 465, where TLS comes first'),
  threading: refused('leave it out, mails are threaded'),
});

export const webhookShape = z.strictObject({
  ...twins('url', 'Where the message is posted.'),
  format: z
    .enum(['alertmanager', 'cloudevents', 'template'])
    .prefault('alertmanager')
    .describe(
      "alertmanager: Alertmanager's webhook body; cloudevents: the events as a CloudEvents batch; template: the JSON that `template` writes.",
    ),
  template: words.optional().describe('With `format: template`: a Liquid template of the JSON body.'),
  ...twins('secret', 'Signs each message as Standard Webhooks describes.'),
  ...twins('secret_previous', 'Signs as well, while receivers change over from it to `secret`.'),
  timeout: duration(100).prefault('10s').describe('For one message.'),
  send_resolved: z.boolean().prefault(true).describe('Whether the end of an alert is told.'),
  max_alerts: z.int().min(0).prefault(0).describe('Alerts in one message at the most; 0: no limit of yours.'),
  http_config: refused('leave it out, a key can stand in `url_file` and `secret` signs the message'),
  payload: refused('use `format: template` with `template`'),
});

const sharedByPosts = (sendResolved: boolean) => ({
  timeout: duration(100).prefault('10s').describe('For one message.'),
  send_resolved: z.boolean().prefault(sendResolved).describe('Whether the end of an alert is told.'),
  http_config: refused(NO_HTTP_CONFIG),
});

export const slackShape = z.strictObject({
  ...twins('api_url', 'An incoming webhook; in place of `slack_api_url`.'),
  channel: words.optional().describe("In place of the webhook's own; only old webhooks allow it."),
  username: words.optional().describe("In place of the webhook's own; only old webhooks allow it."),
  icon_emoji: words.optional(),
  icon_url: words.optional(),
  title: template('of the headline'),
  text: template('of the text (mrkdwn)'),
  ...sharedByPosts(false),
  ...refusedKeys(
    ['app_token', 'app_token_file', 'app_url', 'update_message'],
    'use `api_url` with an incoming webhook',
  ),
  ...refusedKeys(
    [
      ...['color', 'pretext', 'title_link', 'fallback', 'fields', 'actions', 'short_fields', 'footer'],
      ...['callback_id', 'image_url', 'thumb_url', 'mrkdwn_in', 'link_names', 'message_text', 'attachments'],
    ],
    BUILT_IN,
  ),
});

export const teamsShape = z.strictObject({
  ...twins(
    'webhook_url',
    'The address that the Workflow "Post to a channel when a webhook request is received" has.',
  ),
  title: template('of the headline'),
  text: template('of the text, without Markdown'),
  ...sharedByPosts(true),
});

export const pagerdutyShape = z.strictObject({
  ...twins('routing_key', 'The integration key of a service, for Events API v2.'),
  url: words.optional().describe('In place of `pagerduty_url`.'),
  severity: z
    .enum(['critical', 'error', 'warning', 'info'])
    .optional()
    .describe("In place of the alerts' own, the worst of which counts."),
  description: template("of the incident's summary"),
  ...sharedByPosts(true),
  ...refusedKeys(
    ['service_key', 'service_key_file'],
    'use `routing_key` with an integration of Events API v2',
  ),
  ...refusedKeys(
    ['client', 'client_url', 'details', 'images', 'links', 'source', 'component', 'group', 'class'],
    'leave it out, it is filled in',
  ),
});

export const alertmanagerShape = z.strictObject({
  ...twins('url', 'The address of an Alertmanager; `/api/v2/alerts` is added.'),
  ...sharedByPosts(true),
});

export const receiverShape = z.strictObject({
  name: words,
  fallback: words
    .optional()
    .describe('Another receiver, told as well of what this one has not accepted after 3 tries or 5 minutes.'),
  max_notifications_per_hour: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('What comes beyond is held back, counted, and told in one message as soon as there is room.'),
  fold_storms: duration(60_000)
    .refine((ms) => ms <= 1_800_000, { error: 'must not be longer than 30m' })
    .optional()
    .describe('What comes in a storm is told in one message, once in this time.'),
  email_configs: z.array(z.unknown()).prefault([]),
  webhook_configs: z.array(z.unknown()).prefault([]),
  slack_configs: z.array(z.unknown()).prefault([]),
  msteamsv2_configs: z.array(z.unknown()).prefault([]),
  pagerduty_configs: z.array(z.unknown()).prefault([]),
  alertmanager_configs: z.array(z.unknown()).prefault([]),
  labels: refused('leave it out'),
  msteams_configs: refused('use `msteamsv2_configs`: Teams has ended the connectors that these go to'),
  ...refusedKeys(
    [
      ...['opsgenie_configs', 'discord_configs', 'incidentio_configs', 'jira_configs', 'mattermost_configs'],
      'pushover_configs',
      ...['rocketchat_configs', 'sns_configs', 'telegram_configs', 'victorops_configs', 'webex_configs'],
      'wechat_configs',
    ],
    NO_INTEGRATION,
  ),
});

/** A receiver with its integrations, for the JSON schema: the checks read each of them by itself. */
export const wholeReceiverShape = receiverShape.extend({
  email_configs: z.array(emailShape).prefault([]),
  webhook_configs: z.array(webhookShape).prefault([]),
  slack_configs: z.array(slackShape).prefault([]),
  msteamsv2_configs: z.array(teamsShape).prefault([]),
  pagerduty_configs: z.array(pagerdutyShape).prefault([]),
  alertmanager_configs: z.array(alertmanagerShape).prefault([]),
});
