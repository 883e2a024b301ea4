import * as z from 'zod';
import { refused, refusedKeys } from '../document/refused-key.ts';
import { twins, words } from '../values/value-shape.ts';
import { NO_INTEGRATION, tlsShape } from './receiver-shape.ts';

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
