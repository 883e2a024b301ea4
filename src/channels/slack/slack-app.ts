/**
 * Posts as a Slack app, by its token. With `update_message` a group has one message: each news changes it to what is true
 * now, and stands in its thread as well, so that nothing that was said is lost.
 *
 *   first news of a thread → chat.postMessage; where it stands is kept with the delivery
 *   later news             → chat.update of that message, then chat.postMessage into its thread
 *   a reminder             → chat.update alone
 *
 * Changing a message twice does no harm, so a try that is repeated posts into the thread last. Where the message is
 * gone or may not be changed any more, the news is a new message.
 */

import type { Secret } from '../../secret.ts';
import type { Attempt, Outcome } from '../channel.ts';
import type { Readable } from '../message/digest-view.ts';
import type { openSender } from '../post.ts';
import type { PostIntegration } from '../post-channel.ts';
import { judgeMethod, type MessagePlace, placeOf } from './slack-answer.ts';
import type { SlackBody } from './slack-body.ts';

export interface SlackApp {
  readonly token: Secret;
  /** The method that changes a message. */
  readonly updateUrl: Secret;
  /** Whether a group has one message that changes. */
  readonly updatesMessage: boolean;
}

interface AppIntegration extends PostIntegration {
  readonly app: SlackApp;
}

/** Slack's words for a message that cannot be changed: what is to be said is said anew. */
const UNCHANGEABLE =
  /: (?:message_not_found|cant_update_message|edit_window_closed|channel_not_found|is_inactive|thread_not_found)$/;

type Sender = ReturnType<typeof openSender>;

export async function sendAsApp(
  sender: Sender,
  integration: AppIntegration,
  { reference }: Attempt,
  notification: Readable,
  body: SlackBody,
): Promise<Outcome> {
  const { app } = integration;
  const call = (url: string, message: object): Promise<Outcome> =>
    sender.post({
      url,
      contentType: 'application/json; charset=utf-8',
      body: JSON.stringify(message),
      timeoutMs: integration.timeoutMs,
      http: integration.http,
      headers: { authorization: `Bearer ${app.token.reveal()}` },
      secrets: [app.token.reveal()],
      judge: judgeMethod,
    });

  const place = app.updatesMessage && isLaterNews(notification) ? placeOf(reference ?? '') : undefined;
  if (!place) return call(integration.url.reveal(), body);
  const updated = await call(app.updateUrl.reveal(), { ...body, ...place });
  if (updated.kind === 'refused' && UNCHANGEABLE.test(updated.error)) {
    return call(integration.url.reveal(), body);
  }
  if (updated.kind !== 'accepted') return updated;
  const said = { kind: 'accepted', reference: referenceOf(place) } as const;
  if (isReminder(notification)) return said;
  const outcome = await call(integration.url.reveal(), {
    ...body,
    channel: place.channel,
    thread_ts: place.ts,
  });
  return outcome.kind === 'accepted' ? said : outcome;
}

function referenceOf({ channel, ts }: MessagePlace): string {
  return `${channel}/${ts}`;
}

function isLaterNews(notification: Readable): boolean {
  return notification.kind === 'group' && notification.threadPosition > 0;
}

function isReminder(notification: Readable): boolean {
  return notification.kind === 'group' && notification.reason === 'repeat';
}
