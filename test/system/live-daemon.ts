/**
 * The whole daemon on the real clock, with one simulated region and a webhook that records what it receives. Other
 * programs query it, and they cannot use a virtual clock.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openSimulator } from '../../src/simulator/answers/simulator-server.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld } from '../../src/simulator/world/world.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import { createTestEdge } from '../cli/test-io.ts';

/** What the webhook received about an alert: `firing Translate blog`. */
export type Told = string;

const BIRDS = ['Translate blog', 'Post news', 'Sort mail'] as const;

interface LiveOptions {
  readonly clock?: Clock;
  readonly store?: string;
  /** Routes before the others, and additional receivers, as lines of the configuration. */
  readonly routes?: readonly string[];
  readonly receivers?: (hookUrl: string) => readonly string[];
}

export async function openLiveDaemon({
  clock = systemClock(),
  store = 'sqlite::memory:',
  routes = [],
  receivers = () => [],
}: LiveOptions = {}) {
  const world = createWorld({ region: 'eu', clock, random: seededRandom(1), token: 'token' });
  const nest = world.addNest({ name: 'Marketing' });
  const birds = new Map(
    BIRDS.map((name) => [name, world.addBird(nest.id, { name, triggerType: 'manual' }).id] as const),
  );
  const service = await openSimulator({ world, host: '127.0.0.1', port: 0 });
  const told: Told[] = [];
  const hook = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.url === '/refused') {
      response.writeHead(400).end('no such channel');
      return;
    }
    for (const alert of JSON.parse(body).alerts) told.push(`${alert.status} ${alert.labels.bird}`);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  const hookUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
  const config = loadConfig({
    file: 'live',
    text: `
regions: { eu: { base_url: "${service.url}", token: token, requests_per_second: 50 } }
store: { url: "${store}" }
poll: { interval: 1s, min_interval: 1s, max_interval: 1s }
route:
  receiver: ops
  group_by: [alertname, bird]
  group_wait: 0s
  group_interval: 1s
  routes:
${routes.map((route) => `    - ${route}\n`).join('')}    - matchers: ['severity="nothing"', 'nest=~"Prod.*"']
      receiver: pager
      continue: true
receivers:
  - { name: ops, webhook_configs: [{ url: "${hookUrl}" }] }
  - { name: pager }
${receivers(hookUrl)
  .map((receiver) => `  - ${receiver}\n`)
  .join('')}
web: { listen: "127.0.0.1:0", public: { nests: ["Marketing"], birds: names } }`,
    environment: {},
    readFile: () => '',
  });
  const { edge, stderr } = createTestEdge({ clock });
  const app = await openApp(edge, { config, logLevel: 'warn', logFormat: 'json' });
  const stop = new AbortController();
  const running = app.daemon.run(stop.signal);
  return {
    url: app.url,
    /** A Flight of the Bird fails at once. */
    fails(bird: (typeof BIRDS)[number]) {
      const flight = world.startFlight(birds.get(bird)!);
      world.endFlight(flight.id, 'failed', { errorMessages: 'The TMS refused the job' });
    },
    told,
    log: stderr,
    async close() {
      stop.abort();
      await running;
      await app.close();
      await service.close();
      hook.closeAllConnections();
      hook.close();
    },
  };
}

/** Polls until it is true. */
export async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`It never came to this: ${what}.`);
}
