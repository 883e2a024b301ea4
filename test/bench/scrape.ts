/**
 * What a scrape with very many Birds costs: how long it blocks the process, in all and in one turn, and its size on
 * the wire. Over real HTTP, compressed, as another process sees it. Times are processor time, so other programs on a
 * busy machine do not count.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { createMetrics } from '../../src/observe/metrics.ts';
import { OPERATIONS } from '../../src/service/operations.ts';
import { systemClock } from '../../src/time/clock.ts';
import { answerScrape } from '../../src/web/monitoring.ts';
import { createLoopMeter } from '../hostile/loop-meter.ts';
import { NOTHING } from '../observe/scraped.ts';
import { median } from './ingest.ts';

const ROUNDS = 15;

/** Requests from a thread of its own, so that only the answer is measured. */
const ASKER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { request } = require('node:http');
  parentPort.on('message', () => {
    request(workerData, { headers: { 'accept-encoding': 'gzip', accept: 'application/openmetrics-text' } }, (answer) => {
      let bytes = 0;
      answer.on('data', (chunk) => { bytes += chunk.length; });
      answer.on('end', () => parentPort.postMessage(bytes));
    }).end();
  });`;

interface ScrapeCost {
  readonly series: number;
  /** Of the process's main thread, for one scrape; the median. */
  readonly loopMs: number;
  readonly longestTurnMs: number;
  /** Of all threads of the process, including the requesting one, for one scrape; the median. */
  readonly processorMs: number;
  readonly packedBytes: number;
}

export async function benchScrape(birdsPerRegion: number, regions: readonly string[]): Promise<ScrapeCost> {
  const metrics = createMetrics({
    version: 'bench',
    revision: '',
    nodeVersion: process.version,
    clock: systemClock(),
    regions,
    operations: OPERATIONS.map(({ id }) => id),
    receivers: [{ name: 'ops', integrations: [{ kind: 'email' }] }],
    rules: [],
    collect: async () => NOTHING,
    longestTurnMs: () => 0,
    maxBirds: birdsPerRegion * regions.length,
    processMetrics: true,
  });
  for (const region of regions) fill(metrics, region, birdsPerRegion);
  const app = new Hono();
  app.get('/metrics', (c) => answerScrape(c, metrics.render, () => {}));
  const server = createAdaptorServer({ fetch: app.fetch });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const asker = new Worker(ASKER, { eval: true, workerData: `http://127.0.0.1:${port}/metrics` });
  const ask = () =>
    new Promise<number>((resolve) => {
      asker.once('message', resolve);
      asker.postMessage('');
    });

  const costs: number[] = [];
  const processor: number[] = [];
  let packedBytes = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    await sleep(50);
    const before = process.threadCpuUsage();
    const usedBefore = process.cpuUsage();
    packedBytes = await ask();
    const ofThread = process.threadCpuUsage(before);
    const used = process.cpuUsage(usedBefore);
    // In the first rounds the code is compiled, which happens only once.
    if (round >= ROUNDS / 3) {
      costs.push((ofThread.user + ofThread.system) / 1000);
      processor.push((used.user + used.system) / 1000);
    }
  }
  // In a separate round, because the meter takes turns itself.
  const meter = createLoopMeter();
  const turns: number[] = [];
  for (let round = 0; round < ROUNDS / 3; round += 1) {
    await sleep(50);
    meter.longestMs();
    await ask();
    turns.push(meter.longestMs());
  }
  meter.stop();
  await asker.terminate();
  server.close();
  const lines = (await Array.fromAsync((await metrics.render()).body)).join('').split('\n');
  return {
    series: lines.filter((line) => line && !line.startsWith('#')).length,
    loopMs: median(costs),
    processorMs: median(processor),
    longestTurnMs: Math.max(...turns),
    packedBytes,
  };
}

function fill(metrics: ReturnType<typeof createMetrics>, region: string, count: number): void {
  const birds = Array.from({ length: count }, (_, index) => ({
    // The service's ids are numbers without an order that would compress well.
    nestId: String(((index % 100) * 7919) % 10_007),
    nest: `Nest ${index % 100}`,
    birdId: String((index * 48_271) % 999_983),
    bird: `Translate posts of shop ${index}`,
    status: index % 50 === 0 ? 'suspended' : 'active',
    triggerType: 'event',
  }));
  metrics.report({ what: 'inventory', region, birds });
  for (const [index, { nestId, birdId }] of birds.entries()) {
    const place = { region, nestId, birdId };
    metrics.report({ what: 'flights_active', ...place, count: index % 3 });
    for (let flight = 0; flight < index % 40; flight += 1) {
      metrics.report({ what: 'flight', ...place, status: 'active', atUs: 1 });
      const status = flight % 9 === 0 ? 'failed' : 'succeeded';
      const atUs = 1_700_000_000_000_000 + index * 7_777_777;
      metrics.report({ what: 'flight', ...place, status, atUs, durationMs: index });
    }
  }
}

export async function printScrape(): Promise<void> {
  const { series, loopMs, longestTurnMs, packedBytes } = await benchScrape(5_000, ['eu', 'us']);
  console.log(
    `  ${series.toLocaleString('en')} series: ${loopMs.toFixed(0)} ms of the event loop (aim: at most 50), ` +
      `longest turn ${longestTurnMs.toFixed(0)} ms, ${(packedBytes / 1e6).toFixed(2)} MB packed (aim: below 1)`,
  );
}

if (import.meta.main) await printScrape();
