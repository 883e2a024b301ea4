/**
 * Judges Slack's answers. Slack may refuse a message with status 200: by a word other than `ok` (incoming webhooks), or
 * by `{"ok": false, "error": "…"}` (its Web API, https://docs.slack.dev/apis/web-api/).
 */
import type { Outcome } from '../channel.ts';

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
export interface MessagePlace {
  readonly channel: string;
  readonly ts: string;
}

export function placeOf(reference: string): MessagePlace | undefined {
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
