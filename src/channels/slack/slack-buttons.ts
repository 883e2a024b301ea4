/**
 * Buttons in Slack that do something instead of leading to a page. What a button asks for stands in its value, which is
 * signed with the app's signing secret: for one episode of one alert, in the channel of one receiver. The value holds
 * nothing secret, and alone does nothing: a press counts only in a request that Slack has signed (`slack-press.ts`).
 */
import type { GroupNotification } from '../../domain/grouping/notification.ts';
import { readSignedText, type Secret, signedText } from '../../secret.ts';
import { type LinkAction, onlyFiring } from '../message/frame/links.ts';
import type { Wish } from '../press.ts';

export interface SlackButtons {
  readonly signingSecret: Secret;
  /** The workspace whose members may press. */
  readonly teamId: string;
  /** `write` for acknowledging and silencing, `fly` for starting Birds. */
  readonly scopes: ReadonlySet<'write' | 'fly'>;
}

/** https://docs.slack.dev/reference/block-kit/block-elements/button-element */
const MAX_VALUE_UNITS = 2_000;
/** Slack signs its requests with the same secret, but never a text that begins like this. */
const PURPOSE = 'nestwatch button';

/** The values of the buttons that a message to `channel` has instead of links. */
export function buttonValues(
  { signingSecret, scopes }: SlackButtons,
  channel: string,
  { alerts, receiver }: GroupNotification,
): (action: LinkAction) => string | undefined {
  const only = onlyFiring(alerts);
  return (action) => {
    if (!only || !scopes.has(scopeOf(action))) return undefined;
    const { id, startsAtUs, flyAgain = '' } = only;
    const value = signedText(signingSecret, PURPOSE, [action, id, startsAtUs, flyAgain, receiver, channel]);
    return value.length <= MAX_VALUE_UNITS ? value : undefined;
  };
}

/** Undefined for a value that was not signed with this secret. */
export function readButton(value: string, signingSecret: Secret): Wish | undefined {
  type Value = [LinkAction, string, number, string, string, string];
  const read = readSignedText<Value>(signingSecret, PURPOSE, value);
  if (!read) return undefined;
  const [action, alertId, startsAtUs, flightId, receiver, channel] = read;
  return { action, alertId, startsAtUs, flightId, receiver, channel };
}

export function scopeOf(action: LinkAction): 'write' | 'fly' {
  return action === 'fly_again' ? 'fly' : 'write';
}
