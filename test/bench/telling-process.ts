/** nestwatch from the commit of events on, in a process of its own so that its memory can be read off. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAlerting } from '../../src/alerting/alerting.ts';
import type { Event } from '../../src/alerts/event.ts';
import { systemClock } from '../../src/clock.ts';
import { openWebhookChannel } from '../../src/delivery/channels/webhook.ts';
import { createDelivery } from '../../src/delivery/outbox.ts';
import { formatInstant } from '../../src/instant.ts';
import { createCommit } from '../../src/intake/commit.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { openTransport } from '../../src/transport.ts';
import { load, REGION } from '../config/load.ts';
import { NO_SERVICES } from '../delivery/no-services.ts';
import { routeYaml } from './beside-alertmanager.ts';

const [port, alerts, groupBy] = process.argv.slice(2);
const PAGE = 100;

const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bench-'));
const clock = systemClock();
const store = await openSqliteStore({ path: join(folder, 'store.db'), clock });
const config = load(
  `${REGION}route: ${routeYaml(groupBy!)}\nreceivers: [{ name: hook, webhook_configs: [{ url: "http://127.0.0.1:${port}/" }] }]\n`,
);
const unused = { send: () => Promise.reject(new Error('only webhooks here')), close: async () => {} };
const webhook = openWebhookChannel({ clock, version: 'bench', openTransport });
const delivery = createDelivery({
  store,
  receivers: config.receivers,
  channels: { ...NO_SERVICES, webhook, email: unused },
  clock,
  random: Math.random,
  externalUrl: 'http://127.0.0.1',
  report: (happening) => {
    if (happening.what === 'trouble') throw happening.error;
  },
});
const alerting = createAlerting({
  store,
  config,
  clock,
  report: (happening) => {
    if (happening.what === 'trouble') throw happening.error;
  },
  queued: delivery.wake,
});
const commit = createCommit({
  store,
  rules: config.rules,
  forward: [],
  clock,
  report: () => {},
  changed: alerting.wake,
});

const stop = new AbortController();
const running = [alerting.run(stop.signal), delivery.run(stop.signal)];
process.once('disconnect', async () => {
  stop.abort();
  await Promise.all(running);
  await webhook.close();
  await store.close();
  rmSync(folder, { recursive: true });
  process.exit();
});

const { stream } = await store.transaction((tx) => tx.openStream('eu', 'flight', ''));
for (let first = 0; first < Number(alerts); first += PAGE) {
  const nowUs = clock.nowUs();
  const events = Array.from({ length: PAGE }, (_, at) => ({
    event: failure(first + at, nowUs),
    historic: false,
  }));
  await commit({ region: 'eu', stream: { stream, feed: 'flight' }, events, cursorUs: nowUs });
}

function failure(index: number, nowUs: number): Event {
  return {
    key: `eu/flight/${index.toString(16).padStart(32, '0')}/failed`,
    region: 'eu',
    feed: 'flight',
    type: 'flight.failed',
    occurredAt: formatInstant(nowUs),
    occurredAtUs: nowUs,
    observedAtUs: nowUs,
    nestId: '682',
    nest: 'Marketing',
    birdId: String(index),
    bird: `Translate blog ${index}`,
    message: 'The connection to the translation service was refused (503)',
    attributes: { flight_id: index.toString(16).padStart(32, '0'), started_at_us: nowUs - 60_000_000 },
  };
}
