/**
 * What a person or an orchestrator waits for: `--version`, and a start over a large store up to the first request to
 * the service; and what a daemon takes that has little to do. Each process is the real program. Alone:
 * `node test/bench/start.ts --birds 2000 --events 2000000 --store FILE`; the file is filled where there is none, and kept.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { systemClock } from '../../src/time/clock.ts';
import { median } from './ingest.ts';
import { fillStore, type Size } from './pages-store.ts';

export const START: Size = { birds: 2_000, events: 2_000_000, alerts: 1_000 };

const MAIN = join(import.meta.dirname, '../../src/main.ts');

/** Each start is measured so often, in turns with what it is measured beside. */
const TIMES = 7;

/** How the demo's regions are: so many Birds with so many Flights an hour. */
const DEMO = { birds: 40, flights: 600 };
/** A first life as long as this leaves what it compiled for the next one, as the image has it from the beginning. */
const COMPILED_AFTER_MS = 15_000;
/** What is compiled at first has settled then. */
const IDLE_AFTER_MS = 45_000;

interface Waited {
  readonly wallMs: number;
  /** Of the process itself: what other programs take from a busy machine is not in it. */
  readonly processorMs: number;
}

export const VERSION_ARGS: readonly string[] = [MAIN, '--version'];

/** `--version`, beside a program that does nothing: its bare start is Node's, not ours. */
async function benchVersion(): Promise<{ version: Waited; bare: Waited }> {
  await ended(VERSION_ARGS);
  const versions: number[] = [];
  const bares: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    bares.push(await ended(['--eval', '0']));
    versions.push(await ended(VERSION_ARGS));
  }
  return {
    version: { wallMs: median(versions), processorMs: await startedProcessorMs(VERSION_ARGS, TIMES) },
    bare: { wallMs: median(bares), processorMs: await startedProcessorMs(['--eval', '0'], TIMES) },
  };
}

/** Milliseconds until Node has run this. */
async function ended(args: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  const [code] = await once(spawn(process.execPath, args, { stdio: 'ignore' }), 'close');
  if (code !== 0) throw new Error(`${args.join(' ')} exits with ${code}`);
  return performance.now() - startedMs;
}

/** Milliseconds of the processor that Node takes to run this, on the average of so many times. */
export async function startedProcessorMs(args: readonly string[], times: number): Promise<number> {
  // A shell's `times` says what its children took, in steps of 10 ms.
  const script = `for at in ${'. '.repeat(times)}; do "$@" > /dev/null || exit 1; done; times`;
  const shell = spawn('/bin/sh', ['-c', script, 'sh', process.execPath, ...args]);
  let said = '';
  shell.stdout.on('data', (text) => {
    said += text;
  });
  const [code] = await once(shell, 'close');
  if (code !== 0) throw new Error(`${args.join(' ')} fails`);
  return childrenMs(said) / times;
}

/** Of the second line of `times`: what children took as user and as system, such as `0m0.080s 0m0.020s`. */
function childrenMs(times: string): number {
  const [, children = ''] = times.split('\n');
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)]
    .map(([, minutes, seconds]) => Number(minutes) * 60_000 + Number(seconds) * 1000)
    .reduce((sum, ms) => sum + ms, 0);
}

/** A start of the daemon up to its first request, over the store in this file, and over an empty one beside it. */
async function benchReady(file: string): Promise<{ full: Waited; empty: Waited }> {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bench-'));
  const fulls: Waited[] = [];
  const empties: Waited[] = [];
  for (let time = 0; time <= TIMES; time += 1) {
    const empty = await untilFirstRequest(folder, join(folder, `empty-${time}.db`));
    const full = await untilFirstRequest(folder, file);
    if (time > 0) {
      empties.push(empty);
      fulls.push(full);
    }
  }
  rmSync(folder, { recursive: true });
  return { full: middle(fulls), empty: middle(empties) };
}

