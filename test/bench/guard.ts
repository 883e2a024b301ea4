/**
 * Guards the speed that was reached: runs the benchmarks in a short form, each as a ratio to comparable work in bare
 * Node, and compares the ratios with those in `kept-ratios.json`. Fails if one has become worse by a third.
 *
 *   node test/bench/guard.ts          compares
 *   node test/bench/guard.ts --keep   stores what it measures: on a quiet machine, after an improvement
 *
 * Everything is processor time, which other programs on the machine do not change. Each ratio is the median of pairs
 * measured in turns, and whatever seems to have become worse is measured again.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Pool } from 'undici';
import { deliverAlerts } from './beside-alertmanager.ts';
import { benchForward } from './forward.ts';
import { bareRead, inFile, ingest, median, withServer } from './ingest.ts';
import { ENTRIES_PER_STREAM } from './page-server.ts';
import { benchScrape } from './scrape.ts';
import { startedProcessorMs, VERSION_ARGS } from './start.ts';

const KEPT = join(import.meta.dirname, 'kept-ratios.json');

const PAIRS = 3;
const PAIRS_TO_KEEP = 7;
/** The part of a ratio below which the guard fails. */
const LEAST_PART = 2 / 3;

interface Guarded {
  readonly name: string;
  /** Processor time of comparable bare work. */
  bare(): Promise<number>;
  /** Processor time of our work, in the same unit. */
  ours(): Promise<number>;
}

const STREAMS = 2;
const ALERTS = 2_000;
const POSTS = 4_000;
const FORWARDED_PAGES = 150;
const BIRDS = 1_000;
const STARTS = 5;

/** The milliseconds of processor time that this process has used. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function costOf(work: () => Promise<unknown> | unknown): Promise<number> {
  const before = usedMs();
  await work();
  return usedMs() - before;
}

/** One POST per alert, with a body as a webhook gets it. */
async function barePosts(): Promise<number> {
  const receiver = fork(join(import.meta.dirname, 'beside-alertmanager.ts'), ['receiver']);
  const [{ port }] = (await once(receiver, 'message')) as [{ port: number }];
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 8 });
  const body = JSON.stringify({ alerts: [{ fingerprint: '1', labels: { alertname: 'FlightFailed' } }] });
  let left = POSTS;
  const post = async () => {
    while (left > 0) {
      left -= 1;
      const answer = await pool.request({
        path: '/',
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
      await answer.body.dump();
    }
  };
  const ms = await costOf(() => Promise.all(Array.from({ length: 8 }, post)));
  await pool.close();
  receiver.disconnect();
  return ms / POSTS;
}

/** The least that a scrape consists of: text that is joined and compressed. */
function bareText(): void {
  const lines = Array.from(
    { length: 14 * 2 * BIRDS },
    (_, at) =>
      `nestwatch_flights_total{region="eu",nest_id="${at % 100}",bird_id="${at * 48_271}",status="failed"} ${at}\n`,
  );
  gzipSync(lines.join(''));
}

function guarded(url: string, folder: string): Guarded[] {
  let stores = 0;
  return [
    {
      name: 'ingest: an entry from the service to the disk, beside its bare read',
      bare: async () => (await costOf(() => bareRead(url))) / (8 * ENTRIES_PER_STREAM),
      async ours() {
        stores += 1;
        const file = join(folder, `guard-${stores}.db`);
        return (
          (await costOf(() => ingest(url, inFile(file), { streamCount: STREAMS }))) /
          (STREAMS * ENTRIES_PER_STREAM)
        );
      },
    },
    {
      name: 'storm: an alert in a group of its own to a webhook, beside a bare POST',
      bare: barePosts,
      ours: async () => (await deliverAlerts({ name: '', alerts: ALERTS, groupBy: 'bird_id' })).cpuUs / 1000,
    },
    {
      name: 'group: an alert in a group of many to a webhook, beside a bare POST',
      bare: barePosts,
      ours: async () => (await deliverAlerts({ name: '', alerts: ALERTS, groupBy: 'region' })).cpuUs / 1000,
    },
    {
      name: 'forward: a hundred events to a webhook, beside a bare POST',
      bare: barePosts,
      ours: async () => (await costOf(() => benchForward(FORWARDED_PAGES))) / FORWARDED_PAGES,
    },
    {
      name: 'scrape: 2,000 Birds, beside packing such text',
      async bare() {
        bareText();
        return costOf(bareText);
      },
      ours: async () => (await benchScrape(BIRDS, ['eu', 'us'])).processorMs,
    },
    {
      name: 'start: --version, beside Node alone',
      bare: () => startedProcessorMs(['--eval', '0'], STARTS),
      ours: () => startedProcessorMs(VERSION_ARGS, STARTS),
    },
  ];
}

/** The time of the bare work, divided by the time of ours: 1 would mean no work of our own. */
async function ratioOf({ bare, ours }: Guarded, pairs: number): Promise<number> {
  const ratios: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) ratios.push((await bare()) / (await ours()));
  return median(ratios);
}

async function keep(all: readonly Guarded[]): Promise<void> {
  const ratios: Record<string, number> = {};
  for (const one of all) {
    ratios[one.name] = Number((await ratioOf(one, PAIRS_TO_KEEP)).toPrecision(3));
    console.log(`${ratios[one.name]!.toFixed(3)}  ${one.name}`);
  }
  writeFileSync(KEPT, `${JSON.stringify(ratios, null, 2)}\n`);
}

/** Resolves to the names of those that have become worse. */
async function compare(all: readonly Guarded[]): Promise<string[]> {
  const kept = new Map(Object.entries(JSON.parse(readFileSync(KEPT, 'utf8')) as Record<string, number>));
  const unknown = all.filter(({ name }) => !kept.has(name)).map(({ name }) => `${name}: nothing is kept`);
  const gone = [...kept.keys()].filter((name) => !all.some((one) => one.name === name));
  if (unknown.length + gone.length > 0) return [...unknown, ...gone.map((name) => `${name}: not measured`)];
  const fallen: string[] = [];
  for (const one of all) {
    const before = kept.get(one.name)!;
    const least = before * LEAST_PART;
    const first = await ratioOf(one, PAIRS);
    const ratio = first >= least ? first : Math.max(first, await ratioOf(one, PAIRS));
    console.log(`${ratio.toFixed(3)}, kept ${before.toFixed(3)}  ${one.name}`);
    if (ratio < least) fallen.push(`${one.name}: ${ratio.toFixed(3)}, and ${before.toFixed(3)} is kept`);
  }
  return fallen;
}

const fallen = await withServer(async (url, folder) => {
  const all = guarded(url, folder);
  // What is compiled and cached at first must not be in any figure.
  for (const one of all) await ratioOf(one, 1);
  if (!process.argv.includes('--keep')) return compare(all);
  await keep(all);
  return [];
});
if (fallen.length > 0) {
  console.error(
    `Slower by a third or more:\n${fallen.join('\n')}\nIf that is meant: node test/bench/guard.ts --keep`,
  );
  process.exit(1);
}
