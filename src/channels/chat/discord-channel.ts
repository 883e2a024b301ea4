/** Discord: an embed for a channel's webhook. Limits: https://discord.com/developers/docs/resources/message. */
import { twins, words } from '../../document/value-shape.ts';
import { mistakeInUrl } from '../../http/web-address.ts';
import type { Tone } from '../message/alert-clusters.ts';
import { chatMarkdown, unlinked } from '../message/chat-message.ts';
import { chatChannel } from './chat-channel.ts';

const COLOURS: Readonly<Record<Tone, number>> = {
  critical: 0xd92d20,
  warning: 0xf79009,
  resolved: 0x12b76a,
  neutral: 0x667085,
};

export const discordChannel = chatChannel({
  kind: 'discord',
  about:
    "An embed under 4096 characters, for a Discord channel's webhook. Nothing in it mentions anybody, except `content`.",
  limits: { title: 256, text: 4_000 },
  titleKey: 'title',
  textKey: 'message',
  sendResolved: true,
  secretKeys: twins('webhook_url', "A channel's webhook, from its settings under Integrations. Required."),
  keys: {
    content: words
      .max(2_000)
      .optional()
      .describe(
        'Your own text above the message. It may mention people, such as `<@&1234567890>`, who are notified when something fires newly.',
      ),
    username: words.max(80).optional().describe("Replaces the webhook's own name."),
    avatar_url: words.optional().describe("Address of an image that replaces the webhook's own."),
  },
  endpoint: (check) => (path) => {
    const url = check.secret(path, 'webhook_url', { isRequired: true, mistake: mistakeInUrl });
    return url ? { url, keys: [] } : undefined;
  },
  request: (_, message, { content, username, avatar_url }) => ({
    body: {
      ...(content && { content }),
      ...(username && { username }),
      ...(avatar_url && { avatar_url }),
      // Only the text above the embed can mention anybody, and only this makes Discord notify them.
      allowed_mentions: { parse: content && message.firesNewly ? ['everyone', 'roles', 'users'] : [] },
      embeds: [
        {
          title: unlinked(message.title),
          description: chatMarkdown(message),
          color: COLOURS[message.tone],
        },
      ],
    },
  }),
});
