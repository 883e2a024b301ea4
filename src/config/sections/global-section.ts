import * as z from 'zod';
import { CHANNELS } from '../../channels/registry.ts';
import { httpShape } from '../../document/http-config.ts';
import { refusedKeys, withoutEffect } from '../../document/refused-key.ts';
import { duration } from '../../document/value-shape.ts';

/** What to use instead of a service for which nestwatch has no channel. */
export const NO_INTEGRATION = 'use `webhook_configs` with `format: template`, or another channel';

export const OPSGENIE_ENDS =
  'Opsgenie ends on 5 April 2027; use `pagerduty_configs`, or `webhook_configs` with `format: template` for Jira Service Management';

const OF_CHANNELS: z.ZodRawShape = Object.assign({}, ...CHANNELS.map((channel) => channel.globalShape));

/** Settings that the integrations of a channel share. */
export const globalShape = z.strictObject({
  ...OF_CHANNELS,
  resolve_timeout: withoutEffect(duration(), 'alerts resolve by their rules (`resolve_after`)'),
  http_config: httpShape.optional(),
  ...refusedKeys(['opsgenie_api_url', 'opsgenie_api_key', 'opsgenie_api_key_file'], OPSGENIE_ENDS),
  ...refusedKeys(
    ['wechat_api_url', 'wechat_api_secret', 'wechat_api_secret_file', 'wechat_api_corp_id', 'jira_api_url'],
    NO_INTEGRATION,
  ),
});
