import * as z from 'zod';
import { inhibitRuleShape, namedTimeIntervalShape } from './muting-shape.ts';
import { RULE_SHAPES } from './rule-shape.ts';
import {
  duration,
  durationOrNever,
  groupLabel,
  isRefused,
  matcherList,
  refused,
  twins,
  words,
  writeMatchers,
} from './value-shape.ts';

/** The whole file as a shape: the source of the checks of single values, of their defaults, and of the JSON schema. */

export const REGION_NAME = /^[a-z0-9-]+$/;

export const regionShape = z.strictObject({
  base_url: words.describe('Where the service answers, e.g. https://eu-1.blackbird.io/api-rest'),
  ...twins('token', "The service's API token, sent as it is."),
  requests_per_second: z
    .number()
    .min(0.1)
    .max(100_000)
    .prefault(5)
    .describe('Ceiling of the rate of requests; below it the rate adapts to what the service allows.'),
  concurrency: z.int().min(1).max(256).prefault(8).describe('Requests under way at the same time.'),
  timeout: duration(100).prefault('15s').describe('For one request.'),
  nests: z
    .strictObject({
      include: z.array(words).prefault(['*']).describe('Globs on a name or id of a Nest.'),
      exclude: z.array(words).prefault([]).describe('Globs on a name or id of a Nest; they win.'),
    })
    .prefault({})
    .describe('Which Nests are watched.'),
});

export const storeShape = z.strictObject({
  url: words
    .prefault('sqlite:data/nestwatch.db')
    .describe('sqlite:FILE, relative to the working directory, or sqlite::memory: for trials.'),
  retention: duration(60_000).prefault('30d').describe('How long events are kept.'),
});

export const pollShape = z.strictObject({
  interval: duration(10).prefault('30s').describe('How often notifications are read; the aim for Birds.'),
  min_interval: duration(10)
    .optional()
    .describe('A Bird is never polled more often; 10s, or `interval` where that is shorter.'),
  max_interval: duration(10)
    .optional()
    .describe('A Bird is never polled less often; 5m, or `interval` where that is longer.'),
  inventory_interval: duration(10).prefault('5m').describe('How often Nests and Birds are listed.'),
  page_size: z.int().min(1).max(10_000).prefault(100).describe('Entries asked for in one page.'),
  overlap: duration(1000).prefault('2m').describe('How far each sweep looks back.'),
  initial_lookback: duration().prefault('1h').describe('What a first start reads.'),
  audit_interval: duration(10).prefault('10m').describe('How often completeness is checked by count.'),
  max_alert_age: duration(60_000).prefault('6h').describe('Older news is told in one summary per receiver.'),
});

