/** Each chat and each incident service: from the configuration to a server that stands in for it. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import { channelOf, closeChannels, openChannels } from '../../src/channels/registry.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { Notification } from '../../src/domain/grouping/notification.ts';
import { openAuthorizedTransport } from '../../src/http/authorized-transport.ts';
import { LIMITS as LIMITS_OF_US } from '../../src/limits.ts';
import { type Arrived, serveHttp } from '../http/servers.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { anyGroupNotification, HOSTILE } from './any-notification.ts';
import { digestNotification } from './digest-samples.ts';
import { alert, delivery, failedFlight, forward, group, storm } from './sample-notifications.ts';

const PAGE = 'https://watch.example.com';
const CANARY = 'c4nary-7d1e';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** An entry of each kind, for a service at an address. Every secret in it is a canary. */
const ENTRIES: ReadonlyMap<string, (url: string) => string> = new Map([
  ['discord', (url) => `webhook_url: "${url}/api/webhooks/1/${CANARY}"`],
  ['mattermost', (url) => `webhook_url: "${url}/hooks/${CANARY}", channel: ops`],
  ['rocketchat', (url) => `api_url: "${url}/", token: ${CANARY}, token_id: id-${CANARY}, channel: "#ops"`],
  ['telegram', (url) => `api_url: "${url}", bot_token: "1:${CANARY}", chat_id: -1001234567890`],
  [
    'webex',
    (url) =>
      `api_url: "${url}/v1/messages", room_id: r1, http_config: { authorization: { credentials: ${CANARY} } }`,
  ],
  ['pushover', (url) => `api_url: "${url}/1/messages.json", token: ${CANARY}, user_key: u-${CANARY}`],
  ['victorops', (url) => `api_url: "${url}/alert/", api_key: ${CANARY}, routing_key: team x`],
]);
const KINDS = [...ENTRIES.keys()];
const CHATS = KINDS.filter((kind) => kind !== 'victorops');

function configured(kind: string, url: string, more = '', global = '') {
  const config = loadConfig({
    file: '/etc/nestwatch/n.yaml',
    text: `
regions: { eu: { base_url: https://eu.example.com/api-rest, token: t0 } }
global: { ${global} }
route: { receiver: ops }
receivers: [{ name: ops, ${kind}_configs: [{ ${ENTRIES.get(kind)!(url)}${more && `, ${more}`} }] }]
`,
    environment: {},
    readFile: (file) => readFileSync(file, 'utf8'),
  });
  return { config, integration: config.receivers[0]!.integrations[0]! };
}

interface Entity {
  readonly type: string;
  readonly offset: number;
  readonly length: number;
}

interface Answer {
  readonly status: number;
  readonly body?: string;
}

/** A service of this kind, and what is sent to it. */
async function service(kind: string, more = '', answer: (asked: Arrived) => Answer = () => accepting(kind)) {
  const server = await serveHttp(answer);
  closing.push(() => server.close());
  const { integration } = configured(kind, server.url, more);
  const channels = openChannels({
    clock: createVirtualClock(),
    version: '1.2.3',
    openTransport: openAuthorizedTransport,
  });
  closing.push(() => closeChannels(channels));
  const send = (notification: Notification = group()): Promise<Outcome> =>
    channels[kind]!.send(integration, delivery(), notification, PAGE);
  const bodies = () => server.arrived.map(({ body }) => JSON.parse(body));
  return { send, arrived: server.arrived, bodies, integration };
}

function accepting(kind: string): Answer {
  return { status: 200, body: kind === 'rocketchat' ? '{"success":true}' : '{"ok":true,"status":1}' };
}

/** The body for a notification, without sending it. */
async function bodyOf(
  kind: string,
  notification: Parameters<ReturnType<typeof channelOf>['preview']>[1],
  more = '',
) {
  const { integration } = configured(kind, 'https://s.example', more);
  return (await channelOf({ kind }).preview(integration, notification, PAGE)).text;
}

const HEADLINE = 'Translate blog failed';
const RESOLVED = group({ alerts: [alert({ status: 'resolved', endsAtUs: 1 })], status: 'resolved' });

