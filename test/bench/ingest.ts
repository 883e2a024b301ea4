/**
 * Durable ingest, from the sweep to the SQLite file, compared with a bare read of the same pages (undici `request` +
 * `JSON.parse`). Interleaved in one run, so that the ratio holds on a noisy machine.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import type { Rule } from '../../src/domain/alert/rule.ts';
import { defaultRule } from '../../src/domain/kinds/kinds.ts';
import { serverTimeUs } from '../../src/http/server-time.ts';
import { openTransport } from '../../src/http/transport.ts';
import { createCommit } from '../../src/intake/commit.ts';
import { birdLogEvent } from '../../src/intake/feeds.ts';
import { createLogStreams } from '../../src/intake/logs/log-stream.ts';
import { PageReader } from '../../src/intake/logs/page-reader.ts';
import { createLog } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import type { Report } from '../../src/report.ts';
import { itemsOf } from '../../src/service/answer.ts';
import type { Answer, PageQuery } from '../../src/service/client.ts';
import { type BirdLogEntry, type Page, pageIn, readBirdLogEntry } from '../../src/service/resources.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import { formatInstant } from '../../src/time/instant.ts';
import { forkAsProgram } from './as-program.ts';
import { ENTRIES_PER_STREAM, FIRST_ENTRY_US } from './page-server.ts';

const STREAMS = 8;
const PAGE_SIZE = 100;

export interface IngestFigures {
  readonly bareEntriesPerSecond: number;
  readonly ingestEntriesPerSecond: number;
  readonly ratio: number;
}

/** Entries per second that are read and parsed, and nothing more. */
export async function bareRead(url: string, pageSize = PAGE_SIZE): Promise<number> {
  const pool = new Pool(url, { connections: STREAMS });
  const began = performance.now();
  let read = 0;
  await Promise.all(
    Array.from({ length: STREAMS }, async () => {
      for (let index = 0; index < ENTRIES_PER_STREAM; index += pageSize) {
        const from = encodeURIComponent(formatInstant(FIRST_ENTRY_US + index * 1_000_000));
        const path = `/api-rest/nests/1/birds/1/logs?page=0&pageSize=${pageSize}&ascending=true&from=${from}`;
        const { body } = await pool.request({ path, method: 'GET' });
        read += (JSON.parse(await body.text()) as { items: unknown[] }).items.length;
      }
    }),
  );
  const perSecond = (read / (performance.now() - began)) * 1000;
  await pool.close();
  return perSecond;
}

export type OpenStore = (clock: Clock) => Promise<Store>;

/** Opens a store in a file. */
export function inFile(path: string): OpenStore {
  return (clock) => openSqliteStore({ path, clock });
}

/** Metrics and log of the default level, as a daemon has them. */
function reportAsDaemon(clock: Clock): Report {
  const metrics = createMetrics({
    ...{ version: 'bench', revision: 'bench', nodeVersion: process.version, clock },
    ...{ regions: ['eu'], operations: [], receivers: [], rules: [], processMetrics: false },
    collect: () => Promise.reject(new Error('nobody scrapes')),
    longestTurnMs: () => 0,
  });
  const log = createLog({ level: 'info', format: 'json', stream: process.stderr, clock });
  return (happening) => {
    metrics.report(happening);
    log.report(happening);
  };
}

interface IngestWork {
  readonly streamCount?: number;
  readonly pageSize?: number;
  /** Besides the default ones. */
  readonly ownRules?: readonly Rule[];
  /** Work beside it, which the time includes. */
  readonly alongside?: (
    store: Store,
    clock: Clock,
  ) => { readonly wake: () => void; readonly end: () => Promise<void> };
}

