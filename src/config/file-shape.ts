import * as z from 'zod';
import type { AlertKind } from '../alerts/rule.ts';
import { RULE_DEFAULTS } from '../alerts/rule.ts';
import { formatDuration } from './duration.ts';
import {
  duration,
  durationOrNever,
  groupLabel,
  isRefused,
  labelMap,
  matcherList,
  refused,
  twins,
  words,
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
});

const sharedByRules = {
  match: matcherList.prefault([]).describe('Matchers on labels; the first rule of a kind that fits decides.'),
  severity: words.optional().describe("In place of the kind's own."),
  labels: labelMap.prefault({}).describe('Added to the alert.'),
  annotations: labelMap.prefault({}).describe('Added to the alert.'),
};

const resolveAfter = (kind: AlertKind) => {
  const ms = RULE_DEFAULTS[kind].resolveAfterMs;
  return durationOrNever()
    .prefault(ms === null ? 'never' : formatDuration(ms))
    .describe('Resolved when nothing new came for this long, or never.');
};
const threshold = (kind: AlertKind, what: string) =>
  z.int().min(1).max(100).prefault(RULE_DEFAULTS[kind].threshold).describe(what);
const lasting = (kind: AlertKind) =>
  duration()
    .prefault(formatDuration(RULE_DEFAULTS[kind].forMs))
    .describe('How long it must last before the alert fires.');

/** Each kind has only the parameters that change something for it. */
export const RULE_SHAPES = {
  FlightFailed: z.strictObject({
    kind: z.literal('FlightFailed'),
    ...sharedByRules,
    for_each: z
      .enum(['bird', 'flight', 'error'])
      .prefault(RULE_DEFAULTS.FlightFailed.forEach)
      .describe('One alert per Bird, per Flight, or per Bird and sort of error.'),
    threshold: threshold('FlightFailed', 'Failures within `window`.'),
    window: duration(1000).prefault(formatDuration(RULE_DEFAULTS.FlightFailed.windowMs)),
    resolve_after: resolveAfter('FlightFailed'),
  }),
  BirdDeactivated: z.strictObject({
    kind: z.literal('BirdDeactivated'),
    ...sharedByRules,
  }),
  BirdTriggerFailing: z.strictObject({
    kind: z.literal('BirdTriggerFailing'),
    ...sharedByRules,
    threshold: threshold(
      'BirdTriggerFailing',
      'Failed triggers in a row; at 5 the service deactivates the Bird.',
    ),
    resolve_after: resolveAfter('BirdTriggerFailing'),
  }),
  ConnectionDisconnected: z.strictObject({
    kind: z.literal('ConnectionDisconnected'),
    ...sharedByRules,
    resolve_after: resolveAfter('ConnectionDisconnected'),
  }),
  ServiceNotification: z.strictObject({
    kind: z.literal('ServiceNotification'),
    ...sharedByRules,
    resolve_after: resolveAfter('ServiceNotification'),
  }),
  RegionDown: z.strictObject({
    kind: z.literal('RegionDown'),
    ...sharedByRules,
    for: lasting('RegionDown'),
  }),
  RegionUnauthorized: z.strictObject({
    kind: z.literal('RegionUnauthorized'),
    ...sharedByRules,
    for: lasting('RegionUnauthorized'),
  }),
  FeedBehind: z.strictObject({
    kind: z.literal('FeedBehind'),
    ...sharedByRules,
    for: lasting('FeedBehind'),
  }),
  FeedIncomplete: z.strictObject({
    kind: z.literal('FeedIncomplete'),
    ...sharedByRules,
  }),
} as const satisfies Record<AlertKind, z.ZodType>;

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

const NO_INTEGRATION = 'use `email_configs` or `webhook_configs`';

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
  ...refusedKeys(
    [
      ...['slack_api_url', 'slack_api_url_file', 'slack_app_token', 'slack_app_token_file', 'slack_app_url'],
      ...['pagerduty_url', 'opsgenie_api_url', 'opsgenie_api_key', 'opsgenie_api_key_file', 'wechat_api_url'],
      ...['wechat_api_secret', 'wechat_api_secret_file', 'wechat_api_corp_id', 'victorops_api_url'],
      ...['victorops_api_key', 'victorops_api_key_file', 'telegram_api_url', 'telegram_bot_token'],
      ...['telegram_bot_token_file', 'webex_api_url', 'rocketchat_api_url', 'rocketchat_token'],
      ...['rocketchat_token_file', 'rocketchat_token_id', 'rocketchat_token_id_file', 'jira_api_url'],
      ...['mattermost_webhook_url', 'mattermost_webhook_url_file'],
    ],
    NO_INTEGRATION,
  ),
});

