import * as z from 'zod';
import { isRefused, refused, refusedKeys } from '../document/refused-key.ts';
import { duration, twins, words } from '../values/value-shape.ts';
import { inhibitRuleShape, namedTimeIntervalShape } from './muting-shape.ts';
import { NO_INTEGRATION, tlsShape, wholeReceiverShape } from './receiver-shape.ts';
import { forwardShape, wholeRouteShape } from './route-shape.ts';
import { RULE_SHAPES } from './rule-shape.ts';

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

export const digestShape = z.strictObject({
  name: words.describe('Stands in the subject; the period begins where the last digest of this name ended.'),
  cron: words.describe('When: minute, hour, day of month, month, day of week, such as "0 8 * * 1-5".'),
  timezone: words.prefault('UTC').describe('Whose clock that is, such as Europe/Amsterdam.'),
  receiver: words.describe('Mails, Slack, Teams and webhooks of it are told.'),
  skip_empty: z.boolean().prefault(false).describe('Whether nothing is sent when nothing happened.'),
});

export const heartbeatShape = z.strictObject({
  ...twins('url', 'Asked with GET while every region is fresh and a receiver works.'),
  interval: duration(1000).prefault('1m').describe('How often.'),
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
  enable_lifecycle: z
    .boolean()
    .prefault(false)
    .describe('Whether POST /-/reload may be asked; this version answers that it needs a restart.'),
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
  route: wholeRouteShape.optional(),
  receivers: z.array(wholeReceiverShape).optional(),
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
  digests: z.array(digestShape).optional().describe('Summaries of a day or a week.'),
  heartbeat: heartbeatShape.optional().describe('Tells an outside watchdog that all is well here.'),
  templates: refused('write Liquid in `title`, `text`, `html` or `headers` of a receiver'),
  tracing: refused('leave it out'),
  event_recorder: refused('use `forward`: it tells every event once'),
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

function ruleShapes() {
  const { FlightFailed, ...others } = RULE_SHAPES;
  return [FlightFailed, ...Object.values(others)] as const;
}
