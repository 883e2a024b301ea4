/**
 * Posts as a Slack app, by its token. With `update_message` a group has one message: each news updates it to the
 * present state, and is also posted into its thread, so that nothing that was said is lost.
 *
 *   first news of a thread → chat.postMessage; where the message is, and of which thread, is kept with the delivery
 *   later news             → chat.update of that message, then chat.postMessage into its thread
 *   a reminder             → chat.update alone
 *
 * Updating a message twice does no harm, so a repeated try posts into the thread last. The news becomes a new message
 * if the former one is gone or may no longer be changed, if Slack never accepted the first news, or if the former
 * message is of an earlier thread, which nobody looks at.
 */

import type { Secret } from '../../secret.ts';
import type { Attempt, Outcome } from '../channel.ts';
import type { Readable } from '../message/digest-view.ts';
import type { openSender, PostIntegration } from '../post-channel.ts';
import { judgeMethod, type MessagePlace, placeOf } from './slack-answer.ts';
import type { SlackBody } from './slack-body.ts';

export interface SlackApp {
  readonly token: Secret;
  /** The method that updates a message. */
  readonly updateUrl: Secret;
  /** Whether a group has one message that is updated. */
  readonly updatesMessage: boolean;
}

interface AppIntegration extends PostIntegration {
  readonly app: SlackApp;
}

/** Slack's words for a message that cannot be updated. Then the news is posted anew. */
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
      integration,
      headers: { authorization: `Bearer ${app.token.reveal()}` },
      judge: judgeMethod,
    });

  const { updatesMessage } = app;
  const place = updatesMessage ? placeInThread(reference, notification) : undefined;
  const postAnew = async (): Promise<Outcome> => {
    const outcome = await call(integration.url.reveal(), body);
    return updatesMessage ? ofThread(outcome, notification) : outcome;
  };
  if (!place) return postAnew();
  const updated = await call(app.updateUrl.reveal(), { ...body, ...place });
  if (updated.kind === 'refused' && UNCHANGEABLE.test(updated.error)) return postAnew();
  if (updated.kind !== 'accepted') return updated;
  const said = ofThread({ kind: 'accepted', reference: `${place.channel}/${place.ts}` }, notification);
  if (isReminder(notification)) return said;
  const outcome = await call(integration.url.reveal(), {
    ...body,
    channel: place.channel,
    thread_ts: place.ts,
  });
  return outcome.kind === 'accepted' ? said : outcome;
}

/** Appends the thread to the reference of the message. */
function ofThread(outcome: Outcome, notification: Readable): Outcome {
  if (outcome.kind !== 'accepted' || outcome.reference === undefined || notification.kind !== 'group') {
    return outcome;
  }
  return { ...outcome, reference: `${outcome.reference}/${notification.thread}` };
}

/**
 * Where the message of the notification's own thread is; undefined if there is none, or the notification begins one.
 */
function placeInThread(reference = '', notification: Readable): MessagePlace | undefined {
  if (notification.kind !== 'group' || notification.threadPosition === 0) return undefined;
  const end = `/${notification.thread}`;
  return reference.endsWith(end) ? placeOf(reference.slice(0, -end.length)) : undefined;
}

function isReminder(notification: Readable): boolean {
  return notification.kind === 'group' && notification.reason === 'repeat';
}
