/**
 * The daemon of the scale run, alone in its process so that the process's memory is the daemon's: with the real
 * connections, store, metrics and log, on a virtual clock. The clock waits for answers that are due, so virtual time
 * passes as fast as the machine can work.
 */

import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { createGzip } from 'node:zlib';
// Loads the page, the configuration and everything else that the program has in memory, although nothing here calls
// it.
import '../../src/app.ts';
import type { OpenChannels } from '../../src/channels/channel.ts';
import { createDaemon } from '../../src/daemon.ts';
import { openTransport, type Transport } from '../../src/http/transport.ts';
import { createLog } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { OPERATIONS } from '../../src/service/operations.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { createStormHeap } from '../../src/storm-heap.ts';
import { sleep } from '../../src/time/clock.ts';
import { stageConfig } from '../acceptance/stage-config.ts';
import { NOTHING } from '../observe/scraped.ts';
import { createVirtualClock, TEST_START_US } from '../virtual-clock.ts';
import { INSTANT_HEADER } from './scale-service.ts';

export interface DaemonSettings {
  readonly regions: readonly string[];
  readonly hours: number;
  readonly requestsPerSecond: number;
  readonly storePath: string;
  /** The port of the service. */
  readonly port: number;
}

/** The state of the process after some of the time. */
export interface Sample {
  readonly hours: number;
  readonly rssMiB: number;
  /** The most since the last sample, as seen each minute. */
  readonly mostRssMiB: number;
  /** The most that there ever was, even for a moment, according to the system. */
  readonly peakRssMiB: number;
  /** After a full garbage collection; only at the start, half-way and at the end. */
  readonly heapMiB: number | undefined;
  readonly requests: number;
  readonly events: number;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly troubles: readonly string[];
  readonly shortestRatePerSecond: number;
}

/** How long the service takes to answer. */
const LATENCY_MS = 80;
const MINUTE_MS = 60_000;
const SAMPLES_PER_HOUR = 4;
const MIB = 2 ** 20;

