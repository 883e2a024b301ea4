/**
 * Slack as an app: one message for a group, which is updated, and its thread; with a simulated Slack over real HTTP.
 */
import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Outcome } from '../../../src/channels/channel.ts';
import { closeChannels, openChannels } from '../../../src/channels/registry.ts';
import { judgeMethod, judgeWebhook } from '../../../src/channels/slack/slack-app.ts';
import { createDelivery } from '../../../src/delivery/outbox.ts';
import type { GroupNotification, Notification } from '../../../src/domain/grouping/notification.ts';
import { openAuthorizedTransport } from '../../../src/http/authorized-transport.ts';
import type { Happening } from '../../../src/report.ts';
import { load, problemsOf, REGION } from '../../config/load.ts';
import { serveHttp } from '../../http/servers.ts';
import { openMemory } from '../../store/test-store.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { delivery, forward, group } from '../sample-notifications.ts';

const TOKEN = 'xoxb-cAnArY-1';

interface Posted {
  readonly ts: string;
  readonly thread: string | undefined;
  text: string;
  edits: number;
}

/** Slack's two methods, with the messages in its channel. */
async function slack() {
  const messages: Posted[] = [];
  const calls: string[] = [];
  let refusal: string | undefined;
  const answer = (value: object) => ({
    status: 200,
    body: JSON.stringify(value),
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
  const server = await serveHttp(({ url, headers, body }) => {
    calls.push(url);
    if (headers.authorization !== `Bearer ${TOKEN}`) return answer({ ok: false, error: 'invalid_auth' });
    if (refusal !== undefined) return answer({ ok: false, error: refusal });
    const { channel, text, ts, thread_ts: thread } = JSON.parse(body);
    if (url === '/api/chat.update') {
      const message = messages.find((one) => one.ts === ts && channel === 'C01');
      if (!message) return answer({ ok: false, error: 'message_not_found' });
      Object.assign(message, { text, edits: message.edits + 1 });
      return answer({ ok: true, channel: 'C01', ts });
    }
    if (channel !== '#ops' && channel !== 'C01') return answer({ ok: false, error: 'channel_not_found' });
    const own = `1720000000.${String(messages.length).padStart(6, '0')}`;
    messages.push({ ts: own, thread, text, edits: 0 });
    return answer({ ok: true, channel: 'C01', ts: own });
  });
  onTestFinished(() => server.close());
  return {
    url: `${server.url}/api/chat.postMessage`,
    messages,
    calls,
    server,
    refuse: (word: string | undefined) => {
      refusal = word;
    },
  };
}

const configured = (url: string, more = '') =>
  load(`${REGION}route: { receiver: ops }
receivers: [{ name: ops, slack_configs: [{ app_token: ${TOKEN}, app_url: "${url}", channel: "#ops", send_resolved: true${more} }] }]
`);

function opened(clock = createVirtualClock()) {
  const channels = openChannels({ clock, version: '1', openTransport: openAuthorizedTransport });
  onTestFinished(() => closeChannels(channels));
  return { channels, clock };
}

function sending(url: string, more = '') {
  const config = configured(url, more);
  const { channels } = opened();
  const [integration] = config.receivers[0]!.integrations;
  return (notification: Notification = group(), reference?: string): Promise<Outcome> =>
    channels.slack!.send(
      integration!,
      { ...delivery(), ...(reference && { reference }) },
      notification,
      'https://watch.example.com',
    );
}

const UPDATES = ', update_message: true';
const later = (changes: Partial<GroupNotification> = {}) =>
  group({ threadPosition: 1, reason: 'new_events', ...changes });

describe('a Slack app', () => {
  test('posts where it is told, with its token', async () => {
    const { url, messages, server } = await slack();
    const send = sending(url);
    expect(await send()).toEqual({ kind: 'accepted', reference: 'C01/1720000000.000000' });
    expect(await send(later(), 'C01/1720000000.000000')).toMatchObject({ kind: 'accepted' });
    expect(messages).toMatchObject([{ edits: 0 }, { edits: 0, thread: undefined }]);
    expect(JSON.parse(server.arrived[0]!.body)).toMatchObject({ channel: '#ops', blocks: expect.any(Array) });
    expect((await send(forward([]))).kind).toBe('nothing');
  });

  test('with update_message edits the one message of the group, and posts the news in its thread', async () => {
    const { url, messages, calls } = await slack();
    const send = sending(url, UPDATES);
    const first = await send();
    const { reference } = first as { reference: string };
    expect(await send(later(), reference)).toEqual({ kind: 'accepted', reference });
    expect(await send(later({ reason: 'resolved', status: 'resolved' }), reference)).toMatchObject({
      reference,
    });
    expect(calls.map((path) => path.replace('/api/', ''))).toEqual([
      'chat.postMessage',
      ...['chat.update', 'chat.postMessage'],
      ...['chat.update', 'chat.postMessage'],
    ]);
    expect(messages).toMatchObject([
      { edits: 2, thread: undefined },
      { edits: 0, thread: '1720000000.000000' },
      { edits: 0, thread: '1720000000.000000' },
    ]);
    // A reminder has nothing new for the thread.
    await send(later({ reason: 'repeat' }), reference);
    expect(messages).toHaveLength(3);
    expect(messages[0]!.edits).toBe(3);
    // A new episode of the group is a new message.
    expect(await send(group(), reference)).toMatchObject({
      reference: 'C01/1720000000.000003/thread-1',
    });
  });

  test('news of a thread whose first message was never accepted edits none of an earlier thread', async () => {
    const { url, messages } = await slack();
    const send = sending(url, UPDATES);
    const { reference } = (await send(group({ thread: 'before' }))) as { reference: string };
    const outcome = await send(later({ thread: 'now' }), reference);
    expect(messages).toMatchObject([{ edits: 0 }, { edits: 0, thread: undefined }]);
    const { reference: own } = outcome as { reference: string };
    await send(later({ thread: 'now' }), own);
    expect(messages).toMatchObject([{ edits: 0 }, { edits: 1 }, { thread: '1720000000.000001' }]);
  });

  test('a message that is gone is posted anew', async () => {
    const { url, messages } = await slack();
    const outcome = await sending(url, UPDATES)(later(), 'C01/1600000000.000001/thread-1');
    expect(outcome).toEqual({ kind: 'accepted', reference: 'C01/1720000000.000000/thread-1' });
    expect(messages).toMatchObject([{ thread: undefined }]);
  });

  test('a refusal is a failure, and the token is not repeated', async () => {
    const { url, refuse } = await slack();
    const send = sending(url, UPDATES);
    refuse('ratelimited');
    let error = 'Slack says: ratelimited';
    expect(await send()).toEqual({ kind: 'failed', reason: 'rate_limited', error });
    refuse('internal_error');
    const unavailable = { kind: 'failed', reason: 'unavailable' };
    expect(await send(later(), 'C01/1720000000.000000/thread-1')).toMatchObject(unavailable);
    refuse(`not_in_channel for ${TOKEN}`);
    error = 'Slack says: not_in_channel for [secret]';
    expect(await send()).toEqual({ kind: 'refused', reason: 'rejected', error });
  });

  test("through the outbox: the message's place survives a restart", async () => {
    const { url, messages, refuse } = await slack();
    const config = configured(url, UPDATES);
    const clock = createVirtualClock();
    const store = await openMemory(clock);
    const happened: Happening[] = [];
    const queue = (id: string, changes: Partial<GroupNotification>) =>
      store.outbox.enqueue(group({ id, ...changes }), [
        delivery({ id: `${id}-0`, notificationId: id, integration: 'slack', position: 0, lane: '0 g' }),
      ]);
    const settled = () => happened.filter(({ what }) => what === 'delivery').length;
    /** One life of the process, until this many more attempts have ended. */
    async function life(tries: number) {
      const { channels } = opened(clock);
      const stop = new AbortController();
      const outbox = createDelivery({
        ...{ store, receivers: config.receivers, channels, clock, random: () => 0.5 },
        ...{ report: (one) => happened.push(one), externalUrl: 'https://watch.example.com' },
      });
      const running = outbox.run(stop.signal);
      outbox.wake();
      const wanted = settled() + tries;
      await expect.poll(settled).toBe(wanted);
      stop.abort();
      await running;
    }
    await queue('n1', { threadPosition: 0 });
    await life(1);
    await queue('n2', { threadPosition: 1, reason: 'new_events' });
    refuse('service_unavailable');
    await life(1);
    refuse(undefined);
    await clock.advance(10_000);
    await life(1);
    expect(messages).toMatchObject([
      { edits: 1, thread: undefined },
      { edits: 0, thread: '1720000000.000000' },
    ]);
  });
});

test('the token goes to no other origin', async () => {
  const elsewhere = await serveHttp(() => ({ status: 200, body: '{"ok":true}' }));
  const moved = await serveHttp(() => ({ status: 307, headers: { location: `${elsewhere.url}/x` } }));
  onTestFinished(() => Promise.all([elsewhere.close(), moved.close()]).then(() => {}));
  const url = `${moved.url}/api/chat.postMessage`;
  expect(await sending(url, ', http_config: { follow_redirects: true }')()).toMatchObject({
    kind: 'accepted',
  });
  expect(moved.arrived[0]!.headers.authorization).toBe(`Bearer ${TOKEN}`);
  expect(elsewhere.arrived).toHaveLength(1);
  expect(JSON.stringify(elsewhere.arrived)).not.toContain(TOKEN);
});

describe('what Slack answers with 200', () => {
  test.each<[string, Partial<Outcome>]>([
    ['ok', { kind: 'accepted' }],
    ['ok\n', { kind: 'accepted' }],
    ['{"ok":true}', { kind: 'accepted' }],
    ['{"success":true}', { kind: 'accepted' }],
    ['', { kind: 'refused' }],
    ['no_service', { kind: 'refused', reason: 'rejected' }],
    ['{"ok":false,"error":"invalid_blocks"}', { kind: 'refused', reason: 'rejected' }],
    ['{"ok":false,"error":"ratelimited"}', { kind: 'failed', reason: 'rate_limited' }],
    ['{"ok":false}', { kind: 'refused' }],
    ['[]', { kind: 'refused' }],
    ['<html>Log in</html>', { kind: 'failed', reason: 'not_json' }],
  ])('%s', (body, outcome) => {
    expect(judgeWebhook(body)).toMatchObject(outcome);
  });

  test.each([
    ['{"ok":true,"channel":"C01","ts":"1.2"}', 'C01/1.2'],
    ['{"ok":true,"channel":"../x","ts":"1.2"}', undefined],
    ['{"ok":true,"channel":"C01","ts":5}', undefined],
    ['{"ok":true}', undefined],
  ])('%s is reported at %s', (body, reference) => {
    expect(judgeMethod(body)).toEqual({ kind: 'accepted', ...(reference && { reference }) });
  });

  test.each(['', 'ok', 'null', '{"ok":1}', randomBytes(20).toString('base64')])(
    '%s is not an acceptance',
    (body) => {
      expect(judgeMethod(body).kind).not.toBe('accepted');
    },
  );
});

describe('the configuration', () => {
  const problems = (slackConfig: string, global = '') =>
    problemsOf(
      `${REGION}${global}route: { receiver: a }\nreceivers: [{ name: a, slack_configs: [{ ${slackConfig} }] }]\n`,
    ).map((line) => line.replace(/^\d+:\d+: /, '').replace('receivers[0].slack_configs[0].', ''));

  test.each([
    ['api_url: "https://x", app_token: a, channel: c', 'app_token: excludes `api_url`: choose one'],
    ['app_token: a', 'channel: is missing: say which channel the app posts to'],
    [
      'api_url: "https://x", update_message: true',
      'update_message: requires `app_token`: an incoming webhook cannot update messages',
    ],
    [
      'app_token: a, channel: c, app_url: "https://x/post", update_message: true',
      'update_message: needs an address that ends in /chat.postMessage',
    ],
    [
      'app_token: a, channel: c, http_config: { basic_auth: { username: u } }',
      'app_token: is used to log in to Slack: remove the credentials from `http_config`',
    ],
    [
      'channel: c',
      'api_url: is missing: set it or `global.slack_api_url` to an incoming webhook, or `app_token`',
    ],
  ])('%s', (own, problem) => {
    expect(problems(own)).toEqual([problem]);
  });

  test('must choose one way for all', () => {
    expect(problems('channel: c', 'global: { slack_api_url: "https://x", slack_app_token: a }\n')).toEqual([
      'global.slack_app_token: excludes `slack_api_url`: choose one',
    ]);
  });

  test("an integration's own webhook replaces global's app", () => {
    const { receivers } = load(`${REGION}global: { slack_app_token: a }
route: { receiver: a }
receivers: [{ name: a, slack_configs: [{ api_url: "https://x" }, { channel: c }] }]
`);
    expect(receivers[0]!.integrations.map((one) => 'app' in one)).toEqual([false, true]);
  });

  test('a Slack method instead of a webhook, with its own credentials, is the older form of an app', () => {
    const url = 'https://slack.com/api/chat.postMessage';
    const { receivers } = load(`${REGION}global: { slack_app_token: a, slack_api_url: "${url}" }
route: { receiver: a }
receivers: [{ name: a, slack_configs: [{ channel: c }, { channel: c, http_config: { authorization: { credentials: b } } }] }]
`);
    const [app, older] = receivers[0]!.integrations;
    expect('app' in app!).toBe(true);
    expect('app' in older!).toBe(false);
    expect((older as unknown as { url: { reveal(): string } }).url.reveal()).toBe(url);
  });
});