describe('each service gets requests as it documents them', () => {
  test('Discord', async () => {
    const { send, arrived, bodies } = await service('discord', 'username: watch');
    expect(await send()).toEqual({ kind: 'accepted' });
    expect(arrived[0]).toMatchObject({ method: 'POST', url: `/api/webhooks/1/${CANARY}` });
    expect(bodies()[0]).toEqual({
      username: 'watch',
      allowed_mentions: { parse: [] },
      embeds: [
        {
          title: HEADLINE,
          color: 0xd92d20,
          description: expect.stringMatching(
            /^```\n[^`]*429 Too Many Requests[^`]*\n```\n\[See it in nestwatch\]\(https:\/\/watch\.example\.com/,
          ),
        },
      ],
    });
  });

  test('Discord, whose own text in the configuration notifies of what fires newly, and of nothing else', async () => {
    const { send, bodies } = await service('discord', 'content: "<@&42> look"');
    const later = { threadPosition: 1, newTotal: 0 };
    for (const notification of [
      group(),
      group({ threadPosition: 1, reason: 'new_alerts', newTotal: 1 }),
      group({ ...later, reason: 'new_events' }),
      group({ ...later, reason: 'repeat' }),
      group({ ...later, reason: 'resolved', resolvedTotal: 1 }),
      RESOLVED,
      digestNotification(),
    ]) {
      expect(await send(notification)).toEqual({ kind: 'accepted' });
    }
    const all = ['everyone', 'roles', 'users'];
    expect(bodies().map(({ allowed_mentions }) => allowed_mentions.parse)).toEqual([
      ...[all, all],
      ...[[], [], [], [], []],
    ]);
    expect(new Set(bodies().map(({ content }) => content))).toEqual(new Set(['<@&42> look']));
  });

  test('Mattermost', async () => {
    const { send, arrived, bodies } = await service('mattermost', 'priority: { priority: urgent }');
    expect(await send()).toEqual({ kind: 'accepted' });
    expect(arrived[0]!.url).toBe(`/hooks/${CANARY}`);
    expect(bodies()[0]).toMatchObject({
      channel: 'ops',
      priority: { priority: 'urgent', requested_ack: false },
      attachments: [{ fallback: HEADLINE, title: HEADLINE, color: '#d92d20' }],
    });
  });

  test('Rocket.Chat, which refuses with a status of 200', async () => {
    let answer = '{"success":true}';
    const { send, arrived, bodies } = await service('rocketchat', '', () => ({ status: 200, body: answer }));
    expect(await send()).toEqual({ kind: 'accepted' });
    expect(arrived[0]).toMatchObject({
      url: '/api/v1/chat.postMessage',
      headers: { 'x-auth-token': CANARY, 'x-user-id': `id-${CANARY}` },
    });
    expect(bodies()[0]).toMatchObject({ channel: '#ops', attachments: [{ title: HEADLINE }] });
    answer = `{"success":false,"error":"not in the room, ${CANARY}"}`;
    expect(await send()).toEqual({
      kind: 'refused',
      reason: 'rejected',
      error: 'Rocket.Chat says: not in the room, [secret]',
    });
    answer = '<html>';
    expect(await send()).toMatchObject({ kind: 'refused' });
  });

  test('Telegram, whose entities must match the text', async () => {
    const { send, arrived, bodies } = await service('telegram', 'message_thread_id: 7');
    expect(await send()).toEqual({ kind: 'accepted' });
    expect(arrived[0]!.url).toBe(`/bot1:${CANARY}/sendMessage`);
    const [body] = bodies();
    expect(body).toMatchObject({
      chat_id: -1001234567890,
      message_thread_id: 7,
      disable_notification: false,
      link_preview_options: { is_disabled: true },
    });
    const parts = (body.entities as Entity[]).map(({ type, offset, length }) => [
      type,
      body.text.slice(offset, offset + length),
    ]);
    expect(parts.slice(0, 3)).toEqual([
      ['bold', HEADLINE],
      ['pre', expect.stringContaining('429 Too Many Requests')],
      ['text_link', 'See it in nestwatch'],
    ]);
  });

  test('Telegram, which says in its answer how long to wait [long]', async () => {
    let answer = { status: 429, body: '{"ok":false,"error_code":429,"parameters":{"retry_after":17}}' };
    const { send } = await service('telegram', '', () => answer);
    expect(await send()).toMatchObject({ kind: 'failed', reason: 'rate_limited', retryAfterMs: 17_000 });
    answer = { status: 429, body: '{"parameters":{"retry_after":1e300}}' };
    expect(await send()).toMatchObject({ retryAfterMs: LIMITS_OF_US.retry_after_ms.most });
    for (const body of ['{"parameters":{"retry_after":"soon"}}', '{"parameters":null}', 'null', '<html>']) {
      answer = { status: 429, body };
      expect(await send()).not.toHaveProperty('retryAfterMs');
    }
  });

  test('Webex', async () => {
    const { send, arrived, bodies } = await service('webex');
    expect(await send()).toEqual({ kind: 'accepted' });
    expect(arrived[0]).toMatchObject({
      url: '/v1/messages',
      headers: { authorization: `Bearer ${CANARY}` },
    });
    expect(bodies()[0]).toEqual({
      roomId: 'r1',
      markdown: expect.stringContaining(`**${HEADLINE}**\n\`\`\``),
    });
  });

  test('Pushover rings for what fires, and not for what is resolved or for a digest', async () => {
    const { send, bodies } = await service('pushover', 'sound: siren');
    expect(await send()).toEqual({ kind: 'accepted' });
    await send(RESOLVED);
    await send(digestNotification());
    expect(bodies()).toMatchObject([
      {
        token: CANARY,
        user: `u-${CANARY}`,
        title: HEADLINE,
        priority: 2,
        retry: 60,
        expire: 3_600,
        url_title: 'See it in nestwatch',
        sound: 'siren',
      },
      { priority: 0 },
      { priority: 0 },
    ]);
    expect(bodies()[1]).not.toHaveProperty('retry');
  });

  test('the link of Pushover takes no room of the text, and is the first that is short enough', async () => {
    const text = 'x'.repeat(1_000);
    const body = JSON.parse(await bodyOf('pushover', group(), `message: ${text}`));
    expect(body).toMatchObject({ message: text, url_title: 'See it in nestwatch' });
    const id = `FlightFailed/1/eu/${'b'.repeat(500)}`;
    const far = alert({ id, annotations: { runbook_url: 'https://wiki.example.com/quota' } });
    const other = JSON.parse(await bodyOf('pushover', group({ alerts: [far] })));
    expect(other).toMatchObject({ url: 'https://wiki.example.com/quota', url_title: 'Runbook' });
  });

  test('Pushover is given whole seconds', async () => {
    const body = JSON.parse(await bodyOf('pushover', group(), 'retry: 30500ms, expire: 90500ms'));
    expect(body).toMatchObject({ retry: 31, expire: 91 });
  });

  test('VictorOps likewise', async () => {
    const { send, arrived, bodies } = await service('victorops', 'custom_fields: { team: loc }');
    await send();
    await send(group({ acknowledged: true }));
    await send(RESOLVED);
    expect(new Set(arrived.map(({ url }) => url))).toEqual(new Set([`/alert/${CANARY}/team%20x`]));
    expect(bodies().map((body) => [body.message_type, body.entity_id === bodies()[0].entity_id])).toEqual([
      ['CRITICAL', true],
      ['ACKNOWLEDGEMENT', true],
      ['RECOVERY', true],
    ]);
    expect(bodies()[0]).toMatchObject({
      entity_display_name: HEADLINE,
      state_message: expect.stringContaining('429 Too Many Requests'),
      monitoring_tool: 'nestwatch',
      team: 'loc',
    });
  });

  test('VictorOps keeps the name of an incident that is resolved without a message', async () => {
    const { send, bodies } = await service('victorops', 'custom_fields: { team: loc }');
    await send(group({ ...RESOLVED, alerts: [], firingTotal: 0, resolvedTotal: 0 }));
    const { entity_id, ...said } = bodies()[0];
    expect(said).toEqual({ message_type: 'RECOVERY', monitoring_tool: 'nestwatch', team: 'loc' });
    expect(entity_id).not.toBe('');
  });
});

describe('all of them', () => {
  test.each(KINDS)(
    '%s: a refusal or failure is reported, without the secrets that it repeats',
    async (kind) => {
      let status = 400;
      const { send } = await service(kind, '', ({ url, body, headers }) => ({
        status,
        body: `no: ${url} ${headers.authorization} ${body}`.slice(0, 3_000),
      }));
      const refused = await send();
      expect(refused).toMatchObject({ kind: 'refused', reason: 'rejected' });
      status = 503;
      const failed = await send();
      expect(failed).toMatchObject({ kind: 'failed', reason: 'unavailable' });
      expect(JSON.stringify([refused, failed])).not.toContain(CANARY);
    },
  );

  test.each(KINDS)('%s: a preview and a printed integration show no secrets', async (kind) => {
    const { integration } = configured(kind, 'https://s.example');
    expect(await bodyOf(kind, group())).not.toContain(CANARY);
    expect(JSON.stringify(integration)).not.toContain(CANARY);
  });

  test.each(KINDS)('%s takes no single events', async (kind) => {
    const { send, arrived } = await service(kind);
    expect((await send(forward([failedFlight(1)]))).kind).toBe('nothing');
    expect(arrived).toEqual([]);
  });

  test.each(CHATS)('%s takes a digest', async (kind) => {
    const { send, arrived } = await service(kind);
    expect(await send(digestNotification())).toEqual({ kind: 'accepted' });
    expect(arrived[0]!.body).toContain('In short');
  });

  test.each(CHATS)('%s shows times in the zone of its readers', async (kind) => {
    expect(await bodyOf(kind, group())).toContain('11:56 UTC');
    const local = await bodyOf(kind, group(), 'timezone: Europe/Amsterdam');
    expect(local).toContain('13:56 CEST');
    expect(local).not.toContain('UTC');
  });

  test('VictorOps takes none', async () => {
    const { send, arrived } = await service('victorops');
    expect(await send(digestNotification())).toMatchObject({ kind: 'nothing' });
    expect(arrived).toEqual([]);
  });

  test.each(CHATS)(
    "%s: a user's own text replaces the built-in one, and if it fails only it is lost",
    async (kind) => {
      const key = kind === 'mattermost' || kind === 'rocketchat' ? 'text' : 'message';
      const own = await service(kind, `${key}: "Own {{ status }} {{ commonLabels.bird }}"`);
      await own.send();
      expect(own.arrived[0]!.body).toContain('Own firing Translate blog');
      expect(own.arrived[0]!.body).not.toContain('429');
      const failing = await service(kind, `${key}: "{{ commonLabels.nobody }}"`);
      expect(await failing.send()).toMatchObject({
        kind: 'accepted',
        templateError: expect.stringContaining('nobody'),
      });
      expect(failing.arrived[0]!.body).toContain('The built-in text is used instead.');
    },
  );
});

/** The largest message that each service accepts, in its own units. */
const LIMITS: Readonly<Record<string, (body: ReturnType<typeof JSON.parse>) => void>> = {
  discord({ embeds: [{ title, description }] }) {
    expect(title.length).toBeLessThanOrEqual(256);
    expect(description.length).toBeLessThanOrEqual(4_096);
    expect(title.length + description.length).toBeLessThanOrEqual(6_000);
  },
  mattermost({ attachments: [{ title, text }] }) {
    expect(title.length + text.length).toBeLessThanOrEqual(16_383);
  },
  rocketchat({ attachments: [{ title, text }] }) {
    expect(title.length).toBeLessThanOrEqual(1_024);
    expect(text.length).toBeLessThanOrEqual(5_000);
  },
  telegram({ text, entities }) {
    expect(text.length).toBeGreaterThan(0);
    expect(text.length).toBeLessThanOrEqual(4_096);
    for (const { offset, length } of entities) {
      expect(length).toBeGreaterThan(0);
      expect(offset + length).toBeLessThanOrEqual(text.length);
    }
  },
  webex({ markdown }) {
    expect(Buffer.byteLength(markdown)).toBeLessThanOrEqual(7_439);
  },
  pushover({ title, message, url = '' }) {
    expect(title.length).toBeLessThanOrEqual(250);
    expect(message.length).toBeGreaterThan(0);
    expect(message.length).toBeLessThanOrEqual(1_024);
    expect(url.length).toBeLessThanOrEqual(512);
  },
  victorops({ state_message, entity_display_name }) {
    expect(state_message.length).toBeLessThanOrEqual(20_480);
    expect(entity_display_name.length).toBeGreaterThan(0);
  },
};

const RUNS = 30;

describe('whatever a notification is made of', () => {
  test.each(KINDS)('%s accepts it [long]', async (kind) => {
    const limits = LIMITS[kind]!;
    await fc.assert(
      fc.asyncProperty(anyGroupNotification, async (notification) => {
        const text = await bodyOf(kind, notification);
        limits(JSON.parse(text));
        expect(text).not.toMatch(/\\ud[89a-f]/i);
      }),
      { numRuns: RUNS },
    );
    limits(JSON.parse(await bodyOf(kind, storm())));
  });

  test.each(CHATS)(
    '%s: nothing from outside mentions anybody, is a link, or leaves its block',
    async (kind) => {
      for (const hostile of HOSTILE) {
        const labels = { ...alert().labels, bird: hostile, nest: hostile };
        const events = [failedFlight(1, { message: hostile, bird: hostile })];
        const firing = alert({ labels, events });
        // Beside others, the one that fires is named in the link to it.
        const resolved = alert({ id: 'other', status: 'resolved', endsAtUs: 1, labels });
        for (const alerts of [[firing], [firing, resolved]]) {
          const text = await bodyOf(kind, group({ alerts }));
          expect(text).not.toMatch(/@everyone|@channel|<[!@]|https:\/\/evil/);
          expect([0, 2]).toContain(text.split('```').length - 1);
        }
      }
    },
  );

  test.each(['discord', 'mattermost', 'rocketchat', 'webex'])(
    '%s: a name is no link in the headline either, nor in the links',
    async (kind) => {
      const labels = { ...alert().labels, bird: 'a](evil.example) [b' };
      const resolved = alert({ id: 'other', status: 'resolved', endsAtUs: 1 });
      for (const alerts of [[alert({ labels })], [alert({ labels }), resolved]]) {
        const outside = (await bodyOf(kind, group({ alerts }))).replace(/```.*```/, '');
        expect(outside).toContain('evil.example');
        expect(outside).not.toMatch(/(?<!\\)\]\((?!https:\/\/watch)/);
      }
    },
  );
});
