/**
 * How soon pages and the API answer, how large the answers are as sent (compressed), and for how long they block the event loop, with a
 * store of 10,000 Birds and 2 million events. Run it alone: `node test/bench/pages.ts --birds 10000 --events 2000000
 * --store FILE`. The file is created if it does not exist, and kept.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { request } from 'undici';
import { createAcknowledgeLinks } from '../../src/operator/acknowledge-link.ts';
import { secret } from '../../src/secret.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { systemClock } from '../../src/time/clock.ts';
import { openWeb } from '../../src/web/server.ts';
import { createLoopMeter } from '../hostile/loop-meter.ts';
import { anAlertingConfig, aStatus } from '../web/sample.ts';
import { birdIdOf, fillStore, type Size } from './pages-store.ts';

export const PAGES: Size = { birds: 10_000, events: 2_000_000, alerts: 1_000 };

interface Measured {
  readonly path: string;
  readonly status: number;
  readonly firstByteMs: number;
  readonly kilobytes: number;
  readonly longestTurnMs: number;
}

/** Each path is requested this often; the slowest request counts, without the first. */
const TIMES = 5;

export async function printPages(size: Size, file?: string): Promise<void> {
  const directory = file === undefined ? await mkdtemp(join(tmpdir(), 'nestwatch-bench-')) : undefined;
  const path = file ?? join(directory!, 'store.db');
  const isFilled = existsSync(path);
  const clock = systemClock();
  const store = await openSqliteStore({ path, clock });
  try {
    if (!isFilled) await fillStore(store, size, clock.nowUs());
    console.log(`  ${'first byte'.padStart(10)}  ${'size'.padStart(7)}  ${'longest turn'.padStart(12)}`);
    for (const one of await measure(store)) {
      const [ms, kb, turn] = [one.firstByteMs, one.kilobytes, one.longestTurnMs].map((x) => x.toFixed(0));
      console.log(
        `  ${`${ms} ms`.padStart(10)}  ${`${kb} kB`.padStart(7)}  ${`${turn} ms`.padStart(12)}  ${one.status} ${one.path}`,
      );
    }
  } finally {
    await store.close();
    if (directory !== undefined) await rm(directory, { recursive: true });
  }
}

async function measure(store: Store): Promise<Measured[]> {
  const clock = systemClock();
  const web = await openWeb({
    openFiles: 1024,
    ...{
      store,
      clock,
      alerting: anAlertingConfig(),
      links: createAcknowledgeLinks(secret('k'), ''),
      browsers: { publicKey: '', receivers: new Map() },
    },
    config: {
      ...{ host: '127.0.0.1', port: 0, externalUrl: 'http://127.0.0.1', bearerToken: null },
      enableLifecycle: false,
    },
    status: () => aStatus(),
    metrics: async () => ({ contentType: 'text/plain', body: '' }),
    health: () => ({ healthy: true, working: true, ready: true, reasons: [] }),
    impairments: async () => ({ impairments: [], space: { used: 1, free: 2, whole: 3 } }),
    reload: async () => ({ mistakes: [], needsRestart: [] }),
    flightLog: async () => ({ refused: '' }),
    serviceLinks: () => ({}),
    messages: {
      nameOf: ({ integration }) => integration,
      messageOf: async () => undefined,
      testsOf: () => [],
    },
    newId: () => '',
    changed: () => {},
    probe: () => {},
    report: () => {},
  });
  const client = fork(import.meta.filename, ['ask', web.url]);
  const meter = createLoopMeter();
  const ask = async (path: string): Promise<Omit<Measured, 'path'>> => {
    meter.longestMs();
    const answered = once(client, 'message');
    client.send(path);
    const [answer] = (await answered) as [Pick<Measured, 'status' | 'firstByteMs' | 'kilobytes'>];
    return { ...answer, longestTurnMs: meter.longestMs() };
  };
  try {
    const measured: Measured[] = [];
    for (const path of await pathsOf(store)) {
      await ask(path);
      let slowest = await ask(path);
      for (let time = 1; time < TIMES; time += 1) {
        const one = await ask(path);
        const longestTurnMs = Math.max(one.longestTurnMs, slowest.longestTurnMs);
        slowest = { ...(one.firstByteMs > slowest.firstByteMs ? one : slowest), longestTurnMs };
      }
      measured.push({ path, ...slowest });
    }
    return measured;
  } finally {
    meter.stop();
    client.disconnect();
    await web.close();
  }
}

async function pathsOf(store: Store): Promise<string[]> {
  const [failure] = await store.transaction((tx) => tx.birds.failures('eu', birdIdOf(7), 1));
  const flightId = failure?.flightId ?? '';
  return [
    '/',
    '/birds',
    '/birds?standing=well',
    '/birds?text=customer%209999',
    '/birds?bird=nobody',
    '/birds?nest=nest%20199',
    `/birds/eu/${birdIdOf(7)}`,
    '/flights',
    `/flights/eu/${flightId}`,
    '/flights/eu/00000000-0000-0000-0000-000000000000',
    '/nests',
    '/nests/eu/650',
    '/wall',
    '/alerts',
    '/alerts?text=customer%20999',
    '/alerts?severity=critical&acknowledged=false&silenced=false',
    '/alerts?state=resolved',
    '/alerts?state=all',
    `/alerts/FlightFailed/bench/eu/bird/${birdIdOf(7)}`,
    '/events',
    '/events?type=flight.failed',
    '/events?text=nothing%20says%20this',
    '/events?nest=nest%20199',
    `/events?bird=${birdIdOf(7)}`,
    `/events?flight=${flightId}`,
    '/events?severity=critical',
    `/events/${failure?.eventKey ?? ''}`,
    '/deliveries',
    '/deliveries?nest=nest%20199',
    '/silences',
    '/report',
    '/report?region=eu&nest=650',
    '/search?text=catalogue',
    '/search?text=nothing%20says%20this',
    '/api/v1/alerts',
    '/api/v1/events',
    '/api/v1/birds',
    `/api/v1/birds/eu/${birdIdOf(7)}`,
    '/api/v1/flights',
    '/api/v1/flights?status=failed',
    '/api/v1/flights?text=nothing%20says%20this',
    '/api/v1/flights?bird=customer&status=failed',
    `/api/v1/flights?bird=${birdIdOf(7)}&status=failed`,
    '/api/v1/flights?nest=nest%20199&since=2d',
    '/api/v1/nests',
  ];
}

/** The client, in a separate process. */
async function answerRequests(url: string): Promise<void> {
  process.on('message', async (path: string) => {
    const startedMs = performance.now();
    // Not `fetch`, which would count what it has unpacked.
    const headers = { 'accept-encoding': 'gzip' };
    const { statusCode, body } = await request(`${url}${path}`, { headers });
    let size = 0;
    let firstByteMs = 0;
    for await (const part of body) {
      firstByteMs ||= performance.now() - startedMs;
      size += part.length;
    }
    process.send?.({ status: statusCode, firstByteMs, kilobytes: size / 1000 });
  });
  process.on('disconnect', () => process.exit());
}

if (process.argv[2] === 'ask') await answerRequests(process.argv[3]!);
else if (import.meta.main) {
  const { values } = parseArgs({
    options: { birds: { type: 'string' }, events: { type: 'string' }, store: { type: 'string' } },
  });
  const birds = Number(values.birds ?? PAGES.birds);
  const events = Number(values.events ?? PAGES.events);
  await printPages({ birds, events, alerts: Math.min(PAGES.alerts, birds) }, values.store);
}
