/** What a daemon does at the service, lets people press or log in to, and sends as traces, works after a reload that asks for it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { openApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openSimulator } from '../../src/simulator/answers/simulator-server.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld } from '../../src/simulator/world/world.ts';
import { systemClock } from '../../src/time/clock.ts';
import { createTestEdge } from '../cli/test-io.ts';

test('a reload turns all of it on, and off again [long]', { timeout: 60_000 }, async () => {
  const clock = systemClock();
  const world = createWorld({ region: 'eu', clock, random: seededRandom(1), token: 'token' });
  const nest = world.addNest({ name: 'Marketing' });
  const settings = { triggerType: 'manual', flightDurationMs: 86_400_000 } as const;
  const [wished, ruled] = ['Wished', 'Ruled'].map((name) => world.addBird(nest.id, { name, ...settings }).id);
  const service = await openSimulator({ world, host: '127.0.0.1', port: 0 });
  const traces: string[] = [];
  const collector = createServer(async (incoming, outgoing) => {
    traces.push(await text(incoming));
    outgoing.end('{}');
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  const configured = (isOn: boolean) =>
    loadConfig({
      file: 'watch',
      text: `
regions: { eu: { base_url: "${service.url}", token: token, requests_per_second: 50, fly: ${isOn} } }
store: { url: "sqlite::memory:" }
poll: { interval: 1s, min_interval: 1s, max_interval: 1s, inventory_interval: 2s }
route: { receiver: ops, group_wait: 0s, group_interval: 1s }
receivers:
  - name: ops
    webhook_configs: [{ url: "http://127.0.0.1:${port}/v1/traces"${isOn ? ', format: otlp' : ''} }]
${
  isOn
    ? `
  - name: chat
    slack_configs: [{ app_token: xoxb, channel: C01, signing_secret: "a secret", team_id: T01 }]
actions: [{ name: again, on: FlightFailed, match: ['bird="Ruled"'], do: fly_again, wait: 1s, per_hour: 9, dry_run: false }]
`
    : ''
}
web:
  listen: "127.0.0.1:0"
  external_url: "http://127.0.0.1"
  auth:
    tokens: [{ name: flyer, token: a-flyer-token, scopes: [read, write, fly] }]
${isOn ? '    oidc: { issuer: "http://127.0.0.1:9", client_id: nestwatch }' : ''}`,
      environment: {},
      readFile: () => '',
    });
  let isOn = false;
  const { edge } = createTestEdge({ clock });
  const options = { config: configured(false), readAgain: () => configured(isOn) };
  const app = await openApp(edge, { ...options, logLevel: 'error', logFormat: 'json' });
  const stop = new AbortController();
  const running = app.daemon.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    await app.close();
    await service.close();
    collector.close();
  });
  const status = async (path: string, init: RequestInit = {}) =>
    (await fetch(app.url + path, { redirect: 'manual', ...init })).status;
  const headers = { authorization: 'Bearer a-flyer-token', 'content-type': 'application/json' };
  const fly = () =>
    status(`/api/v1/birds/eu/${wished}/fly`, { method: 'POST', headers, body: '{"author":"Ann"}' });
  const all = async () => [
    await fly(),
    await status('/', { headers: { accept: 'text/html' } }),
    await status('/slack/interactivity', { method: 'POST', body: 'payload={}' }),
  ];
  const posts = () => world.requests().byOperation.flyBird ?? 0;
  const known = () => status(`/api/v1/birds/eu/${wished}`, { headers });
  await expect.poll(known, { timeout: 20_000 }).toBe(200);

  const off = [403, 401, 403];
  expect(await all()).toEqual(off);
  isOn = true;
  expect(await app.reload()).toMatchObject({ mistakes: [] });
  expect(await all()).toEqual([202, 303, 401]);
  await expect.poll(posts, { timeout: 20_000 }).toBe(1);
  const { id } = world.startFlight(ruled!);
  world.endFlight(id, 'failed', { errorMessages: 'The TMS refused the job' });
  await expect.poll(posts, { timeout: 20_000 }).toBe(2);
  await expect.poll(() => traces.join(), { timeout: 20_000 }).toContain('"cicd.pipeline.run.id"');
  isOn = false;
  await app.reload();
  expect(await all()).toEqual(off);
});
