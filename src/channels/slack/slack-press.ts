/**
 * Reads what Slack sends when somebody presses a button, and writes what it is to show then. Boundary: nothing of a
 * request counts before its signature is verified (https://docs.slack.dev/authentication/verifying-requests-from-slack),
 * and a button counts only in the channel and workspace for which it was signed.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { uuidOf } from '../../domain/action/action.ts';
import { instantsIn } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Outcome } from '../channel.ts';
import type { NoPress, Press, Presses, SignedRequest } from '../press.ts';
import type { Receiver } from '../receiver.ts';
import { escapeSlack, SLACK_LIMITS, smallLine } from './slack-body.ts';
import { readButton, type SlackButtons, scopeOf } from './slack-buttons.ts';
import { hasButtons, type SlackIntegration } from './slack-channel.ts';

/** How far Slack's clock may be from ours; an older request may be one that somebody has recorded. */
const WINDOW_US = 300_000_000;
const MAX_NAME = 100;

type Slack = SlackIntegration & { readonly buttons: SlackButtons };
type Answer = (integration: SlackIntegration, url: string, message: object) => Promise<Outcome>;

/** What is used of https://docs.slack.dev/reference/interaction-payloads/block_actions-payload. */
const payloadShape = z.object({
  type: z.literal('block_actions'),
  team: z.object({ id: z.string() }),
  channel: z.object({ id: z.string() }),
  user: z.object({
    id: z.string().regex(/^[UW][A-Z0-9]{1,40}$/),
    username: z.string().optional(),
    team_id: z.string().optional(),
  }),
  response_url: z.string().optional(),
  actions: z.tuple([z.object({ value: z.string().optional() })]),
  message: z.object({
    text: z.string().default(''),
    blocks: z
      .array(z.looseObject({ type: z.string(), elements: z.array(z.looseObject({})).optional() }))
      .max(SLACK_LIMITS.blocks),
  }),
});

type Payload = z.output<typeof payloadShape>;

export function createSlackPresses(receivers: readonly Receiver[], answer: Answer): Presses {
  const places = receivers.flatMap(({ name: receiver, integrations }) =>
    integrations.filter(hasButtons).map((slack) => ({ receiver, slack })),
  );
  /** When each signature that was accepted is too old anyway. After a reload, and at another replica, its id tells. */
  const seen = new Map<string, number>();

  return {
    read(request, nowUs) {
      const sentUs = /^\d{1,12}$/.test(request.timestamp) ? Number(request.timestamp) * 1e6 : Number.NaN;
      if (!(Math.abs(nowUs - sentUs) <= WINDOW_US)) return { status: 401, message: TOO_OLD };
      const signed = places.filter(({ slack }) => isSigned(request, slack.buttons));
      if (signed.length === 0) return { status: 401, message: NOT_SIGNED };
      for (const [signature, untilUs] of seen) if (untilUs < nowUs) seen.delete(signature);
      if (seen.has(request.signature)) return { status: 401, message: REPEATED };
      seen.set(request.signature, sentUs + WINDOW_US);
      const payload = payloadOf(request.body);
      if (!payload) return { status: 400, message: UNKNOWN };
      const [{ value }] = payload.actions;
      // Slack also says when somebody follows a link.
      if (value === undefined) return { status: 200, message: '' };
      const press = pressOf(value, payload, signed, answer);
      return 'status' in press ? press : { ...press, id: uuidOf('slack', request.signature) };
    },
  };
}

const TOO_OLD = 'This was not sent within the last five minutes.';
const NOT_SIGNED = 'This is not signed with the `signing_secret` of any receiver.';
const REPEATED = 'This was sent before.';
const UNKNOWN = 'This is not the press of a button in a message.';
const ELSEWHERE = 'This button belongs to another channel, receiver or workspace.';
const NO_SCOPE = 'The configuration no longer lets people in this channel do that.';
const NO_ADDRESS = 'The `response_url` is not one of Slack.';

function isSigned({ timestamp, signature, body }: SignedRequest, { signingSecret }: SlackButtons): boolean {
  const own = createHmac('sha256', signingSecret.reveal()).update(`v0:${timestamp}:${body}`).digest('hex');
  const [expected, given] = [Buffer.from(`v0=${own}`), Buffer.from(signature)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function payloadOf(body: string): Payload | undefined {
  try {
    return payloadShape.safeParse(JSON.parse(new URLSearchParams(body).get('payload') ?? '')).data;
  } catch {
    return undefined;
  }
}

function pressOf(
  value: string,
  payload: Payload,
  signed: readonly { readonly receiver: string; readonly slack: Slack }[],
  answer: Answer,
): Omit<Press, 'id'> | NoPress {
  const { user, team, channel, response_url: url = '' } = payload;
  const by = `${plainText(user.username ?? '', MAX_NAME)} (Slack ${user.id})`.trimStart();
  const [place] = signed.flatMap(({ receiver, slack }) => {
    const wish = readButton(value, slack.buttons.signingSecret);
    const isHere =
      wish?.receiver === receiver && [wish.channel, channel.id].every((id) => id === slack.channel);
    return isHere ? [{ wish, slack }] : [];
  });
  const isOfTeam = [team.id, user.team_id ?? team.id].every((id) => id === place?.slack.buttons.teamId);
  if (!place || !isOfTeam) return { status: 403, message: ELSEWHERE, by };
  const { wish, slack } = place;
  if (!slack.buttons.scopes.has(scopeOf(wish.action))) return { status: 403, message: NO_SCOPE, by };
  if (!isOfSlack(url, slack)) return { status: 403, message: NO_ADDRESS, by };
  const { timezone } = slack;
  return {
    ...{ ...wish, by },
    show(said, isDone) {
      const words = timezone === undefined ? said : instantsIn(said, timezone);
      return answer(slack, url, isDone ? shown(payload.message, value, words) : hint(words));
    },
  };
}

/** Slack's answers go to the host `hooks.` beside that of its methods. Where `app_url` is a proxy or a test, to that as well. */
function isOfSlack(url: string, { url: methodUrl }: SlackIntegration): boolean {
  const { origin, host } = new URL(methodUrl.reveal());
  const given = URL.parse(url)?.origin;
  return given === origin || given === 'https://hooks.slack.com' || given === `https://hooks.${host}`;
}

/** The message as it was, with what came of the button instead of it. */
function shown({ text, blocks }: Payload['message'], value: string, said: string): object {
  const left = blocks.flatMap((block) => {
    const elements = block.elements?.filter((one) => one.value !== value);
    return elements?.length === 0 ? [] : [{ ...block, ...(elements && { elements }) }];
  });
  const at = left.findLastIndex(({ type }) => type === 'actions');
  const end = at === -1 ? [] : left.slice(at);
  const before = left.slice(0, at === -1 ? undefined : at).slice(0, SLACK_LIMITS.blocks - end.length - 1);
  return { replace_original: true, text, blocks: [...before, smallLine(said), ...end] };
}

function hint(said: string): object {
  const text = [...said].map(escapeSlack).join('');
  return { response_type: 'ephemeral', replace_original: false, text, mrkdwn: false };
}
