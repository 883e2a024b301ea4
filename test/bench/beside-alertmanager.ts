/**
 * Alerts delivered per second, compared with a real Alertmanager on the same work in the same run: many groups of one
 * alert, and one group of many alerts, to one webhook. Alertmanager gets them by its API in posts of 100. nestwatch
 * gets pages of 100 failed Flights, which it makes durable, as alerts and as notifications, before anything is sent. Both
 * are measured in turns, and the medians count.
 *
 *   node test/bench/beside-alertmanager.ts [alerts in groups of their own] [alerts in one group]
 */
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Event } from '../../src/domain/alert/event.ts';
import { formatInstant } from '../../src/time/instant.ts';
import { forkAsProgram } from './as-program.ts';
import { median } from './ingest.ts';

export interface Side {
  readonly alertsPerSecond: number;
  readonly peakMiB: number;
  readonly posts: number;
  /** Processor time per alert, of all threads of the process. */
  readonly cpuUs: number;
  /** From the first alert until the first message arrived. */
  readonly firstSeconds: number;
  /** What it wrote to files per alert, and in how many calls. */
  readonly writtenKiB: number;
  readonly writes: number;
}

export interface Work {
  readonly name: string;
  readonly alerts: number;
  readonly groupBy: string;
}

const ROUNDS = 3;

const PAGE = 100;
/** The number of Birds in a Nest. */
const NEST = 50;

const MANY_AIMS = '1.0; 0.3; the first after 0.3 s; 220 µs, 6 KiB in 1.5 writes';
const ONE_AIMS = '1.5; 1.2';

/** An alert that joins a group later waits for the group's interval, so the one group has a short interval. */
export function routeYaml(groupBy: string): string {
  const interval = groupBy === 'region' ? '1s' : '5m';
  return `{ receiver: hook, group_by: [${groupBy}], group_wait: 0s, group_interval: ${interval}, repeat_interval: 4h }`;
}

/** The event of one failed Flight in a storm; each Bird has one. */
export function failure(index: number, nowUs: number): Event {
  return {
    key: `eu/flight/${index.toString(16).padStart(32, '0')}/failed`,
    region: 'eu',
    feed: 'flight',
    type: 'flight.failed',
    occurredAt: formatInstant(nowUs),
    occurredAtUs: nowUs,
    observedAtUs: nowUs,
    nestId: String(Math.floor(index / NEST)),
    nest: 'Marketing',
    birdId: String(index),
    bird: `Translate blog ${index}`,
    message: 'The connection to the translation service was refused (503)',
    attributes: { flight_id: index.toString(16).padStart(32, '0'), started_at_us: nowUs - 60_000_000 },
  };
}

interface Counted {
  readonly alerts: number;
  readonly posts: number;
  /** When the first POST arrived, milliseconds since 1970. */
  readonly firstAtMs: number;
}

interface Started {
  readonly pid: number;
  /** Starts to send it alerts. */
  readonly feed: () => void;
  readonly end: () => Promise<void>;
}

/** Measures a program that delivers to a counting receiver, from the first alert until all have arrived. */
export async function measure(alerts: number, start: (port: number) => Promise<Started>): Promise<Side> {
  const receiver = fork(import.meta.filename, ['receiver']);
  const [{ port }] = (await once(receiver, 'message')) as [{ port: number }];
  const program = await start(port);
  const before = spentBy(program.pid);
  const began = performance.now();
  const beganAtMs = nowMs();
  program.feed();
  let counted: Counted = { alerts: 0, posts: 0, firstAtMs: 0 };
  while (counted.alerts < alerts) {
    await wait(20);
    counted = await ask(receiver);
  }
  const seconds = (performance.now() - began) / 1000;
  const peakMiB = peakOf(program.pid);
  const after = spentBy(program.pid);
  await program.end();
  receiver.disconnect();
  return {
    alertsPerSecond: alerts / seconds,
    peakMiB,
    posts: counted.posts,
    cpuUs: ((after.cpuSeconds - before.cpuSeconds) * 1_000_000) / alerts,
    firstSeconds: (counted.firstAtMs - beganAtMs) / 1000,
    writtenKiB: (after.writtenBytes - before.writtenBytes) / 1024 / alerts,
    writes: (after.writes - before.writes) / alerts,
  };
}

async function ask(receiver: ChildProcess): Promise<Counted> {
  receiver.send('how many');
  const [counted] = (await once(receiver, 'message')) as [Counted];
  return counted;
}

function peakOf(pid: number): number {
  const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1] ?? 0) / 1024;
}

/** User and system time, which Linux counts in hundredths of a second, and the bytes written to files and sockets. */
function spentBy(pid: number) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  const io = readFileSync(`/proc/${pid}/io`, 'utf8');
  const counted = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(io)?.[1] ?? 0);
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
    writtenBytes: counted('write_bytes'),
    writes: counted('syscw'),
  };
}

/** The same clock in all processes of a run. */
function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Alertmanager with the same work. */
export async function deliverByAlertmanager({ alerts, groupBy }: Work): Promise<Side> {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bench-'));
  let program: ChildProcess | undefined;
  let pool: Pool | undefined;
  try {
    const side = measure(alerts, async (port) => {
      const file = join(folder, 'alertmanager.yml');
      const receivers = `[{ name: hook, webhook_configs: [{ url: "http://127.0.0.1:${port}/" }] }]`;
      writeFileSync(file, `route: ${routeYaml(groupBy)}\nreceivers: ${receivers}\n`);
      const started = spawn(
        'prometheus-alertmanager',
        [
          `--config.file=${file}`,
          `--storage.path=${folder}`,
          '--web.listen-address=127.0.0.1:0',
          '--cluster.listen-address=',
        ],
        { stdio: ['ignore', 'ignore', 'pipe'] },
      );
      program = started;
      pool = new Pool(await listening(started.stderr), { connections: 4 });
      const to = pool;
      return { pid: started.pid!, feed: () => void feed(to, alerts), end: async () => {} };
    });
    return await side;
  } finally {
    await pool?.close();
    if (program) {
      const ended = once(program, 'exit');
      program.kill();
      await ended;
    }
    rmSync(folder, { recursive: true });
  }
}

