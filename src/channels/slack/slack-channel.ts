import * as z from 'zod';
import { type Check, givenKey, isGiven } from '../../document/check.ts';
import { type HttpReader, httpReader } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate, refuseTemplates, template } from '../../document/read-template.ts';
import { keysWithoutEffect, twins, words } from '../../document/value-shape.ts';
import type { HttpSettings } from '../../http/http-settings.ts';
import { mistakeInUrl } from '../../http/web-address.ts';
import { type Secret, secret } from '../../secret.ts';
import type { Template } from '../../templates/liquid.ts';
import type { Channel } from '../channel.ts';
import type { Readable } from '../message/digest-view.ts';
import { renderTexts } from '../message/render-texts.ts';
import { openSender, type PostIntegration, postChannel } from '../post-channel.ts';
import { postKeys, type ReaderZone, timezoneKey, urlAt } from '../post-config.ts';
import type { Integration } from '../receiver.ts';
import { judgeWebhook, type SlackApp, sendAsApp } from './slack-app.ts';
import { slackBody } from './slack-body.ts';
import type { SlackButtons } from './slack-buttons.ts';

export interface SlackIntegration extends PostIntegration, ReaderZone {
  readonly kind: 'slack';
  /** The incoming webhook, or with `app` the method that posts. */
  readonly url: Secret;
  /** Absent for an incoming webhook. */
  readonly app?: SlackApp;
  /** Absent if messages only link to the page. */
  readonly buttons?: SlackButtons;
  /** Empty to use what the webhook is set up with; so are the next three. */
  readonly channel: string;
  readonly username: string;
  readonly iconEmoji: string;
  readonly iconUrl: string;
  readonly title?: Template;
  readonly text?: Template;
}

/** Whether it has buttons that act. */
export function hasButtons(one: Integration): one is SlackIntegration & { readonly buttons: SlackButtons } {
  return one.kind === 'slack' && (one as SlackIntegration).buttons !== undefined;
}

const POST_METHOD = 'chat.postMessage';
const DEFAULT_APP_URL = `https://slack.com/api/${POST_METHOD}`;