export const emailShape = z.strictObject({
  to: words.describe('One or more addresses, with commas between them.'),
  from: words.optional().describe('In place of `smtp_from`.'),
  smarthost: words.optional().describe('In place of `smtp_smarthost`.'),
  hello: words.optional().describe('In place of `smtp_hello`.'),
  auth_username: words.optional().describe('In place of `smtp_auth_username`.'),
  ...twins('auth_password', 'In place of `smtp_auth_password`.'),
  require_tls: z.boolean().optional().describe('In place of `smtp_require_tls`.'),
  tls_config: tlsShape.optional().describe('In place of `smtp_tls_config`.'),
  send_resolved: z.boolean().prefault(false).describe('Whether the end of an alert is told.'),
  ...refusedKeys(
    ['auth_secret', 'auth_secret_file', 'auth_identity'],
    'use `auth_username` and `auth_password`',
  ),
  force_implicit_tls: refused('use port 465, where TLS comes first'),
  ...refusedKeys(
    ['html', 'text', 'headers', 'threading'],
    'leave it out, mails have one form and are threaded',
  ),
});

export const webhookShape = z.strictObject({
  ...twins('url', 'Where the message is posted.'),
  format: z
    .enum(['alertmanager', 'cloudevents'], {
      error: ({ input }) =>
        input === 'template'
          ? 'template is not supported by this version: use alertmanager or cloudevents'
          : undefined,
    })
    .prefault('alertmanager')
    .describe("alertmanager: Alertmanager's webhook body; cloudevents: the events as a CloudEvents batch."),
  ...twins('secret', 'Signs each message as Standard Webhooks describes.'),
  timeout: duration(100).prefault('10s').describe('For one message.'),
  send_resolved: z.boolean().prefault(true).describe('Whether the end of an alert is told.'),
  max_alerts: z.int().min(0).prefault(0).describe('Alerts in one message at the most; 0: no limit of yours.'),
  http_config: refused('leave it out, a key can stand in `url_file` and `secret` signs the message'),
  payload: refused('use `format`'),
});

export const receiverShape = z.strictObject({
  name: words,
  email_configs: z.array(z.unknown()).prefault([]),
  webhook_configs: z.array(z.unknown()).prefault([]),
  alertmanager_configs: refused('use `webhook_configs` with `format: alertmanager`'),
  ...refusedKeys(
    [
      ...['slack_configs', 'pagerduty_configs', 'msteams_configs', 'msteamsv2_configs', 'opsgenie_configs'],
      ...['discord_configs', 'incidentio_configs', 'jira_configs', 'mattermost_configs', 'pushover_configs'],
      ...['rocketchat_configs', 'sns_configs', 'telegram_configs', 'victorops_configs', 'webex_configs'],
      'wechat_configs',
    ],
    NO_INTEGRATION,
  ),
});

const ALWAYS = 'leave it out, notifications go out at any hour';

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
  routes: z.array(z.unknown()).prefault([]).describe('Children: the first that fits gets the alert.'),
  match: withMatchers('\'name="value"\''),
  match_re: withMatchers('\'name=~"regex"\''),
  mute_time_intervals: refused(ALWAYS),
  active_time_intervals: refused(ALWAYS),
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
  inhibit_rules: refused('leave it out; a route to a receiver without integrations silences what it matches'),
  time_intervals: refused(ALWAYS),
  mute_time_intervals: refused(ALWAYS),
  digests: refused('leave it out; `repeat_interval` reminds of what still fires'),
  heartbeat: refused('let another monitor ask GET /-/ready'),
  templates: refused('leave it out, messages have one form'),
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

function withMatchers(example: string) {
  return z
    .never({ error: `is not supported: write \`matchers: [${example}]\`` })
    .optional()
    .describe('Not supported: write `matchers`.');
}

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
