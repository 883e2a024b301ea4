import * as z from 'zod';
import { type Check, isGiven } from '../../document/check.ts';
import { type HttpReader, httpReader } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate, template } from '../../document/read-template.ts';
import { refuseTemplates } from '../../document/refuse-templates.ts';
import { refusedKeys } from '../../document/refused-key.ts';
import { twins, words } from '../../document/value-shape.ts';
import { mistakeInUrl } from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';
import type { Template } from '../../templates/liquid.ts';
import { filled } from '../message/filled.ts';
import { type PostIntegration, postChannel } from '../post-channel.ts';
import { postKeys } from '../post-config.ts';
import { slackBody } from './slack-body.ts';

export interface SlackIntegration extends PostIntegration {
  readonly kind: 'slack';
  /** An incoming webhook. */
  readonly url: Secret;
  /** Empty for what the webhook itself says; so are the next three. */
  readonly channel: string;
  readonly username: string;
  readonly iconEmoji: string;
  readonly iconUrl: string;
  readonly title?: Template;
  readonly text?: Template;
}

const slackShape = z
  .strictObject({
    ...twins('api_url', 'An incoming webhook, in place of `slack_api_url`.'),
    channel: words.optional().describe("In place of the webhook's own; only old webhooks allow it."),
    username: words.optional().describe("In place of the webhook's own; only old webhooks allow it."),
    icon_emoji: words
      .optional()
      .describe("Such as `:bell:`, in place of the webhook's own; only old webhooks allow it."),
    icon_url: words
      .optional()
      .describe("Address of an image, in place of the webhook's own; only old webhooks allow it."),
    title: template('of the headline'),
    text: template('of the text (mrkdwn)'),
    ...postKeys(false),
    ...refusedKeys(
      ['app_token', 'app_token_file', 'app_url', 'update_message'],
      'use `api_url` with an incoming webhook',
    ),
    ...refusedKeys(
      [
        ...['color', 'pretext', 'title_link', 'fallback', 'fields', 'actions', 'short_fields', 'footer'],
        ...[
          'callback_id',
          'image_url',
          'thumb_url',
          'mrkdwn_in',
          'link_names',
          'message_text',
          'attachments',
        ],
      ],
      'leave it out, the message is built in; `title` and `text` change it',
    ),
  })
  .describe('Blocks, for an incoming webhook.');

const globalShape = {
  ...twins('slack_api_url', 'Incoming webhook of every `slack_configs` that has none itself.'),
  ...refusedKeys(
    ['slack_app_token', 'slack_app_token_file', 'slack_app_url'],
    'use `slack_api_url` with an incoming webhook',
  ),
};

export const slackChannel = postChannel<SlackIntegration>({
  kind: 'slack',
  audience: 'people',
  // Slack takes about one message a second.
  pace: { inFlight: 2, claimed: 8 },
  shape: slackShape,
  globalShape,
  reader(check) {
    const shared = check.secret(['global'], 'slack_api_url', { mistake: mistakeInUrl });
    const http = httpReader(check);
    return (path) => readSlack(check, path, http, shared);
  },
  request(integration, notification, externalUrl) {
    const { url, title, text } = integration;
    const { texts, notes, error } = filled({ title, text }, notification, externalUrl);
    const body = slackBody(notification, externalUrl, integration, texts, notes);
    return { url: url.reveal(), body, templateError: error };
  },
});

function readSlack(
  check: Check,
  path: Path,
  readHttp: HttpReader,
  shared: Secret | null,
): SlackIntegration | undefined {
  refuseTemplates(check, path, slackShape, ['title', 'text']);
  const own = check.secret(path, 'api_url', { mistake: mistakeInUrl });
  if (!isGiven(check, path, 'api_url') && !isGiven(check, ['global'], 'slack_api_url')) {
    check.problem(
      [...path, 'api_url'],
      'is missing: set it or `global.slack_api_url` to an incoming webhook',
    );
  }
  const title = readTemplate(check, [...path, 'title'], 'text');
  const text = readTemplate(check, [...path, 'text'], 'slack');
  const http = readHttp(path);
  const slack = check.read(slackShape, path);
  const url = own ?? shared;
  if (!slack || !url) return undefined;
  return {
    kind: 'slack',
    url,
    channel: slack.channel ?? '',
    username: slack.username ?? '',
    iconEmoji: slack.icon_emoji ?? '',
    iconUrl: slack.icon_url ?? '',
    ...(title && { title }),
    ...(text && { text }),
    timeoutMs: slack.timeout,
    ...(http && { http }),
    sendResolved: slack.send_resolved,
  };
}
