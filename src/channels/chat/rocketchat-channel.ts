/** Rocket.Chat: an attachment by its REST API (https://developer.rocket.chat/apidocs/post-message). */
import { twins, words } from '../../document/value-shape.ts';
import { secret } from '../../secret.ts';
import type { Outcome } from '../channel.ts';
import type { Tone } from '../message/alert-clusters.ts';
import { chatMarkdown, unlinked } from '../message/chat-message.ts';
import { objectIn } from '../post-channel.ts';
import { below, refuseCredentials, sharedSecret, urlAt } from '../post-config.ts';
import { chatChannel } from './chat-channel.ts';

const DEFAULT_URL = 'https://open.rocket.chat/';

const COLOURS: Readonly<Record<Tone, string>> = {
  critical: '#d92d20',
  warning: '#f79009',
  resolved: '#12b76a',
  neutral: '#667085',
};

export const rocketchatChannel = chatChannel({
  kind: 'rocketchat',
  about: "An attachment, sent through Rocket.Chat's REST API. Nothing in it mentions anybody.",
  limits: { title: 1_024, text: 4_500 },
  titleKey: 'title',
  textKey: 'text',
  sendResolved: false,
  secretKeys: {
    ...twins('token', 'Access token of a user. Overrides `rocketchat_token`.'),
    ...twins('token_id', 'Id of that user. Overrides `rocketchat_token_id`.'),
  },
  keys: {
    api_url: words.optional().describe('Overrides `rocketchat_api_url`.'),
    channel: words.optional().describe('The channel, such as `#ops`, or a user, such as `@anna`. Required.'),
    emoji: words.optional().describe("For example `:bell:`. Replaces the user's own image."),
    icon_url: words.optional().describe("Address of an image that replaces the user's own."),
  },
  looks: ['color', 'title_link', 'fields', 'short_fields', 'image_url', 'thumb_url', 'link_names', 'actions'],
  globalShape: {
    rocketchat_api_url: words
      .optional()
      .meta({ preset: DEFAULT_URL, description: 'Address of Rocket.Chat.' }),
    ...twins('rocketchat_token', 'Default token for `rocketchat_configs`.'),
    ...twins('rocketchat_token_id', 'Default user id for `rocketchat_configs`.'),
  },
  endpoint(check) {
    const shared = urlAt(check, ['global', 'rocketchat_api_url']) ?? DEFAULT_URL;
    const token = sharedSecret(check, 'token', 'rocketchat_token');
    const user = sharedSecret(check, 'token_id', 'rocketchat_token_id');
    return (path, http) => {
      const url = urlAt(check, [...path, 'api_url']) ?? shared;
      const keys = [token(path), user(path)].filter((one) => one !== undefined);
      refuseCredentials(check, path, 'token', http);
      if (check.raw([...path, 'channel']) === undefined) {
        check.problem([...path, 'channel'], 'is missing: say which channel or user it is for');
      }
      return keys.length === 2 ? { url: secret(below(url, 'api/v1/chat.postMessage')), keys } : undefined;
    };
  },
  request({ keys }, message, { channel, emoji, icon_url }) {
    const [token = '', user = ''] = keys.map((key) => key.reveal());
    return {
      headers: { 'x-auth-token': token, 'x-user-id': user },
      body: {
        channel,
        ...(emoji && { emoji }),
        ...(icon_url && { avatar: icon_url }),
        attachments: [
          { title: unlinked(message.title), text: chatMarkdown(message), color: COLOURS[message.tone] },
        ],
      },
    };
  },
  judge: judgeAnswer,
});

/** Rocket.Chat may refuse a message with status 200: `{"success": false, "error": "…"}`. */
function judgeAnswer(body: string): Outcome {
  const { success, error } = objectIn(body);
  if (success === true) return { kind: 'accepted' };
  const said = typeof error === 'string' ? error : body;
  return { kind: 'refused', reason: 'rejected', error: `Rocket.Chat says: ${said}` };
}
