/** Mattermost: an attachment for an incoming webhook (https://developers.mattermost.com/integrate/webhooks/incoming/). */
import * as z from 'zod';
import { twins, words } from '../../document/value-shape.ts';
import { mistakeInUrl } from '../../http/web-address.ts';
import type { Tone } from '../message/alert-clusters.ts';
import { chatMarkdown, unlinked } from '../message/chat-message.ts';
import { sharedSecret } from '../post-config.ts';
import { chatChannel } from './chat-channel.ts';

const COLOURS: Readonly<Record<Tone, string>> = {
  critical: '#d92d20',
  warning: '#f79009',
  resolved: '#12b76a',
  neutral: '#667085',
};

const priorityShape = z
  .strictObject({
    priority: z.enum(['standard', 'important', 'urgent']).describe('How the message is marked.'),
    requested_ack: z.boolean().prefault(false).describe('Asks readers to confirm it.'),
    persistent_notifications: z
      .boolean()
      .prefault(false)
      .describe('Notifies mentioned people again and again; only with `urgent`.'),
  })
  .describe('Marks the message with a priority.');

export const mattermostChannel = chatChannel({
  kind: 'mattermost',
  about: 'An attachment, for a Mattermost incoming webhook. Nothing in it mentions anybody.',
  limits: { title: 300, text: 8_000 },
  titleKey: 'title',
  textKey: 'text',
  sendResolved: true,
  secretKeys: twins('webhook_url', 'An incoming webhook. Overrides `mattermost_webhook_url`.'),
  keys: {
    channel: words.optional().describe("Replaces the webhook's own."),
    username: words.optional().describe("Replaces the webhook's own name."),
    icon_url: words.optional().describe("Address of an image that replaces the webhook's own."),
    icon_emoji: words.optional().describe("For example `:bell:`. Replaces the webhook's own image."),
    priority: priorityShape.optional(),
  },
  looks: [
    ...['fallback', 'color', 'pretext', 'author_name', 'author_link', 'author_icon', 'title_link', 'fields'],
    ...['thumb_url', 'footer', 'footer_icon', 'image_url', 'attachments', 'type', 'props'],
  ],
  globalShape: twins('mattermost_webhook_url', 'Default webhook for `mattermost_configs`.'),
  endpoint(check) {
    const webhook = sharedSecret(check, 'webhook_url', 'mattermost_webhook_url', mistakeInUrl);
    return (path) => {
      const url = webhook(path);
      return url && { url, keys: [] };
    };
  },
  request: (_, message, { channel, username, icon_url, icon_emoji, priority }) => ({
    body: {
      ...(channel && { channel }),
      ...(username && { username }),
      ...(icon_url && { icon_url }),
      ...(icon_emoji && { icon_emoji }),
      ...(priority && { priority }),
      attachments: [
        {
          fallback: unlinked(message.title),
          color: COLOURS[message.tone],
          title: unlinked(message.title),
          text: chatMarkdown(message),
        },
      ],
    },
  }),
});
