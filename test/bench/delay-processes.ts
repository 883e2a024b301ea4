/**
 * How long events wait, with real processes on the real clock: `simulate` with 429 beyond a rate, and the daemon from
 * a cold start. For comparison, a uniform reader that knows the rate reads a second `simulate` with the same events.
 * Both readers are judged by Flights that ended while they ran, by the instants that the service gives: `node
 * test/bench/delay-processes.ts --minutes 10`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openTransport } from '../../src/http/transport.ts';
import { secret } from '../../src/secret.ts';
import { createServiceClient, type ServiceClient } from '../../src/service/client.ts';
import { systemClock } from '../../src/time/clock.ts';
import { MAIN } from '../program.ts';

interface Settings {
  readonly birds: number;
  /** Per hour, of all Birds together. */
  readonly flights: number;
  readonly requestsPerSecond: number;
  readonly minutes: number;
}

/** A Flight that ended, and when that was seen. */
interface Seen {
  readonly endedMs: number;
  readonly seenMs: number;
}

const TOKEN = 'bench-token';
/** Time in which the last ends can be seen; uniform reading needs a round for that. */
const GRACE_MS = 150_000;
/** The uniform reader stays this far below the limit, so that it is never refused. */
const BELOW_LIMIT = 0.97;

async function runProcesses(settings: Settings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-delay-'));
  const children: ChildProcess[] = [];
  const start = (args: readonly string[]) => {
    const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
    children.push(child);
    return child;
  };
  try {
    const faults = join(folder, 'faults.yaml');
    writeFileSync(faults, `requests_per_second: ${settings.requestsPerSecond}\nlatency_ms: 60\n`);
    const life = ['--birds', `${settings.birds}`, '--flights', `${settings.flights}`, '--seed', '1'];
    const simulate = async () => {
      const args = ['simulate', '--listen', '127.0.0.1:0', '--token', TOKEN, '--faults', faults, ...life];
      const [first] = (await once(start(args).stdout!, 'data')) as [Buffer];
      return /^base_url: (.*)$/m.exec(first.toString())![1]!;
    };
    const [watched, other] = await Promise.all([simulate(), simulate()]);
    const port = await freePort();
    const config = join(folder, 'nestwatch.yaml');
    writeFileSync(config, configOf(watched, port, folder));
    const stop = new AbortController();
    const beganMs = Date.now();
    start(['run', '--config.file', config]);
    const uniform = readUniformly(other, settings.requestsPerSecond * BELOW_LIMIT, stop.signal);
    await sleep(settings.minutes * 60_000 + GRACE_MS);
    stop.abort();
    const untilMs = beganMs + settings.minutes * 60_000;
    const ours = await seenByDaemon(`http://127.0.0.1:${port}`, beganMs);
    print(settings, beganMs, untilMs, ours, await uniform);
  } finally {
    for (const child of children) child.kill();
    rmSync(folder, { recursive: true });
  }
}

