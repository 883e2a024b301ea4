import * as z from 'zod';
import { CHANNELS } from '../../channels/registry.ts';
import { httpShape } from '../../document/http-config.ts';
import { refusedKeys, withoutEffect } from '../../document/refused-key.ts';
import { duration } from '../../document/value-shape.ts';

/** What to use instead of a service for which nestwatch has no channel. */
export const NO_INTEGRATION = 'use `webhook_configs` with `format: template`, or another channel';

const OF_CHANNELS: z.ZodRawShape = Object.assign({}, ...CHANNELS.map((channel) => channel.globalShape));

/** Settings that the integrations of a channel share. */
export const globalShape = z.strictObject({
  ...OF_CHANNELS,
  resolve_timeout: withoutEffect(duration(), 'alerts resolve by their rules (`resolve_after`)'),
  http_config: httpShape.optional(),
  ...refusedKeys(
    [
      ...['opsgenie_api_url', 'opsgenie_api_key', 'opsgenie_api_key_file', 'wechat_api_url'],
      ...['wechat_api_secret', 'wechat_api_secret_file', 'wechat_api_corp_id', 'victorops_api_url'],
      ...['victorops_api_key', 'victorops_api_key_file', 'telegram_api_url', 'telegram_bot_token'],
      ...['telegram_bot_token_file', 'webex_api_url', 'rocketchat_api_url', 'rocketchat_token'],
      ...['rocketchat_token_file', 'rocketchat_token_id', 'rocketchat_token_id_file', 'jira_api_url'],
      ...['mattermost_webhook_url', 'mattermost_webhook_url_file'],
    ].filter((key) => !Object.hasOwn(OF_CHANNELS, key)),
    NO_INTEGRATION,
  ),
});
