/**
 * Telegram: a bot's `sendMessage` (https://core.telegram.org/bots/api#sendmessage). The text is plain; entities make
 * the headline bold, the rest preformatted, and addresses links.
 */
import * as z from 'zod';
import { refused, twins, words } from '../../document/value-shape.ts';
import { secret } from '../../secret.ts';
import type { ChatMessage } from '../message/chat-message.ts';
import { below, refuseCredentials, sharedSecret, urlAt } from '../post-config.ts';
import { chatChannel } from './chat-channel.ts';

const DEFAULT_URL = 'https://api.telegram.org';

export const telegramChannel = chatChannel({
  kind: 'telegram',
  about: 'A message under 4096 characters, sent by a Telegram bot. Nothing in it mentions anybody.',
  limits: { title: 300, text: 3_700 },
  textKey: 'message',
  sendResolved: true,
  secretKeys: twins('bot_token', 'Token of the bot, from @BotFather. Overrides `telegram_bot_token`.'),
  keys: {
    api_url: words.optional().describe('Overrides `telegram_api_url`.'),
    chat_id: z
      .union([z.int(), z.string().regex(/^(?:-?\d{1,17}|@\w{4,})$/)], {
        error:
          'must be the id of a chat, such as -1001234567890, or the name of a public one, such as @watch',
      })
      .optional()
      .describe('The chat, group or channel. Required.'),
    message_thread_id: z.int().min(1).optional().describe('The topic within the group.'),
    disable_notifications: z.boolean().prefault(false).describe('Sends messages without a sound.'),
    chat_id_file: refused('use `chat_id`, which is not a secret'),
  },
  looks: ['parse_mode'],
  globalShape: {
    telegram_api_url: words
      .optional()
      .meta({ preset: DEFAULT_URL, description: "Address of Telegram's Bot API." }),
    ...twins('telegram_bot_token', 'Default token for `telegram_configs`.'),
  },
  endpoint(check) {
    const shared = urlAt(check, ['global', 'telegram_api_url']) ?? DEFAULT_URL;
    const token = sharedSecret(check, 'bot_token', 'telegram_bot_token', mistakeInToken);
    return (path, http) => {
      const url = urlAt(check, [...path, 'api_url']) ?? shared;
      const key = token(path);
      refuseCredentials(check, path, 'bot_token', http);
      const [chat, file] = ['chat_id', 'chat_id_file'].map((name) => check.raw([...path, name]));
      if (chat === undefined && file === undefined) {
        check.problem([...path, 'chat_id'], 'is missing: say which chat it is for');
      }
      return key && { url: secret(url), keys: [key] };
    };
  },
  retryAfter: (body) => (body as { parameters: { retry_after: unknown } }).parameters.retry_after,
  request({ url, keys }, message, { chat_id, message_thread_id, disable_notifications }) {
    const token = keys[0]!.reveal();
    return {
      url: below(url.reveal(), `bot${token}/sendMessage`),
      body: {
        chat_id,
        ...(message_thread_id !== undefined && { message_thread_id }),
        ...textOf(message),
        link_preview_options: { is_disabled: true },
        disable_notification: disable_notifications,
      },
    };
  },
});

interface Entity {
  readonly type: 'bold' | 'pre' | 'text_link';
  /** In UTF-16 units, as Telegram counts. */
  readonly offset: number;
  readonly length: number;
  readonly url?: string;
}

function textOf({ title, text, links }: ChatMessage): { readonly text: string; readonly entities: Entity[] } {
  let whole = '';
  const entities: Entity[] = [];
  const add = (part: string, entity: Pick<Entity, 'type' | 'url'>) => {
    entities.push({ ...entity, offset: whole.length, length: part.length });
    whole += part;
  };
  add(title, { type: 'bold' });
  if (text !== '') {
    whole += '\n';
    add(text, { type: 'pre' });
  }
  links.forEach((link, index) => {
    whole += index === 0 ? '\n' : ' · ';
    add(link.text, { type: 'text_link', url: link.url });
  });
  return { text: whole, entities };
}

/** The token becomes part of the address. */
function mistakeInToken(text: string): string | undefined {
  return /^[\w:.~-]+$/.test(text) ? undefined : 'is not the token of a bot, such as 123456789:AAE…';
}
