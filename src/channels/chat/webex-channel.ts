/** Webex: a bot's message in a room (https://developer.webex.com/docs/api/v1/messages/create-a-message). */
import { words } from '../../document/value-shape.ts';
import { secret } from '../../secret.ts';
import { chatMarkdown, unlinked } from '../message/chat-message.ts';
import { urlAt } from '../post-config.ts';
import { chatChannel } from './chat-channel.ts';

const DEFAULT_URL = 'https://webexapis.com/v1/messages';

export const webexChannel = chatChannel({
  kind: 'webex',
  about:
    'A message under 7439 bytes, sent by a Webex bot. Set its token in `authorization` of `http_config`. Nothing in it mentions anybody.',
  // One UTF-16 unit takes three bytes at most.
  limits: { title: 300, text: 2_000 },
  textKey: 'message',
  sendResolved: true,
  secretKeys: {},
  keys: {
    api_url: words.optional().describe('Overrides `webex_api_url`.'),
    room_id: words.describe('The room that the bot is in.'),
  },
  globalShape: {
    webex_api_url: words
      .optional()
      .meta({ preset: DEFAULT_URL, description: 'Address to which messages for Webex are sent.' }),
  },
  endpoint(check) {
    const shared = urlAt(check, ['global', 'webex_api_url']) ?? DEFAULT_URL;
    return (path, http) => {
      const url = urlAt(check, [...path, 'api_url']) ?? shared;
      if (!http?.credentials) {
        check.problem(
          [...path, 'http_config'],
          "is missing the bot's token: write `http_config: { authorization: { credentials_file: … } }`",
        );
      }
      return { url: secret(url), keys: [] };
    };
  },
  request: (_, message, { room_id }) => ({
    body: { roomId: room_id, markdown: `**${bold(unlinked(message.title))}**\n${chatMarkdown(message)}` },
  }),
});

/** Bold Markdown; marks of Markdown within the title stay text. */
function bold(title: string): string {
  return title.replace(/[\\*_[\]#~|]/g, (mark) => `\\${mark}`);
}