async function watch(settings: DaemonSettings): Promise<void> {
  const owed = createDebt();
  const clock = createVirtualClock(TEST_START_US, owed.settle);
  const store = await openSqliteStore({ path: settings.storePath, clock });
  const sockets = openTransport({ connections: 64, timeoutMs: 60_000, maxBodyBytes: 16 * MIB });
  const channels: OpenChannels = {
    email: { send: async () => ({ kind: 'accepted' }), close: async () => {} },
    webhook: { send: async () => ({ kind: 'accepted' }), close: async () => {} },
  };
  const base = stageConfig(settings.regions, { requestsPerSecond: settings.requestsPerSecond });
  const config = {
    ...base,
    regions: base.regions.map((region) => ({
      ...region,
      baseUrl: `http://127.0.0.1:${settings.port}/${region.name}/api-rest`,
    })),
  };
  const log = createLog({ level: 'info', format: 'json', stream: { write() {} }, clock });
  const metrics = createMetrics({
    version: 'bench',
    revision: '',
    nodeVersion: process.version,
    clock,
    regions: settings.regions,
    operations: OPERATIONS.map(({ id }) => id),
    receivers: config.receivers,
    rules: config.rules,
    longestTurnMs: () => 0,
    processMetrics: true,
    collect: async () => NOTHING,
  });
  let [requests, events] = [0, 0];
  const troubles: string[] = [];
  const slow: Transport = {
    async send(request) {
      const atUs = clock.nowUs() + (LATENCY_MS * 1000) / 2;
      const answer = sockets.send({
        ...request,
        headers: { ...request.headers, [INSTANT_HEADER]: String(atUs) },
      });
      // The failure is handled below, but until then nobody listens.
      answer.catch(() => {});
      await sleep(clock, LATENCY_MS);
      return owed.of(answer);
    },
    close: async () => {},
  };
  const hear = createStormHeap(clock);
  const daemon = createDaemon({
    config,
    store,
    transportOf: () => slow,
    channels,
    clock,
    random: seededRandom(7),
    report(happening) {
      metrics.report(happening);
      log.report(happening);
      hear(happening);
      if (happening.what === 'request') requests += 1;
      if (happening.what === 'events') events += happening.events.length;
      const isTrouble = 'failure' in happening && happening.failure !== undefined;
      if (isTrouble || happening.what === 'trouble') {
        const { failure, error } = happening as { failure?: string; error?: unknown };
        troubles.push(`${happening.what} ${failure ?? ''} ${error instanceof Error ? error.stack : ''}`);
      }
    },
  });
  const stop = new AbortController();
  const began = performance.now();
  let lastCpu = process.cpuUsage();
  let mostRss = 0;
  const sample = (hours: number, withHeap: boolean) => {
    const rss = process.memoryUsage.rss();
    if (withHeap) collect();
    const { user, system } = process.cpuUsage(lastCpu);
    const told: Sample = {
      hours,
      rssMiB: rss / MIB,
      mostRssMiB: Math.max(rss, mostRss) / MIB,
      peakRssMiB: process.resourceUsage().maxRSS / 1024,
      heapMiB: withHeap ? process.memoryUsage().heapUsed / MIB : undefined,
      requests,
      events,
      cpuSeconds: (user + system) / 1e6,
      wallSeconds: (performance.now() - began) / 1000,
      troubles: troubles.splice(0).slice(0, 5),
      shortestRatePerSecond: Math.min(...daemon.regions().map(({ requestsPerSecond }) => requestsPerSecond)),
    };
    mostRss = 0;
    lastCpu = process.cpuUsage();
    process.send?.(told);
  };
  sample(0, true);
  const running = daemon.run(stop.signal);
  const minutes = settings.hours * 60;
  for (let minute = 1; minute <= minutes; minute += 1) {
    await clock.advance(MINUTE_MS);
    await scrape(metrics);
    mostRss = Math.max(mostRss, process.memoryUsage.rss());
    const isNotable = minute === minutes || minute === Math.floor(minutes / 2);
    if (isNotable || minute % (60 / SAMPLES_PER_HOUR) === 0) sample(minute / 60, isNotable);
  }
  stop.abort();
  await clock.advance(60_000);
  await running;
  await sockets.close();
  await store.close();
  process.disconnect?.();
}

/** Scrapes as Prometheus does: as in the real page, the text is compressed in parts and never held whole. */
async function scrape({ render }: ReturnType<typeof createMetrics>): Promise<void> {
  const packed = Readable.from((await render()).body, { objectMode: false }).pipe(createGzip({ level: 4 }));
  for await (const _ of packed);
}

/** Runs a full garbage collection; the process is started with an option that allows it. */
const collect = () => (globalThis as unknown as { readonly gc: () => void }).gc();

/** New objects take 2 MiB, except while V8 marks. */
const MARKING_FROM_BYTES = 3 * MIB;
const MOST_MARKING_MS = 1_000;

/**
 * Waits while V8 marks in the background. That takes about 150 ms of real time, and no new objects are collected
 * until it is done. In production hardly any are created meanwhile; here, where a minute passes in three seconds, it
 * was up to 30 MiB.
 */
async function marked(): Promise<void> {
  const newBytes = () =>
    getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')!.physical_space_size;
  for (let ms = 0; ms < MOST_MARKING_MS && newBytes() > MARKING_FROM_BYTES; ms += 1) await pause(1);
}

/** Answers that are due but have not arrived: the clock waits for them. */
function createDebt() {
  let count = 0;
  let paid = () => {};
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    async of<T>(answer: Promise<T>): Promise<T> {
      count += 1;
      try {
        return await answer;
      } finally {
        count -= 1;
        if (count === 0) paid();
      }
    },
    async settle(): Promise<void> {
      await marked();
      await turn();
      while (count > 0) {
        await new Promise<void>((resolve) => {
          paid = resolve;
        });
        await turn();
      }
    },
  };
}

if (import.meta.main) process.once('message', (settings) => void watch(settings as DaemonSettings));
