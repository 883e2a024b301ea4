/**
 * People act by buttons in Slack: the whole daemon with a simulated service and a simulated Slack, over real HTTP and on the
 * real clock, since it is about requests from outside.
 */
import { expect, onTestFinished, test } from 'vitest';
import { openApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openSimulator } from '../../src/simulator/answers/simulator-server.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld } from '../../src/simulator/world/world.ts';
import { systemClock } from '../../src/time/clock.ts';
import {
  ANN,
  buttonsOf,
  type Message,
  openSlack,
  type PressChanges,
  SIGNING_SECRET,
  signatureOf,
  TEAM,
} from '../channels/slack/simulated-slack.ts';
import { createTestEdge } from '../cli/test-io.ts';

interface Sent extends PressChanges {
  readonly ago?: number;
  readonly key?: string;
}

async function openWatch() {
  const clock = systemClock();
  const world = createWorld({ region: 'eu', clock, random: seededRandom(1), token: 'token' });
  const nest = world.addNest({ name: 'Marketing' });
  const bird = world.addBird(nest.id, {
    ...{ name: 'Translate blog', triggerType: 'manual' as const, flightDurationMs: 86_400_000 },
  }).id;
  const service = await openSimulator({ world, host: '127.0.0.1', port: 0 });
  const slack = await openSlack();
  const config = loadConfig({
    file: 'buttons',
    text: `
regions: { eu: { base_url: "${service.url}", token: token, requests_per_second: 50, fly: true } }
store: { url: "sqlite::memory:" }
poll: { interval: 1s, min_interval: 1s, max_interval: 1s }
route: { receiver: ops, group_by: [alertname, bird], group_wait: 0s, group_interval: 1s }
receivers:
  - name: ops
    slack_configs:
      - app_token: xoxb-cAnArY
        app_url: "${slack.url}"
        channel: C01
        send_resolved: true
        signing_secret: ${SIGNING_SECRET}
        team_id: ${TEAM}
        scopes: [write, fly]
web: { listen: "127.0.0.1:0", external_url: "http://127.0.0.1", auth: { bearer_token: "a-bearer-token" } }`,
    environment: {},
    readFile: () => '',
  });
  const { edge, stderr } = createTestEdge({ clock });
  const app = await openApp(edge, { config, logLevel: 'info', logFormat: 'json' });
  const stop = new AbortController();
  const running = app.daemon.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    await app.close();
    await service.close();
  });

  async function send(body: string, { ago = 0, key }: Pick<Sent, 'ago' | 'key'> = {}) {
    const timestamp = String(Math.floor(Date.now() / 1000) - ago);
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': signatureOf(timestamp, body, key),
    };
    const again = () => fetch(`${app.url}/slack/interactivity`, { method: 'POST', headers, body });
    return { status: (await again()).status, replayed: async () => (await again()).status };
  }

  return {
    slack,
    log: stderr,
    url: app.url,
    flights: () => [...world.birds.get(bird)!.flights.values()].length,
    fails() {
      const { id } = world.startFlight(bird);
      world.endFlight(id, 'failed', { errorMessages: 'The TMS refused the job' });
    },
    lands() {
      const { id } = world.startFlight(bird);
      world.endFlight(id, 'succeeded');
    },
    /** The message about the Flight that failed. */
    async message(): Promise<Message> {
      await expect.poll(() => slack.messages.length).toBeGreaterThan(0);
      return slack.messages[0]!;
    },
    send,
    press: (message: Message, button: string, { ago, key, ...changes }: Sent = {}) =>
      send(slack.body(message, button, changes), { ...(ago && { ago }), ...(key && { key }) }),
    async ask<Body>(path: string): Promise<Body> {
      const answer = await fetch(app.url + path, { headers: { authorization: 'Bearer a-bearer-token' } });
      return (await answer.json()) as Body;
    },
  };
}

interface SilenceJson {
  readonly createdBy: string;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly matchers: readonly { readonly name: string }[];
}