async function untilFirstRequest(folder: string, store: string): Promise<Waited> {
  const heard = Promise.withResolvers<void>();
  const service = createServer((_request, response) => {
    heard.resolve();
    response.writeHead(503).end();
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const { port } = service.address() as AddressInfo;
  const startedMs = performance.now();
  const child = startDaemon(folder, store, `http://127.0.0.1:${port}`);
  await Promise.race([heard.promise, failure(child)]);
  const waited = { wallMs: performance.now() - startedMs, processorMs: processorMs(child.pid!) };
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
  service.closeAllConnections();
  service.close();
  return waited;
}

function startDaemon(folder: string, store: string, service: string): ChildProcess {
  const config = join(folder, 'nestwatch.yaml');
  writeFileSync(
    config,
    `regions:
  eu: { base_url: "${service}", token: demo }
store: { url: "sqlite:${store}" }
route: { receiver: ops }
receivers: [{ name: ops, webhook_configs: [{ url: "http://127.0.0.1:9/" }] }]
web: { listen: "127.0.0.1:0" }
`,
  );
  const options = ['--config.file', config, '--log.level', 'error', '--log.format', 'json'];
  return spawn(process.execPath, [MAIN, 'run', ...options], {
    stdio: ['ignore', 'ignore', 'inherit'],
    // As in the image: one heap of the C library, and a cache without which the reader of TypeScript stays in memory.
    env: {
      ...process.env,
      MALLOC_ARENA_MAX: '1',
      NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
    },
  });
}

/** Rejects when the daemon ends by itself. */
async function failure(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit');
  throw new Error(`the daemon exits with ${code}`);
}

/** Resident memory of a daemon that watches one region as large as the demo's, while nobody looks at its pages. */
async function benchIdle(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bench-'));
  const { birds, flights } = DEMO;
  const size = ['--birds', String(birds), '--flights', String(flights)];
  const service = spawn(process.execPath, [
    ...[MAIN, 'simulate', '--listen', '127.0.0.1:0', '--token', 'demo'],
    ...size,
  ]);
  const [address] = await once(service.stdout, 'data');
  const url = /base_url: (\S+)/.exec(String(address))![1]!;
  const store = join(folder, 'store.db');
  await residentMiB(startDaemon(folder, store, url), COMPILED_AFTER_MS);
  const resident = await residentMiB(startDaemon(folder, store, url), IDLE_AFTER_MS);
  await end(service);
  rmSync(folder, { recursive: true });
  return resident;
}

/** Of a daemon after so long, which ends it. */
async function residentMiB(child: ChildProcess, afterMs: number): Promise<number> {
  await Promise.race([sleep(afterMs), failure(child)]);
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  await end(child);
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
}

async function end(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill();
  await exit;
}

/** What a process has used, in steps of 10 ms. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function middle(waited: readonly Waited[]): Waited {
  return {
    wallMs: median(waited.map(({ wallMs }) => wallMs)),
    processorMs: median(waited.map(({ processorMs: ms }) => ms)),
  };
}

const shown = ({ wallMs, processorMs: ms }: Waited) =>
  `${wallMs.toFixed(0)} ms, of the processor ${ms.toFixed(0)} ms`;

export async function printStart(size: Size, file?: string): Promise<void> {
  const { version, bare } = await benchVersion();
  console.log(`  nestwatch --version: ${shown(version)} (aim: at most 120); Node alone: ${shown(bare)}`);
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bench-'));
  const path = file ?? join(folder, 'store.db');
  if (!existsSync(path)) {
    const clock = systemClock();
    const store = await openSqliteStore({ path, clock });
    await fillStore(store, size, clock.nowUs());
    await store.close();
  }
  const { full, empty } = await benchReady(path);
  console.log(
    `  first request after a start over ${size.birds.toLocaleString('en')} Birds and ` +
      `${size.events.toLocaleString('en')} events: ${shown(full)} (aim: at most 1,000); over nothing: ${shown(empty)}`,
  );
  rmSync(folder, { recursive: true });
  console.log(
    `  resident memory of a daemon that watches ${DEMO.birds} Birds with ${DEMO.flights} Flights an hour: ` +
      `${(await benchIdle()).toFixed(0)} MiB (aim: at most 100)`,
  );
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { birds: { type: 'string' }, events: { type: 'string' }, store: { type: 'string' } },
  });
  const birds = Number(values.birds ?? START.birds);
  const events = Number(values.events ?? START.events);
  await printStart({ birds, events, alerts: Math.min(START.alerts, birds) }, values.store);
}
