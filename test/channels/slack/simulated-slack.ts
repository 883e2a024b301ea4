/** Slack as an app sees it: it keeps messages, signs what it says of a press, and takes what is to be shown then. */
import { createHmac } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Block } from '../../../src/channels/slack/slack-body.ts';
import { serveHttp } from '../../http/servers.ts';

export const SIGNING_SECRET = 'cAnArY-signing-secret';
export const TEAM = 'T01';

export interface Message {
  readonly channel: string;
  readonly ts: string;
  text: string;
  blocks: readonly Block[];
}

/** What of a press is different from what Slack says usually. */
export interface PressChanges {
  readonly value?: string | undefined;
  readonly channel?: string;
  readonly team?: string;
  readonly user?: { readonly id: string; readonly username: string; readonly team_id?: string };
  readonly responseUrl?: string;
  /** Names the press: no two have the same. */
  readonly trigger?: string;
}

export const ANN = { id: 'U01', username: 'ann', team_id: TEAM };

/** The elements of the message's buttons, by what they say. */
export function buttonsOf({ blocks }: Pick<Message, 'blocks'>) {
  const elements = blocks.flatMap((block) => (block.type === 'actions' ? block.elements : []));
  return new Map(elements.map((element) => [element.text.text, element]));
}

/** The body of the request by which Slack says that somebody pressed a button. */
export function pressBody(message: Message, button: string, responseUrl: string, changes: PressChanges = {}) {
  const { value } = 'value' in changes ? changes : (buttonsOf(message).get(button) ?? {});
  const { channel = message.channel, team = TEAM, user = ANN, trigger = '1.2' } = changes;
  const payload = {
    ...{ type: 'block_actions', api_app_id: 'A01', token: 'cAnArY-verification-token', trigger_id: trigger },
    ...{ team: { id: team, domain: 'example' }, user: { ...user, name: user.username } },
    ...{ channel: { id: channel, name: 'ops' }, container: { type: 'message', channel_id: channel } },
    message: { ts: message.ts, text: message.text, blocks: message.blocks },
    response_url: changes.responseUrl ?? responseUrl,
    actions: [{ type: 'button', action_id: 'any', block_id: 'b', ...(value !== undefined && { value }) }],
  };
  return new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
}

export function signatureOf(timestamp: string, body: string, key = SIGNING_SECRET): string {
  return `v0=${createHmac('sha256', key).update(`v0:${timestamp}:${body}`).digest('hex')}`;
}

export async function openSlack() {
  let presses = 0;
  const messages: Message[] = [];
  /** What only who pressed sees. */
  const hints: string[] = [];
  const json = (value: object) => ({
    ...{ status: 200, body: JSON.stringify(value) },
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
  const server = await serveHttp(({ url, headers, body }) => {
    const said = JSON.parse(body);
    if (url === '/api/chat.postMessage') {
      const ts = `1720000000.${String(messages.length).padStart(6, '0')}`;
      messages.push({ channel: said.channel, ts, text: said.text, blocks: said.blocks });
      return json({ ok: true, channel: said.channel, ts });
    }
    const message = messages.find(({ ts }) => url === `/actions/${ts}`);
    // The address itself is what allows it: a token does not belong there.
    if (!message || headers.authorization !== undefined) return { status: 404 };
    if (said.replace_original) Object.assign(message, { text: said.text, blocks: said.blocks });
    else hints.push(said.text);
    return json({ ok: true });
  });
  onTestFinished(() => server.close());
  return {
    url: `${server.url}/api/chat.postMessage`,
    messages,
    hints,
    body: (message: Message, button: string, changes?: PressChanges) =>
      pressBody(message, button, `${server.url}/actions/${message.ts}`, {
        trigger: String(++presses),
        ...changes,
      }),
  };
}
