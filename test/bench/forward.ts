/** From an event's commit to its acceptance by a webhook: events per second, through store, alerting and delivery. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAlerting } from '../../src/alerting/alerting.ts';
import type { Receiver } from '../../src/channels/receiver.ts';
import { openWebhooks, type WebhookIntegration } from '../../src/channels/webhook/webhook-channel.ts';
import { createDelivery } from '../../src/delivery/outbox.ts';
import type { Event } from '../../src/domain/alert/event.ts';
import { openTransport } from '../../src/http/transport.ts';
import { createCommit } from '../../src/intake/commit.ts';
import { secret } from '../../src/secret.ts';
import { systemClock } from '../../src/time/clock.ts';
import { formatInstant } from '../../src/time/instant.ts';
import { inFile, type OpenStore } from './ingest.ts';

const PAGE_SIZE = 100;
const START_US = Date.UTC(2026, 0, 1) * 1000;

function eventOf(index: number): Event {
  const occurredAtUs = START_US + index * 1_000_000;
  return {
    key: `eu/bird_log/${index.toString(16).padStart(32, '0')}`,
    region: 'eu',
    feed: 'bird_log',
    type: 'bird_log.Saved',
    occurredAt: formatInstant(occurredAtUs),
    occurredAtUs,
    observedAtUs: occurredAtUs + 1_000_000,
    nestId: '682',
    nest: 'Marketing',
    birdId: '148890',
    bird: 'Translate blog',
    message:
      'The Bird "Translate blog to fourteen languages" was saved by a member of its Nest, with comment',
    attributes: { initiator: 'anna.kowalska@example.com' },
  };
}

/** Events per second, from the first commit to the last acceptance. Without `openStore` the store is a file. */
export async function benchForward(pages = 500, openStore?: OpenStore): Promise<number> {
  const server = fork(import.meta.filename, ['receiver']);
  const [{ port }] = (await once(server, 'message')) as [{ port: number }];
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bench-'));
  const clock = systemClock();
  const store = await (openStore ?? inFile(join(folder, 'store.db')))(clock);
  const lake: WebhookIntegration = {
    kind: 'webhook',
    url: secret(`http://127.0.0.1:${port}/`),
    format: 'cloudevents',
    secret: secret('whsec_c2VjcmV0IG9mIHRoZSBiZW5jaG1hcms='),
    timeoutMs: 10_000,
    sendResolved: true,
    maxAlerts: 0,
  };
  const receivers: Receiver[] = [{ name: 'lake', integrations: [lake] }];
  const root = {
    path: '0',
    key: '{}',
    receiver: 'lake',
    matchers: [],
    continue: false,
    groupBy: [],
    groupWaitMs: 1,
    groupIntervalMs: 1,
    repeatIntervalMs: 1,
    routes: [],
  };
  const accepted = Promise.withResolvers<void>();
  let delivered = 0;
  const webhook = openWebhooks({ clock, version: 'bench', openTransport });
  const delivery = createDelivery({
    store,
    receivers,
    channels: {
      webhook,
      email: { send: () => Promise.reject(new Error('no mail')), close: async () => {} },
    },
    clock,
    random: Math.random,
    externalUrl: 'http://127.0.0.1',
    report(happening) {
      if (happening.what !== 'delivery') return;
      if (happening.outcome !== 'delivered')
        return accepted.reject(new Error(happening.error ?? 'not delivered'));
      delivered += PAGE_SIZE;
      if (delivered >= pages * PAGE_SIZE) accepted.resolve();
    },
  });
  const alerting = createAlerting({
    store,
    config: {
      regions: [{ name: 'eu' }],
      route: root,
      receivers,
      rules: [],
      context: { show: [], backAfterMs: 0 },
      inhibitRules: [],
      timeIntervals: new Map(),
      poll: { maxAlertAgeMs: 6 * 3_600_000, initialLookbackMs: 3_600_000 },
    },
    clock,
    report: () => {},
    queued: () => delivery.wake(),
  });
  const commit = createCommit({
    store,
    rules: [],
    forward: [{ matchers: [], receiver: 'lake' }],
    clock,
    report: () => {},
    changed: () => alerting.wake(),
  });
  const { stream } = await store.transaction((tx) => tx.streams.open('eu', 'bird_log', '148890'));
  const stop = new AbortController();
  const running = [alerting.run(stop.signal), delivery.run(stop.signal)];
  const began = performance.now();
  for (let page = 0; page < pages; page += 1) {
    const events = Array.from({ length: PAGE_SIZE }, (_, index) => eventOf(page * PAGE_SIZE + index));
    await commit({
      region: 'eu',
      stream: { stream, feed: 'bird_log' },
      events: events.map((event) => ({ event, historic: false })),
      cursorUs: events.at(-1)!.occurredAtUs,
    });
  }
  await accepted.promise;
  const perSecond = (delivered / (performance.now() - began)) * 1000;
  stop.abort();
  await Promise.all(running);
  await webhook.close();
  await store.close();
  server.disconnect();
  rmSync(folder, { recursive: true });
  return perSecond;
}

function receive(): void {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(204).end());
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address && typeof address === 'object') process.send?.({ port: address.port });
  });
  process.on('disconnect', () => process.exit());
}

if (process.argv[2] === 'receiver') receive();
else if (import.meta.main) console.log(await benchForward());
