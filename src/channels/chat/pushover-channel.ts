/** Pushover: a message to the devices of a user or group (https://pushover.net/api). */
import * as z from 'zod';
import { duration, twins, words } from '../../document/value-shape.ts';
import { secret } from '../../secret.ts';
import { urlAt } from '../post-config.ts';
import { chatChannel } from './chat-channel.ts';

const DEFAULT_URL = 'https://api.pushover.net/1/messages.json';
const MAX_URL = 512;

export const pushoverChannel = chatChannel({
  kind: 'pushover',
  about: 'A message under 1024 characters, to the devices of a Pushover user or group.',
  limits: { title: 250, text: 1_000, hasLinksBeside: true },
  titleKey: 'title',
  textKey: 'message',
  sendResolved: true,
  secretKeys: {
    ...twins('token', 'Token of the application. Required.'),
    ...twins('user_key', 'Key of the user or group. Required.'),
  },
  keys: {
    api_url: words.optional().meta({
      preset: DEFAULT_URL,
      description: 'Address to which messages are sent, or of a proxy for it.',
    }),
    priority: z
      .int()
      .min(-2)
      .max(2)
      .prefault(2)
      .describe(
        'Priority of messages about firing alerts; 2 rings until somebody confirms it. Messages about resolved alerts, and digests, have priority 0, or this one if it is lower.',
      ),
    retry: duration(30_000).prefault('1m').describe('With priority 2: how often it rings.'),
    expire: duration(0, 10_800_000).prefault('1h').describe('With priority 2: how long it keeps ringing.'),
    ttl: duration().prefault('0s').describe('When a message is deleted by itself; 0s for never.'),
    device: words.optional().describe('A single device, instead of all.'),
    sound: words.optional().describe("Replaces the user's own sound."),
  },
  looks: ['url', 'url_title', 'html', 'monospace'],
  endpoint: (check) => (path) => {
    const keys = ['token', 'user_key'].map((key) => check.secret(path, key, { isRequired: true }));
    const url = urlAt(check, [...path, 'api_url']) ?? DEFAULT_URL;
    const given = keys.filter((key) => key !== null);
    return given.length === 2 ? { url: secret(url), keys: given } : undefined;
  },
  request({ keys }, { title, text, links, isFiring }, { priority, retry, expire, ttl, device, sound }) {
    const [token = '', user = ''] = keys.map((key) => key.reveal());
    const link = links.find(({ url }) => url.length <= MAX_URL);
    const urgency = isFiring ? priority : Math.min(priority, 0);
    return {
      body: {
        token,
        user,
        title,
        // Pushover refuses an empty message.
        message: text || title,
        priority: urgency,
        ...(urgency === 2 && { retry: Math.ceil(retry / 1_000), expire: Math.ceil(expire / 1_000) }),
        ...(ttl > 0 && { ttl: Math.ceil(ttl / 1_000) }),
        ...(link && { url: link.url, url_title: link.text }),
        ...(device && { device }),
        ...(sound && { sound }),
      },
    };
  },
});