test('who presses in Slack acknowledges and silences by name, once, and the message says so [long]', async () => {
  const watch = await openWatch();
  watch.fails();
  const message = await watch.message();
  const original = structuredClone(message);
  expect([...buttonsOf(message).keys()]).toEqual([
    ...['See it in nestwatch', 'Acknowledge', 'Fly again', 'Silence for 2 h'],
  ]);
  const silences = () => watch.ask<SilenceJson[]>('/api/v2/silences');

  // Refused requests first: none of them changes anything, and none needs a token to be refused.
  const bob = { id: 'U02', username: 'bob' };
  for (const wrong of [
    ...[{ key: 'guessed' }, { ago: 400 }, { channel: 'C02' }, { team: 'T02' }, { value: 'made.up' }],
    ...[{ responseUrl: 'https://evil.example/actions/1' }, { user: { ...bob, team_id: 'T02' } }],
  ]) {
    expect((await watch.press(message, 'Acknowledge', wrong)).status).toBeGreaterThanOrEqual(401);
  }
  const scanned = await fetch(
    `${watch.url}/slack/interactivity?payload=${watch.slack.body(message, 'Acknowledge')}`,
  );
  expect([scanned.status, (await watch.press(message, 'See it in nestwatch')).status]).toEqual([401, 200]);
  expect([await silences(), message]).toEqual([[], original]);

  const pressed = await watch.press(message, 'Acknowledge');
  expect([pressed.status, await pressed.replayed()]).toEqual([200, 401]);
  await expect.poll(() => JSON.stringify(message.blocks)).toContain('Acknowledged by ann (Slack U01) at ');
  expect([...buttonsOf(message).keys()]).toEqual(['See it in nestwatch', 'Fly again', 'Silence for 2 h']);
  // Slack asks again, and so does somebody who still saw the button: it stays the acknowledgement of the first.
  await watch.press(original, 'Acknowledge');
  await watch.press(original, 'Acknowledge', { user: bob });
  const [acknowledged, ...others] = await silences();
  expect([acknowledged!.createdBy, others]).toEqual(['ann (Slack U01)', []]);

  await Promise.all([1, 2, 3].map(() => watch.press(message, 'Silence for 2 h', { user: bob })));
  const [silence, ...more] = (await silences()).filter(
    ({ createdBy, endsAt }) => createdBy === 'bob (Slack U02)' && Date.parse(endsAt) > Date.now(),
  );
  expect(more).toEqual([]);
  const lastsMs = Date.parse(silence!.endsAt) - Date.now();
  expect(lastsMs).toBeGreaterThan(7_000_000);
  expect(lastsMs).toBeLessThanOrEqual(7_200_000);
  expect(silence!.matchers.map(({ name }) => name)).toEqual(['region', 'bird_id']);
  await expect.poll(() => JSON.stringify(message.blocks)).toContain('Silenced by bob (Slack U02) until ');

  const { writes } = await watch.ask<{ writes: Record<string, unknown>[] }>('/api/v1/writes');
  const done = writes.filter(({ status }) => status === 200);
  expect(new Set(done.map(({ who, by, asked }) => `${who} ${by} ${String(asked).split(' ')[0]}`))).toEqual(
    new Set([
      'ann (Slack U01) slack acknowledge',
      'bob (Slack U02) slack acknowledge',
      'bob (Slack U02) slack silence',
    ]),
  );
  expect(writes.filter(({ status }) => status === 403)).toHaveLength(5);
  expect(JSON.stringify(writes) + watch.log()).not.toMatch(/cAnArY|\/actions\//);

  watch.lands();
  type Listed = { alerts: { alertname: string }[] };
  await expect
    .poll(
      async () => (await watch.ask<Listed>('/api/v1/alerts?state=firing&name=FlightFailed')).alerts.length,
    )
    .toBe(0);
  expect((await watch.press(original, 'Acknowledge', { user: ANN })).status).toBe(200);
  await expect.poll(() => watch.slack.hints).toEqual(['The alert is not firing.']);
});

test('who presses Fly again in Slack starts one Flight, however often the request comes [long]', async () => {
  const watch = await openWatch();
  watch.fails();
  const message = await watch.message();
  const original = structuredClone(message);
  const statuses = await Promise.all([1, 2, 3, 4].map(() => watch.press(original, 'Fly again')));
  expect(statuses.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  await expect.poll(watch.flights).toBe(2);
  await expect
    .poll(() => JSON.stringify(message.blocks))
    .toMatch(/(asked|Flown again) .*by ann \(Slack U01\)/);
  expect(buttonsOf(message).has('Fly again')).toBe(false);
  type Events = { events: { type: string; attributes: { initiator: string } }[] };
  const events = async () => (await watch.ask<Events>('/api/v1/events?feed=action')).events;
  await expect.poll(async () => (await events()).map(({ type }) => type)).toContain('action.done');
  await watch.press(original, 'Fly again', { user: { id: 'U02', username: 'bob' } });
  expect((await events()).map(({ attributes }) => attributes.initiator)).toEqual(
    Array((await events()).length).fill('ann (Slack U01)'),
  );
  expect(watch.flights()).toBe(2);
});