function configOf(baseUrl: string, port: number, folder: string): string {
  return [
    `regions: { eu: { base_url: "${baseUrl}", token: ${TOKEN} } }`,
    `store: { url: "sqlite:${join(folder, 'nestwatch.db')}" }`,
    'route: { receiver: nobody }',
    'receivers: [{ name: nobody }]',
    `web: { listen: "127.0.0.1:${port}" }`,
    '',
  ].join('\n');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

/** Reads the Nests and their Birds, and then each Bird's Flights and log in turn. */
async function readUniformly(baseUrl: string, perSecond: number, signal: AbortSignal): Promise<Seen[]> {
  const transport = openTransport({ connections: 8, timeoutMs: 15_000, maxBodyBytes: 2 ** 24 });
  const client = createServiceClient({
    region: { name: 'eu', baseUrl, token: secret(TOKEN), requestsPerSecond: 1_000, concurrency: 8 },
    transport,
    clock: systemClock(),
    random: Math.random,
    report: () => {},
    startPerSecond: 1_000,
  });
  const seen = new Map<string, Seen>();
  const beganMs = Date.now();
  let turn = 0;
  /** Waits for the next turn. Turns come at a fixed rate, however long answers take. */
  const next = async () => {
    turn += 1;
    await sleep(Math.max(0, beganMs + (turn * 1000) / perSecond - Date.now()));
  };
  const birds = await birdsOf(client, next);
  const looks: Promise<void>[] = [];
  for (let at = 0; !signal.aborted; at += 1) {
    const { nestId, birdId } = birds[(at >> 1) % birds.length]!;
    await next();
    const fromUs = (beganMs - 3_600_000) * 1000;
    const look =
      at % 2 === 0
        ? lookAtFlights(client, nestId, birdId, fromUs, seen)
        : readLog(client, nestId, birdId, fromUs);
    looks.push(look);
  }
  await Promise.all(looks);
  await client.close();
  await transport.close();
  return [...seen.values()].filter(({ endedMs }) => endedMs >= beganMs);
}

async function birdsOf(client: ServiceClient, next: () => Promise<void>) {
  const birds: { readonly nestId: string; readonly birdId: string }[] = [];
  await next();
  for (const nest of (await client.searchNests()).value) {
    if (!nest.ok) continue;
    await next();
    for (const bird of (await client.searchBirds(nest.entry.id)).value) {
      if (bird.ok) birds.push({ nestId: nest.entry.id, birdId: bird.entry.id });
    }
  }
  return birds;
}

async function lookAtFlights(
  client: ServiceClient,
  nestId: string,
  birdId: string,
  minStartUs: number,
  seen: Map<string, Seen>,
): Promise<void> {
  const { value } = await client.searchFlights(nestId, birdId, { minStartUs });
  for (const flight of value) {
    if (!flight.ok || flight.entry.status === 'active' || seen.has(flight.entry.id)) continue;
    const { id, startedAt, durationSeconds } = flight.entry;
    if (!startedAt || durationSeconds === null) continue;
    seen.set(id, { endedMs: startedAt.us / 1000 + durationSeconds * 1000, seenMs: Date.now() });
  }
}

async function readLog(client: ServiceClient, nestId: string, birdId: string, fromUs: number): Promise<void> {
  await client.getBirdLogs(nestId, birdId, { page: 0, pageSize: 100, ascending: true, fromUs });
}

async function seenByDaemon(url: string, beganMs: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  for (let cursor = '', isFirst = true; isFirst || cursor !== ''; isFirst = false) {
    const query = new URLSearchParams({
      feed: 'flight',
      since: new Date(beganMs).toISOString(),
      limit: '1000',
    });
    if (cursor !== '') query.set('cursor', cursor);
    const answer = await fetch(`${url}/api/v1/events?${query}`);
    if (!answer.ok) throw new Error(`the daemon answered ${answer.status}: ${await answer.text()}`);
    const page = (await answer.json()) as {
      readonly events: readonly { readonly occurred_at: string; readonly observed_at: string }[];
      readonly next?: string;
    };
    for (const { occurred_at, observed_at } of page.events) {
      seen.push({ endedMs: Date.parse(occurred_at), seenMs: Date.parse(observed_at) });
    }
    cursor = page.next ?? '';
  }
  return seen;
}

function print(
  settings: Settings,
  beganMs: number,
  untilMs: number,
  ours: readonly Seen[],
  uniform: readonly Seen[],
): void {
  const { birds, flights, requestsPerSecond, minutes } = settings;
  console.log(
    `Real processes, cold: ${birds} Birds, ${flights} Flights an hour, 429 beyond ${requestsPerSecond}/s, ${minutes} min`,
  );
  console.log('  ended within        reader     Flights     mean     p50     p99   seconds');
  const windows = [
    ['the first 3 min', beganMs, Math.min(untilMs, beganMs + 180_000)],
    ['the whole time', beganMs, untilMs],
  ] as const;
  for (const [name, fromMs, toMs] of windows) {
    const rows = [
      ['uniform', uniform],
      ['nestwatch', ours],
    ] as const;
    const figures = rows.map(([reader, seen]) => {
      const delays = seen
        .filter(({ endedMs }) => endedMs >= fromMs && endedMs < toMs)
        .map(({ endedMs, seenMs }) => (seenMs - endedMs) / 1000)
        .sort((a, b) => a - b);
      const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length;
      const [p50, p99] = [0.5, 0.99].map(
        (part) => delays[Math.floor(part * delays.length)] ?? Number.NaN,
      ) as [number, number];
      const shown = [mean, p50, p99].map((value) => value.toFixed(1).padStart(7)).join(' ');
      console.log(
        `  ${name.padEnd(18)}  ${reader.padEnd(10)} ${String(delays.length).padStart(7)}  ${shown}`,
      );
      return { mean, p99 };
    });
    const [before, after] = figures as [(typeof figures)[number], (typeof figures)[number]];
    console.log(
      `  ${' '.repeat(18)}  ratio: mean ${(after.mean / before.mean).toFixed(2)}, p99 ${(after.p99 / before.p99).toFixed(2)}`,
    );
  }
}

if (import.meta.main) {
  const number = (fallback: number) => ({ type: 'string', default: String(fallback) }) as const;
  const { values } = parseArgs({
    options: { birds: number(150), flights: number(1800), rate: number(4), minutes: number(10) },
  });
  await runProcesses({
    birds: Number(values.birds),
    flights: Number(values.flights),
    requestsPerSecond: Number(values.rate),
    minutes: Number(values.minutes),
  });
}
