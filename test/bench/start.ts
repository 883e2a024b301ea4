/**
 * What a person or an orchestrator waits for: `--version`, and a start with a large store up to the first request to
 * the service; and what a daemon with little to do takes. Each process is the real program. Run it alone: `node
 * test/bench/start.ts --birds 2000 --events 2000000 --store FILE`. The file is created if it does not exist, and
 * kept.
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
import { MAIN } from '../program.ts';
import { median } from './ingest.ts';
import { fillStore, type Size } from './pages-store.ts';

export const START: Size = { birds: 2_000, events: 2_000_000, alerts: 1_000 };

/** Each start is measured this often, in turns with what it is compared with. */
const TIMES = 7;

/** Regions as in the demo: this many Birds with this many Flights per hour. */
const DEMO = { birds: 40, flights: 600 };
/** A first life of this length leaves its compile cache for the next one, as the image has it from the beginning. */
const COMPILED_AFTER_MS = 15_000;
/** By then, what is compiled at first has settled. */
const IDLE_AFTER_MS = 45_000;

interface Waited {
  readonly wallMs: number;
  /** Processor time of the process itself, so other programs on a busy machine do not count. */
  readonly processorMs: number;
}

export const VERSION_ARGS: readonly string[] = [MAIN, '--version'];

/** `--version`, compared with a program that does nothing, whose start is only Node's. */
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

/** Milliseconds of processor time that Node takes to run this, averaged over this many times. */
export async function startedProcessorMs(args: readonly string[], times: number): Promise<number> {
  // A shell's `times` prints what its children took, in steps of 10 ms.
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

/** From the second line of `times`: user and system time of the children, such as `0m0.080s 0m0.020s`. */
function childrenMs(times: string): number {
  const [, children = ''] = times.split('\n');
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)]
    .map(([, minutes, seconds]) => Number(minutes) * 60_000 + Number(seconds) * 1000)
    .reduce((sum, ms) => sum + ms, 0);
}

/** A start of the daemon up to its first request, with the store in this file, and with an empty one. */
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
    // As in the image: one heap of the C library, and a compile cache, without which the TypeScript compiler stays in
    // memory.
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

/** Resident memory of a daemon that watches one region as large as the demo's, while nobody opens its pages. */
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

/** The resident memory of a daemon after this time; then ends it. */
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

/** The processor time that a process has used, in steps of 10 ms. */
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