const tlsShape = z.strictObject({
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

const NO_INTEGRATION =
  'use `email_configs`, `slack_configs`, `msteamsv2_configs`, `pagerduty_configs` or `webhook_configs` with `format: template`';
const NO_HTTP_CONFIG = 'leave it out, a key can stand in the file of the address';
const BUILT_IN = 'leave it out, the message is built in; `title` and `text` change it';

export const globalShape = z.strictObject({
  smtp_smarthost: words.optional().describe('host:port of the mail server.'),
  smtp_from: words.optional().describe('Sender of every mail.'),
  smtp_hello: words.optional().describe('The name given in EHLO.'),
  smtp_auth_username: words.optional(),
  ...twins('smtp_auth_password', 'Password for the mail server.'),
  smtp_require_tls: z.boolean().prefault(true).describe('Refuse to send without STARTTLS.'),
  smtp_tls_config: tlsShape.optional(),
  ...refusedKeys(
    ['smtp_auth_secret', 'smtp_auth_secret_file', 'smtp_auth_identity'],
    'use `smtp_auth_username` and `smtp_auth_password`',
  ),
  smtp_force_implicit_tls: refused('use port 465, where TLS comes first'),
  resolve_timeout: refused('alerts resolve by their rules (`resolve_after`)'),
  http_config: refused('leave it out'),
  ...twins('slack_api_url', 'The incoming webhook of every `slack_configs` that has none itself.'),
  ...refusedKeys(
    ['slack_app_token', 'slack_app_token_file', 'slack_app_url'],
    'use `slack_api_url` with an incoming webhook',
  ),
  pagerduty_url: words.optional().describe('In place of https://events.pagerduty.com/v2/enqueue.'),
  ...refusedKeys(
    [
      ...['opsgenie_api_url', 'opsgenie_api_key', 'opsgenie_api_key_file', 'wechat_api_url'],
      ...['wechat_api_secret', 'wechat_api_secret_file', 'wechat_api_corp_id', 'victorops_api_url'],
      ...['victorops_api_key', 'victorops_api_key_file', 'telegram_api_url', 'telegram_bot_token'],
      ...['telegram_bot_token_file', 'webex_api_url', 'rocketchat_api_url', 'rocketchat_token'],
      ...['rocketchat_token_file', 'rocketchat_token_id', 'rocketchat_token_id_file', 'jira_api_url'],
      ...['mattermost_webhook_url', 'mattermost_webhook_url_file'],
    ],
    NO_INTEGRATION,
  ),
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
  email_configs: z.array(z.unknown()).prefault([]),
  webhook_configs: z.array(z.unknown()).prefault([]),
  slack_configs: z.array(z.unknown()).prefault([]),
  msteamsv2_configs: z.array(z.unknown()).prefault([]),
  pagerduty_configs: z.array(z.unknown()).prefault([]),
  alertmanager_configs: z.array(z.unknown()).prefault([]),
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

export const routeShape = z.strictObject({
  receiver: words.optional().describe('Name of a receiver; a child inherits it.'),
  matchers: matcherList.prefault([]).describe('All must fit, e.g. severity="critical".'),
  continue: z.boolean().prefault(false).describe('Whether the siblings after this one are asked as well.'),
  group_by: z
    .array(groupLabel)
    .optional()
    .describe('Labels whose values make a group: one message for each.'),
  group_wait: duration().optional().describe('How long a new group waits for more; 30s at first.'),
  group_interval: duration(10).optional().describe('How often a group may tell of changes; 5m at first.'),
  repeat_interval: duration(10).optional().describe('How often what still fires is told again; 4h at first.'),
  repeat_backoff: z
    .number()
    .min(1)
    .max(10)
    .optional()
    .describe(
      'Each repetition waits this many times as long as the one before, until there is news; 1 at first.',
    ),
  escalate_to: words
    .optional()
    .describe('Told as well of what still fires and is not silenced after a while.'),
  escalate_after: durationOrNever()
    .optional()
    .describe('How long after an alert was told that is, or never.'),
  routes: z.array(z.unknown()).prefault([]).describe('Children: the first that fits gets the alert.'),
  match: writeMatchers('matchers', '\'name="value"\''),
  match_re: writeMatchers('matchers', '\'name=~"regex"\''),
  mute_time_intervals: z.array(words).prefault([]).describe('Time intervals in which nothing is told.'),
  active_time_intervals: z
    .array(words)
    .prefault([])
    .describe('Time intervals outside of which nothing is told.'),
});

export const forwardShape = z.strictObject({
  matchers: matcherList
    .prefault([])
    .describe('On region, feed, type, nest_id, nest, bird_id, bird of an event.'),
  receiver: words.describe('A receiver with a webhook of `format: cloudevents`.'),
});

export const NOT_AN_ADDRESS = 'must be host:port, such as 127.0.0.1:9465 or [::1]:9465';

export const webShape = z.strictObject({
  listen: z
    .string({ error: NOT_AN_ADDRESS })
    .prefault('127.0.0.1:9465')
    .describe('host:port; `:port` listens on every address.'),
  external_url: words.optional().describe('How people reach the page: links in messages begin with it.'),
  auth: z
    .strictObject(twins('bearer_token', 'Asked of everybody, except for the health checks.'))
    .prefault({}),
  enable_lifecycle: z.boolean().prefault(false).describe('Whether POST /-/reload is answered.'),
});

/** Sections that are lists or maps of entries are checked entry by entry, so that one mistake hides no other. */
export const fileShape = z.strictObject({
  regions: z
    .record(z.string().regex(REGION_NAME), regionShape)
    .describe('The instances of the service that are watched, each isolated from the others.'),
  store: storeShape.optional(),
  poll: pollShape.optional(),
  rules: z.array(z.discriminatedUnion('kind', ruleShapes())).optional(),
  global: globalShape.optional(),
  route: fullRouteShape().optional(),
  receivers: z.array(fullReceiverShape()).optional(),
  forward: z.array(forwardShape).optional().describe('Every event once, ungrouped.'),
  web: webShape.optional(),
  inhibit_rules: z
    .array(inhibitRuleShape)
    .optional()
    .describe('While a source fires, its targets are not told; beside the built-in ones.'),
  time_intervals: z.array(namedTimeIntervalShape).optional(),
  mute_time_intervals: z
    .array(namedTimeIntervalShape)
    .optional()
    .describe("Alertmanager's older name for `time_intervals`."),
  digests: refused('leave it out; `repeat_interval` reminds of what still fires'),
  heartbeat: refused('let another monitor ask GET /-/ready'),
  templates: refused('write Liquid in `title`, `text`, `html` or `headers` of a receiver'),
  tracing: refused('leave it out'),
});

/** The top of the file alone: each section is read by itself. */
export const sectionsShape = z.strictObject(
  Object.fromEntries(
    Object.entries(fileShape.shape).map(([key, shape]) => [
      key,
      isRefused(shape) ? shape : z.unknown().optional(),
    ]),
  ),
);

function refusedKeys<Key extends string>(keys: readonly Key[], instead: string) {
  return Object.fromEntries(keys.map((key) => [key, refused(instead)])) as Record<
    Key,
    ReturnType<typeof refused>
  >;
}

function ruleShapes() {
  const { FlightFailed, ...others } = RULE_SHAPES;
  return [FlightFailed, ...Object.values(others)] as const;
}

function fullReceiverShape() {
  return receiverShape.extend({
    email_configs: z.array(emailShape).prefault([]),
    webhook_configs: z.array(webhookShape).prefault([]),
    slack_configs: z.array(slackShape).prefault([]),
    msteamsv2_configs: z.array(teamsShape).prefault([]),
    pagerduty_configs: z.array(pagerdutyShape).prefault([]),
    alertmanager_configs: z.array(alertmanagerShape).prefault([]),
  });
}

function fullRouteShape() {
  const node = routeShape.extend({
    get routes() {
      return z.array(node).optional().describe('Children: the first that fits gets the alert.');
    },
  });
  return node;
}
