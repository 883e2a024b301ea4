/**
 * nestwatch from the commit of events on, in a separate process so that its memory can be measured. It reports when
 * it is ready, begins at the first message, and answers every later one with what has become of its alerts.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAlerting } from '../../src/alerting/alerting.ts';
import { openMails } from '../../src/channels/email/email-channel.ts';
import { openWebhooks } from '../../src/channels/webhook/webhook-channel.ts';
import { createDelivery } from '../../src/delivery/outbox.ts';
import { openTransport } from '../../src/http/transport.ts';
import { createCommit } from '../../src/intake/commit.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { createStormHeap } from '../../src/storm-heap.ts';
import { systemClock } from '../../src/time/clock.ts';
import { load, REGION } from '../config/load.ts';
import { failure, routeYaml } from './beside-alertmanager.ts';

const [port, alerts, groupBy, kind] = process.argv.slice(2);
const PAGE = 100;

export interface Progress {
  /** Alerts all of whose events are in a notification. */
  readonly told: number;
  readonly delivered: number;
  readonly undelivered: number;
}

const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bench-'));
const clock = systemClock();
const store = await openSqliteStore({ path: join(folder, 'store.db'), clock });
const way =
  kind === 'email'
    ? 'email_configs: [{ to: ops@example.com }]'
    : `webhook_configs: [{ url: "http://127.0.0.1:${port}/" }]`;
const global = `global: { smtp_smarthost: "127.0.0.1:${port}", smtp_from: n@example.com, smtp_require_tls: false }\n`;
// Each alert is told, as Alertmanager tells it.
const config = load(
  `${REGION}rules: [{ kind: SharedCause, birds: 0 }]\n${kind === 'email' ? global : ''}route: ${routeYaml(groupBy!)}\nreceivers: [{ name: hook, ${way} }]\n`,
);
const email = openMails({ clock, version: 'bench' });
const webhook = openWebhooks({ clock, version: 'bench', openTransport });
const delivery = createDelivery({
  store,
  receivers: config.receivers,
  channels: { webhook, email },
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
  report: createStormHeap(clock),
  changed: alerting.wake,
});

const stop = new AbortController();
const running = [alerting.run(stop.signal), delivery.run(stop.signal)];
process.once('disconnect', async () => {
  stop.abort();
  await Promise.all(running);
  await webhook.close();
  await email.close();
  await store.close();
  rmSync(folder, { recursive: true });
  process.exit();
});

process.send?.('ready');
await once(process, 'message');
process.on('message', async () => process.send?.(await progress()));
const { stream } = await store.transaction((tx) => tx.streams.open('eu', 'flight', ''));
for (let first = 0; first < Number(alerts); first += PAGE) {
  const nowUs = clock.nowUs();
  const events = Array.from({ length: PAGE }, (_, at) => ({
    event: failure(first + at, nowUs),
    historic: false,
  }));
  await commit({ region: 'eu', stream: { stream, feed: 'flight' }, events, cursorUs: nowUs });
}

async function progress(): Promise<Progress> {
  return store.transaction(async (tx) => {
    const counts = await tx.outbox.count();
    const sum = (list: typeof counts) => list.reduce((total, { count }) => total + count, 0);
    const delivered = sum(counts.filter(({ state }) => state === 'delivered'));
    const undelivered = sum(counts) - delivered;
    if (undelivered > 0) return { told: 0, delivered, undelivered };
    const firing = await tx.alerts.firing(undefined, Number(alerts));
    const seen = new Map(firing.map(({ id, lastSeq }) => [id, lastSeq]));
    const members = await tx.groups.membersOfAlerts([...seen.keys()]);
    const told = members.filter(({ alertId, notifiedSeq }) => notifiedSeq === seen.get(alertId)).length;
    return { told, delivered, undelivered };
  });
}