const slackShape = z
  .strictObject({
    ...twins('api_url', 'An incoming webhook. Overrides `slack_api_url`.'),
    channel: words.optional().describe("Replaces the webhook's own; only legacy webhooks allow it."),
    username: words.optional().describe("Replaces the webhook's own; only legacy webhooks allow it."),
    icon_emoji: words
      .optional()
      .describe("For example `:bell:`. Replaces the webhook's own; only legacy webhooks allow it."),
    icon_url: words
      .optional()
      .describe("Address of an image that replaces the webhook's own; only legacy webhooks allow it."),
    title: template('of the headline'),
    text: template('of the text (mrkdwn)'),
    ...timezoneKey,
    ...postKeys(false),
    ...twins(
      'app_token',
      "A Slack app's token (`xoxb-…`, scope `chat:write`), instead of `api_url`. `channel` says where it posts.",
    ),
    app_url: words.optional().describe('Overrides `slack_app_url`.'),
    update_message: z
      .boolean()
      .prefault(false)
      .describe(
        'With `app_token`: posts one message per group and updates it on every change; each change is also posted in its thread.',
      ),
    ...twins(
      'signing_secret',
      "The app's signing secret, with `app_token`: messages get [buttons that act](#buttons-in-slack).",
    ),
    team_id: words
      .optional()
      .describe('With `signing_secret`: the workspace (`T…`) whose members may press. Required.'),
    scopes: z
      .array(z.enum(['write', 'fly']))
      .min(1)
      .prefault(['write'])
      .describe(
        'With `signing_secret`: what people in the channel may do: `write` to acknowledge and silence, `fly` to start Birds again where `regions.<name>.fly` allows it.',
      ),
    ...keysWithoutEffect(
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
  .describe('Blocks, for an incoming webhook or a Slack app.');

const globalShape = {
  ...twins('slack_api_url', 'Default incoming webhook for `slack_configs`.'),
  ...twins('slack_app_token', 'Default token for `slack_configs` with neither `app_token` nor `api_url`.'),
  slack_app_url: words.optional().meta({
    preset: DEFAULT_APP_URL,
    description: 'Address of the API method that posts messages, or of a proxy for it.',
  }),
};

const webhooks = postChannel<SlackIntegration>({
  kind: 'slack',
  audience: 'people',
  // Slack takes about one message a second.
  pace: { inFlight: 2, claimed: 8 },
  shape: slackShape,
  globalShape,
  reader(check) {
    const shared = readShared(check);
    return (path) => readSlack(check, path, shared);
  },
  judge: judgeWebhook,
  async request(integration, notification, externalUrl) {
    const { body, templateError } = await messageOf(integration, notification, externalUrl);
    return { url: integration.url.reveal(), body, templateError };
  },
});

export const slackChannel: Channel<SlackIntegration> = {
  ...webhooks,
  open(options) {
    const own = webhooks.open(options);
    const sender = openSender(options);
    return {
      ...own,
      async send(integration, attempt, notification, externalUrl) {
        if (!integration.app || notification.kind === 'forward') {
          return own.send(integration, attempt, notification, externalUrl);
        }
        const { body, templateError } = await messageOf(integration, notification, externalUrl);
        const outcome = await sendAsApp(
          sender,
          { ...integration, app: integration.app },
          attempt,
          notification,
          body,
        );
        return outcome.kind === 'accepted' && templateError ? { ...outcome, templateError } : outcome;
      },
      answer: (integration, url, message) =>
        sender.post({
          ...{ url, contentType: 'application/json; charset=utf-8', body: JSON.stringify(message) },
          ...{ integration, judge: judgeWebhook },
        }),
      async close() {
        await Promise.all([own.close(), sender.close()]);
      },
    };
  },
};

async function messageOf(integration: SlackIntegration, notification: Readable, externalUrl: string) {
  const { title, text, timezone, buttons, channel } = integration;
  const { texts, notes, error } = renderTexts({ title, text }, notification, externalUrl);
  const values =
    buttons && notification.kind === 'group'
      ? (await import('./slack-buttons.ts')).buttonValues(buttons, channel, notification)
      : undefined;
  const body = slackBody(notification, externalUrl, integration, texts, notes, timezone, values);
  return { body, templateError: error };
}

interface Shared {
  readonly apiUrl: Secret | null;
  readonly appToken: Secret | null;
  readonly appUrl: string;
  readonly http: HttpReader;
}

function readShared(check: Check): Shared {
  const apiUrl = check.secret(['global'], 'slack_api_url', { mistake: mistakeInUrl });
  const appToken = check.secret(['global'], 'slack_app_token', {});
  const appUrl = urlAt(check, ['global', 'slack_app_url']) ?? DEFAULT_APP_URL;
  // Before there were apps, people gave the app's method as `slack_api_url`. That says the same twice, and excludes
  // nothing.
  const isTwoWays =
    isGiven(check, ['global'], 'slack_api_url') &&
    isGiven(check, ['global'], 'slack_app_token') &&
    check.raw(['global', 'slack_api_url']) !== appUrl;
  if (isTwoWays) {
    check.problem(['global', 'slack_app_token'], 'excludes `slack_api_url`: choose one');
  }
  return { apiUrl, appToken, appUrl, http: httpReader(check) };
}

function readSlack(check: Check, path: Path, shared: Shared): SlackIntegration | undefined {
  refuseTemplates(check, path, slackShape, ['title', 'text']);
  const title = readTemplate(check, [...path, 'title'], 'text');
  const text = readTemplate(check, [...path, 'text'], 'slack');
  const http = shared.http(path);
  const endpoint = readEndpoint(check, path, shared, http);
  const slack = check.read(slackShape, path);
  if (!slack || !endpoint) return undefined;
  if (endpoint.app && http?.credentials) {
    check.problem(
      [...path, 'app_token'],
      'is used to log in to Slack: remove the credentials from `http_config`',
    );
  }
  const buttons = readButtons(check, path, slack, endpoint.app !== undefined);
  return {
    kind: 'slack',
    ...endpoint,
    ...(buttons && { buttons }),
    channel: slack.channel ?? '',
    username: slack.username ?? '',
    iconEmoji: slack.icon_emoji ?? '',
    iconUrl: slack.icon_url ?? '',
    ...(title && { title }),
    ...(text && { text }),
    timeoutMs: slack.timeout,
    ...(http && { http }),
    sendResolved: slack.send_resolved,
    ...(slack.timezone !== undefined && { timezone: slack.timezone }),
  };
}

function readButtons(
  check: Check,
  path: Path,
  { channel = '', team_id: teamId = '', scopes }: z.output<typeof slackShape>,
  isApp: boolean,
): SlackButtons | undefined {
  const signingSecret = check.secret(path, 'signing_secret', {});
  if (!isGiven(check, path, 'signing_secret')) {
    for (const key of ['team_id', 'scopes']) {
      if (check.raw([...path, key]) !== undefined) check.problem([...path, key], 'requires `signing_secret`');
    }
    return undefined;
  }
  const key = givenKey(check, path, 'signing_secret');
  if (!isApp) check.problem(key, 'requires `app_token`: only the messages of an app have buttons that act');
  // Slack names a channel by its id when somebody presses.
  if (!/^[CDG][A-Z0-9]+$/.test(channel))
    check.problem([...path, 'channel'], "must be the channel's id (`C…`) with `signing_secret`");
  if (!/^T[A-Z0-9]+$/.test(teamId))
    check.problem([...path, 'team_id'], 'must be the id of the workspace (`T…`)');
  if (check.raw(['web', 'external_url']) === undefined)
    check.problem(key, 'requires `web.external_url`: Slack sends what people press there');
  return signingSecret ? { signingSecret, teamId, scopes: new Set(scopes) } : undefined;
}

/** Reads where messages go: to an incoming webhook or an app. The entry's own has precedence over that of `global`. */
function readEndpoint(
  check: Check,
  path: Path,
  shared: Shared,
  http: HttpSettings | undefined,
): Pick<SlackIntegration, 'url' | 'app'> | undefined {
  const apiUrl = check.secret(path, 'api_url', { mistake: mistakeInUrl });
  const appToken = check.secret(path, 'app_token', {});
  const hasUrl = isGiven(check, path, 'api_url');
  const hasToken = isGiven(check, path, 'app_token');
  if (hasUrl && hasToken) {
    check.problem([...path, 'app_token'], 'excludes `api_url`: choose one');
    return undefined;
  }
  const isApp = hasToken || (!hasUrl && isGiven(check, ['global'], 'slack_app_token'));
  // Its own credentials replace the token of `global`: the method is then posted to like a webhook.
  if (isApp && !hasToken && http?.credentials) return { url: secret(shared.appUrl) };
  if (isApp) return readApp(check, path, appToken ?? shared.appToken, shared.appUrl);
  for (const key of ['update_message', 'app_url']) {
    const value = check.plain([...path, key]);
    if (value !== undefined && value !== false) {
      check.problem([...path, key], 'requires `app_token`: an incoming webhook cannot update messages');
    }
  }
  if (!hasUrl && !isGiven(check, ['global'], 'slack_api_url')) {
    check.problem(
      [...path, 'api_url'],
      'is missing: set it or `global.slack_api_url` to an incoming webhook, or `app_token`',
    );
  }
  const url = apiUrl ?? shared.apiUrl;
  return url ? { url } : undefined;
}

function readApp(
  check: Check,
  path: Path,
  token: Secret | null,
  sharedUrl: string,
): Pick<SlackIntegration, 'url' | 'app'> | undefined {
  if (check.raw([...path, 'channel']) === undefined) {
    check.problem([...path, 'channel'], 'is missing: say which channel the app posts to');
  }
  const url = urlAt(check, [...path, 'app_url']) ?? sharedUrl;
  const updatesMessage = check.plain([...path, 'update_message']) === true;
  if (updatesMessage && !url.endsWith(`/${POST_METHOD}`)) {
    check.problem([...path, 'update_message'], `needs an address that ends in /${POST_METHOD}`);
  }
  if (!token) return undefined;
  const updateUrl = url.replace(/[^/]*$/, 'chat.update');
  return { url: secret(url), app: { token, updateUrl: secret(updateUrl), updatesMessage } };
}