/** Entries per second that are read, decided on and committed. */
export async function ingest(
  url: string,
  openStore: OpenStore,
  { streamCount = STREAMS, pageSize = PAGE_SIZE, ownRules = [], alongside }: IngestWork = {},
): Promise<number> {
  const clock = systemClock();
  const store = await openStore(clock);
  const beside = alongside?.(store, clock);
  const transport = openTransport({ connections: STREAMS, timeoutMs: 30_000, maxBodyBytes: 16 << 20 });
  // The rate begins at 2 requests a second, and would be all that is measured, so the benchmark reads without it.
  async function read(birdId: string, query: PageQuery): Promise<Answer<Page<BirdLogEntry>>> {
    const from = encodeURIComponent(formatInstant(query.fromUs ?? 0));
    const path = `/api-rest/nests/1/birds/1/logs?page=${query.page}&pageSize=${query.pageSize}&ascending=true&from=${from}`;
    const response = await transport.send({ method: 'GET', url: `${url}${path}`, headers: {} });
    const read = (item: unknown) => readBirdLogEntry(item, { nestId: '1', birdId });
    const page = pageIn<BirdLogEntry>(await itemsOf(response, path, { read }));
    if (!page) throw new Error('not a page');
    return { value: page, serverTimeUs: serverTimeUs(response) };
  }
  // The default rules decide over every entry, as in production.
  const rules: readonly Rule[] = [
    ...ownRules,
    {
      ...defaultRule('BirdTriggerFailing'),
      // People publish the Birds between their failures, so by default nobody would be notified of them.
      ...(beside && { threshold: 1 }),
    },
  ];
  const report = reportAsDaemon(clock);
  const commit = createCommit({
    store,
    rules,
    forward: [],
    clock,
    report,
    changed: () => beside?.wake(),
  });
  const names = { nest: () => 'Marketing', bird: () => 'Translate blog', nestOf: () => '682' };
  const createStream = createLogStreams(
    {
      region: 'eu',
      feed: 'bird_log',
      read,
      toEvent: (birdId, entry, observedAtUs) => birdLogEvent('eu', birdId, entry, names, observedAtUs),
      birdStatus: () => 'active',
    },
    {
      store,
      commit,
      clock,
      report,
      pages: new PageReader(pageSize, clock),
      overlapUs: () => 120_000_000,
      late: () => {},
      firstFromUs: () => FIRST_ENTRY_US - 1,
      watchedSinceUs: () => 0,
    },
  );
  const streams = Array.from({ length: streamCount }, (_, index) => createStream(String(index)));
  const signal = new AbortController().signal;
  const began = performance.now();
  let stored = 0;
  await Promise.all(
    streams.map(async (stream) => {
      for (let more = true; more; ) {
        const polled = await stream.poll(signal);
        stored += polled.fresh.length;
        more = polled.more;
      }
    }),
  );
  await beside?.end();
  const perSecond = (stored / (performance.now() - began)) * 1000;
  await transport.close();
  await store.close();
  if (stored !== streamCount * ENTRIES_PER_STREAM) throw new Error(`stored ${stored} entries`);
  return perSecond;
}

/** Resident memory, in MiB, of a process that has just read and stored a million entries. */
export async function benchMemory(): Promise<number> {
  const child = forkAsProgram(import.meta.filename, ['memory']);
  const [{ rssMiB }] = (await once(child, 'message')) as [{ rssMiB: number }];
  child.disconnect();
  return rssMiB;
}

async function measureMemory(): Promise<void> {
  const rssMiB = await withServer(async (url, folder) => {
    await ingest(url, inFile(join(folder, 'memory.db')), { streamCount: 1_000_000 / ENTRIES_PER_STREAM });
    return process.memoryUsage().rss / 2 ** 20;
  });
  process.send?.({ rssMiB });
}

export async function withServer<T>(work: (url: string, folder: string) => Promise<T>): Promise<T> {
  const server = fork(join(import.meta.dirname, 'page-server.ts'), ['serve']);
  const [{ port }] = (await once(server, 'message')) as [{ port: number }];
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bench-'));
  try {
    return await work(`http://127.0.0.1:${port}`, folder);
  } finally {
    server.disconnect();
    rmSync(folder, { recursive: true });
  }
}

export const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

export async function benchIngest(pageSize = PAGE_SIZE, rounds = 3): Promise<IngestFigures> {
  const bare: number[] = [];
  const ingested: number[] = [];
  await withServer(async (url, folder) => {
    for (let round = 0; round < rounds; round += 1) {
      bare.push(await bareRead(url, pageSize));
      ingested.push(await ingest(url, inFile(join(folder, `${round}.db`)), { pageSize }));
    }
  });
  const [bareEntriesPerSecond, ingestEntriesPerSecond] = [median(bare), median(ingested)];
  return {
    bareEntriesPerSecond,
    ingestEntriesPerSecond,
    ratio: ingestEntriesPerSecond / bareEntriesPerSecond,
  };
}

if (process.argv[2] === 'memory') await measureMemory();
else if (import.meta.main) console.log(await benchIngest());