async function listening(stderr: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stderr })) {
    const found = /msg="?Listening on"? address=(\S+)/.exec(line);
    if (!found) continue;
    stderr.resume();
    return `http://${found[1]}`;
  }
  throw new Error('Alertmanager did not start');
}

async function feed(pool: Pool, alerts: number): Promise<void> {
  let next = 0;
  const startsAt = new Date().toISOString();
  async function post(): Promise<void> {
    for (let first = next; first < alerts; first = next) {
      next = first + PAGE;
      const body = Array.from({ length: Math.min(PAGE, alerts - first) }, (_, at) => ({
        labels: {
          alertname: 'FlightFailed',
          severity: 'warning',
          region: 'eu',
          nest_id: '682',
          nest: 'Marketing',
          bird_id: String(first + at),
          bird: `Translate blog ${first + at}`,
          error: 'The connection to the translation service was refused',
        },
        annotations: {
          summary: `Flight of Translate blog ${first + at} failed in Marketing (EU)`,
          description: 'The connection to the translation service was refused (503)',
        },
        startsAt,
      }));
      const response = await pool.request({
        path: '/api/v2/alerts',
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      await response.body.dump();
      if (response.statusCode !== 200) throw new Error(`Alertmanager answered ${response.statusCode}`);
    }
  }
  await Promise.all(Array.from({ length: 4 }, post));
}

/** nestwatch alone: what delivering these alerts takes. */
export async function deliverAlerts({ alerts, groupBy }: Work): Promise<Side> {
  return measure(alerts, async (port) => {
    const child = forkAsProgram(join(import.meta.dirname, 'telling-process.ts'), [
      String(port),
      String(alerts),
      groupBy,
    ]);
    await once(child, 'message');
    return {
      pid: child.pid!,
      feed: () => void child.send('go'),
      async end() {
        const ended = once(child, 'exit');
        child.disconnect();
        await ended;
      },
    };
  });
}

/** Counts each alert once, however often it is notified. */
function receive(): void {
  const seen = new Set<string>();
  let posts = 0;
  let firstAtMs = 0;
  const server = createServer(async (request, response) => {
    const { alerts } = (await json(request)) as { alerts: { fingerprint: string }[] };
    for (const { fingerprint } of alerts) seen.add(fingerprint);
    posts += 1;
    firstAtMs ||= nowMs();
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address && typeof address === 'object') process.send?.({ port: address.port });
  });
  process.on('message', () => process.send?.({ alerts: seen.size, posts, firstAtMs } satisfies Counted));
  process.on('disconnect', () => process.exit());
}

/** The median of each figure. */
function middle(sides: readonly Side[]): Side {
  const of = (figure: keyof Side) => median(sides.map((side) => side[figure]));
  return {
    alertsPerSecond: of('alertsPerSecond'),
    peakMiB: of('peakMiB'),
    posts: of('posts'),
    cpuUs: of('cpuUs'),
    firstSeconds: of('firstSeconds'),
    writtenKiB: of('writtenKiB'),
    writes: of('writes'),
  };
}

export const isAlertmanagerHere = () =>
  spawnSync('prometheus-alertmanager', ['--version']).error === undefined;

export async function printBesideAlertmanager(many = 20_000, oneGroup = 10_000): Promise<void> {
  const whole = (value: number) => Math.round(value).toLocaleString('en');
  const works: (Work & { readonly aims: string })[] = [
    {
      name: `${whole(many)} alerts in groups of their own`,
      alerts: many,
      groupBy: 'bird_id',
      aims: MANY_AIMS,
    },
    { name: `${whole(oneGroup)} alerts in one group`, alerts: oneGroup, groupBy: 'region', aims: ONE_AIMS },
  ];
  for (const work of works) {
    const theirs: Side[] = [];
    const ours: Side[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      theirs.push(await deliverByAlertmanager(work));
      ours.push(await deliverAlerts(work));
    }
    console.log(`  ${work.name}`);
    for (const [name, sides] of [
      ['Alertmanager', theirs],
      ['nestwatch', ours],
    ] as const) {
      const { alertsPerSecond, firstSeconds, peakMiB, posts, cpuUs, writtenKiB, writes } = middle(sides);
      console.log(
        `    ${name.padEnd(13)}${whole(alertsPerSecond).padStart(6)} alerts/s in ${whole(posts)} posts, the first after ${firstSeconds.toFixed(2)} s; an alert: ${whole(cpuUs)} µs of processor time, ${writtenKiB.toFixed(1)} KiB in ${writes.toFixed(1)} writes; ${whole(peakMiB)} MiB at most`,
      );
    }
    const ofTheirs = (figure: keyof Side) =>
      median(ours.map((side, round) => side[figure] / theirs[round]![figure])).toFixed(2);
    console.log(
      `    ${ofTheirs('alertsPerSecond')} times its rate, ${ofTheirs('peakMiB')} of its memory (aims: ${work.aims})`,
    );
  }
}

if (process.argv[2] === 'receiver') receive();
else if (import.meta.main) {
  const [many, oneGroup] = process.argv.slice(2).map(Number);
  await printBesideAlertmanager(many, oneGroup);
}
