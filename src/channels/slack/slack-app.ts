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

// Judges Slack's answers. Slack may refuse a message with status 200: by a word other than `ok` (incoming webhooks), or
// by `{"ok": false, "error": "…"}` (its Web API, https://docs.slack.dev/apis/web-api/).

/** Slack's own errors, which are temporary. */
const PASSING: ReadonlySet<string> = new Set([
  ...['fatal_error', 'internal_error', 'request_timeout', 'rollup_error', 'service_unavailable'],
  ...['team_added_to_org', 'ratelimited', 'rate_limited', 'message_limit_exceeded'],
]);

interface ApiAnswer {
  readonly ok?: unknown;
  readonly error?: unknown;
  readonly channel?: unknown;
  readonly ts?: unknown;
  /** From services that take the same messages as Slack. */
  readonly success?: unknown;
}

/**
 * Judges the answer of an incoming webhook of Slack or of a service that takes the same (Mattermost, Rocket.Chat,
 * Discord).
 */
export function judgeWebhook(body: string): Outcome {
  const text = body.trim();
  if (text === 'ok') return { kind: 'accepted' };
  const answer = asAnswer(text);
  if (!answer) return failure(text || 'an empty answer instead of ok');
  if (answer.ok === true || answer.success === true) return { kind: 'accepted' };
  return failure(typeof answer.error === 'string' ? answer.error : text);
}

/** Judges the answer of a method of the Web API. `reference` says where the message is. */
export function judgeMethod(body: string): Outcome {
  const answer = asAnswer(body);
  if (answer?.ok !== true) return failure(typeof answer?.error === 'string' ? answer.error : body);
  const { channel, ts } = answer;
  const isPlaced = typeof channel === 'string' && typeof ts === 'string' && isPlace(`${channel}/${ts}`);
  return { kind: 'accepted', ...(isPlaced && { reference: `${channel}/${ts}` }) };
}

/** Where a message is: its channel's id and its timestamp. */
interface MessagePlace {
  readonly channel: string;
  readonly ts: string;
}

function placeOf(reference: string): MessagePlace | undefined {
  if (!isPlace(reference)) return undefined;
  const [channel = '', ts = ''] = reference.split('/');
  return { channel, ts };
}

function isPlace(text: string): boolean {
  return /^[A-Z0-9]{1,40}\/\d{1,20}\.\d{1,10}$/.test(text);
}

function failure(word: string): Outcome {
  const error = `Slack says: ${word}`;
  if (/^\s*</.test(word))
    return { kind: 'failed', reason: 'not_json', error: 'HTML instead of Slack’s answer' };
  return PASSING.has(word)
    ? { kind: 'failed', reason: word.startsWith('rate') ? 'rate_limited' : 'unavailable', error }
    : { kind: 'refused', reason: 'rejected', error };
}

function asAnswer(text: string): ApiAnswer | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
