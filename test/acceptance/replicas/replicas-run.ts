/**
 * Three real processes on one real PostgreSQL, and what befalls them in random order: SIGKILL, SIGSTOP for longer than a
 * lease, SIGTERM, a restart of the server; or the server away for minutes. Afterwards nothing is lost, sent twice but
 * under the same id, or invented; what one left another went on with in time; and no two read a region at once.
 * By hand: `node test/acceptance/replicas/replicas-run.ts --faults 60 [--seed 1] [--outage 10m] [--regions 40] [--keep]`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import { sleep, systemClock } from '../../../src/time/clock.ts';
import { parseDuration } from '../../../src/time/duration.ts';
import { findServer, type PostgresServer, startServer } from '../../store/postgres/postgres-server.ts';
import { freePort } from '../../system/live-prometheus.ts';
import { createFleet, type Fleet, type Replica } from './fleet.ts';
import { type Fault, quantile, readBy, type Takeover, takenOver } from './taken-over.ts';
import { openWatchedService, type WatchedService } from './watched-service.ts';
import { type Commits, createUsers, watchCommits } from './who-commits.ts';
import { openWitness, type Witness } from './witness.ts';

/** Longer than two leases. */
const PAUSE_MS = 40_000;
/** What is not taken over by then never will be. */
const GIVEN_UP_MS = 90_000;
/** What is owned for less than a minute does not move. */
const SPREAD_MS = 240_000;
const BEAT_MS = 2_000;

export interface RunOptions {
  readonly faults: number;
  readonly seed: number;
  readonly kinds?: readonly Fault[];
  readonly replicas?: number;
  readonly regions?: number;
  readonly birds?: number;
  readonly pauseMs?: number;
  /** How long to wait at first until every replica reads its share. */
  readonly spreadMs?: number;
  /** The server is away for so long, once, before the faults. */
  readonly outageMs?: number;
  readonly log?: (line: string) => void;
  readonly keep?: boolean;
}

export interface RunFigures {
  readonly faults: Readonly<Record<Fault, number>>;
  readonly events: number;
  readonly lost: readonly string[];
  readonly invented: readonly string[];
  readonly repeatedUnderOneId: number;
  readonly repeatedUnderAnotherId: readonly string[];
  readonly takeovers: readonly Takeover[];
  /** Regions that nobody went on with. */
  readonly abandoned: readonly string[];
  readonly commits: number;
  readonly trespasses: readonly string[];
  readonly sharedEpochs: readonly string[];
  readonly crashes: readonly string[];
  readonly residentMiB: readonly number[];
  readonly outage: OutageFigures | undefined;
  /** What the logs said, beside `info`. */
  readonly said: ReadonlyMap<string, number>;
  /** Lines of the logs that are no JSON. */
  readonly unreadable: readonly string[];
}

export interface OutageFigures {
  readonly forMs: number;
  /** When each replica was not ready any more, and when it was again after the server had come back. */
  readonly unreadyMs: readonly number[];
  readonly readyAgainMs: readonly number[];
  /** The last call of the watchdog after the server went, and the first after it came back. */
  readonly lastBeatMs: number;
  readonly nextBeatMs: number;
  /** Of each replica: before, at the most while the server was away, and a minute later. */
  readonly residentMiB: readonly { readonly before: number; readonly most: number; readonly after: number }[];
  /** What the logs said of it, beside `info`. */
  readonly said: ReadonlyMap<string, number>;
}

interface Scene {
  readonly server: PostgresServer;
  readonly service: WatchedService;
  readonly witness: Witness;
  readonly fleet: Fleet;
  readonly random: () => number;
  readonly log: (line: string) => void;
}

export async function replicasRun(options: RunOptions): Promise<RunFigures> {
  const {
    faults,
    seed,
    keep = false,
    log = () => {},
    kinds = ['kill', 'pause', 'stop', 'restart'],
  } = options;
  const { replicas = 3, regions = 40, birds = 20, pauseMs = PAUSE_MS, spreadMs = 0, outageMs = 0 } = options;
  const bin = findServer();
  if (bin === undefined) throw new Error('PostgreSQL was not found: apt-get install postgresql');
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-replicas-'));
  const clock = systemClock();
  const random = seededRandom(seed);
  const server = await startServer(bin, ['max_connections=100']);
  const service = await openWatchedService(replicas, { clock, seed, regions, birds, everyMs: 4_000 });
  const witness = await openWitness();
  const ports = await Promise.all(Array.from({ length: replicas }, freePort));
  const crashes: string[] = [];
  const fleet = createFleet({
    folder,
    ports,
    configOf: (place) => draft({ place, server, service, witness, port: ports[place]! }),
    begun: service.isLife,
    crashed: (what) => void crashes.push(what),
  });
  const scene = { server, service, witness, fleet, random, log };
  const takeovers: Takeover[] = [];
  const abandoned: string[] = [];
  const done: Record<Fault, number> = { kill: 0, pause: 0, stop: 0, restart: 0 };
  try {
    const commits = await openStore(scene, replicas);
    await Promise.all(ports.map((_, place) => fleet.start(place)));
    await isRead(scene);
    if (spreadMs > 0) await isSpread(scene, spreadMs);
    const outage = outageMs > 0 ? await bearOutage(scene, outageMs) : undefined;
    for (const fault of shuffled(faults, kinds, random)) {
      const struck = await strike(scene, fault, pauseMs);
      takeovers.push(...struck.takeovers);
      abandoned.push(...struck.abandoned);
      done[fault] += 1;
      await isRead(scene);
      await sleep(clock, 1_000 + random() * 5_000);
    }
    await allHasCome(scene);
    const residentMiB = fleet.running().map(({ place }) => fleet.residentMiB(place));
    await Promise.all(fleet.running().map(({ place }) => fleet.end(place, 'SIGTERM')));
    return {
      ...{ faults: done, takeovers, abandoned, crashes, residentMiB, outage },
      ...judge(scene),
      ...(await commits.look()),
      said: fleet.said(),
      unreadable: fleet.unreadable(),
    };
  } finally {
    await fleet.endAll();
    await Promise.all([service.close(), witness.close(), server.remove()]);
    if (keep) log(`Logs and configurations: ${folder}`);
    else rmSync(folder, { recursive: true });
  }
}

/** Has a replica make the tables, and ends it again, so that there is something to look at. */
async function openStore({ server, fleet }: Scene, replicas: number): Promise<Commits> {
  const users = Array.from({ length: replicas }, (_, place) => `replica${place}`);
  await createUsers(server, users);
  await fleet.start(0);
  await fleet.end(0, 'SIGTERM');
  return watchCommits(server);
}

/** Every kind as often as any other, in random order. */
function shuffled(count: number, kinds: readonly Fault[], random: () => number): Fault[] {
  return Array.from({ length: count }, (_, index) => ({ kind: kinds[index % kinds.length]!, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ kind }) => kind);
}

async function until(isTrue: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const endMs = Date.now() + withinMs;
  while (Date.now() < endMs) {
    if (await isTrue()) return true;
    await sleep(systemClock(), 100);
  }
  return false;
}

/** Waits until each region was asked for a moment ago by a life that runs. */
async function isRead({ service, fleet }: Scene): Promise<void> {
  const isFresh = (region: string) => {
    const last = service.turnsOf(region).at(-1);
    const lives = fleet.running().map(({ life }) => life);
    return last !== undefined && lives.includes(last.life) && Date.now() - last.untilMs < 15_000;
  };
  const isAll = await until(() => service.regions.every(isFresh), GIVEN_UP_MS);
  if (!isAll)
    throw new Error(`Nobody reads ${service.regions.filter((region) => !isFresh(region)).join(', ')}`);
}

/** Waits until every replica reads at least half of what falls to it: regions that are owned move calmly. */
async function isSpread({ service, fleet, log }: Scene, withinMs: number): Promise<void> {
  const beganMs = Date.now();
  const least = Math.floor(service.regions.length / fleet.running().length / 2);
  const hasItsShare = ({ life }: Replica) => readBy(service, life).length >= least;
  await until(() => fleet.running().every(hasItsShare), withinMs);
  const shares = fleet.running().map(({ life }) => readBy(service, life).length);
  log(`the replicas read ${shares.join(', ')} regions after ${Math.round((Date.now() - beganMs) / 1000)} s`);
}

interface Outcome {
  readonly takeovers: readonly Takeover[];
  readonly abandoned: readonly string[];
}

async function strike(scene: Scene, fault: Fault, pauseMs: number): Promise<Outcome> {
  const { server, service, fleet, random, log } = scene;
  const clock = systemClock();
  if (fault === 'restart') {
    const how = random() < 0.5 ? 'fast' : 'immediate';
    log(`the server is stopped (${how})`);
    await server.stop(how);
    await sleep(clock, random() * 6_000);
    await server.start();
    return { takeovers: [], abandoned: [] };
  }
  const reading = fleet.running().filter(({ life }) => readBy(service, life).length > 0);
  const all = reading.length > 0 ? reading : fleet.running();
  const { place, life, child } = all[Math.floor(random() * all.length)]!;
  const regions = readBy(service, life);
  log(`${fault} of ${life}, which reads ${regions.length} regions`);
  if (fault === 'kill') await fleet.end(place, 'SIGKILL');
  if (fault === 'stop') await fleet.end(place, 'SIGTERM');
  if (fault === 'pause') child.kill('SIGSTOP');
  const struckMs = Date.now();
  // A life that begins meanwhile may be the one that takes over.
  const again =
    fault === 'pause' ? undefined : sleep(clock, random() * 20_000).then(() => fleet.start(place));
  await until(() => takenOver(service, regions, fault).length === regions.length, GIVEN_UP_MS);
  const takeovers = takenOver(service, regions, fault);
  if (fault === 'pause') {
    await sleep(clock, Math.max(0, struckMs + pauseMs - Date.now()));
    child.kill('SIGCONT');
  }
  const taken = new Set(takeovers.map(({ region }) => region));
  log(`  taken over within ${Math.max(0, ...takeovers.map(({ tookMs }) => tookMs)) / 1000} s`);
  await again;
  return {
    takeovers,
    abandoned: regions
      .filter(({ region }) => !taken.has(region))
      .map(({ region }) => `${region} after ${fault} of ${life}`),
  };
}

/** Takes the server away under load, and looks on. */
async function bearOutage({ server, witness, fleet, log }: Scene, forMs: number): Promise<OutageFigures> {
  const clock = systemClock();
  const places = fleet.running().map(({ place }) => place);
  await sleep(clock, 30_000);
  const saidBefore = new Map(fleet.said());
  const before = places.map((place) => fleet.residentMiB(place));
  const most = [...before];
  const unreadyMs = places.map(() => Number.POSITIVE_INFINITY);
  const readyAgainMs = places.map(() => Number.POSITIVE_INFINITY);
  const goneMs = Date.now();
  await server.stop('fast');
  log(`the server is away for ${forMs / 1000} s`);
  while (Date.now() - goneMs < forMs) {
    for (const place of places) {
      most[place] = Math.max(most[place]!, fleet.residentMiB(place));
      const status = (await fleet.ask(place, '/-/ready'))?.status;
      if (status === 503) unreadyMs[place] = Math.min(unreadyMs[place]!, Date.now() - goneMs);
      if (status === 200 && unreadyMs[place] !== Number.POSITIVE_INFINITY)
        log(`replica ${place} was ready ${(Date.now() - goneMs) / 1000} s after the server went`);
    }
    await sleep(clock, 1_000);
  }
  const saidBySoon = fleet.said();
  const said = new Map([...saidBySoon].map(([line, count]) => [line, count - (saidBefore.get(line) ?? 0)]));
  await server.start();
  const backMs = Date.now();
  log('the server is back');
  await until(async () => {
    for (const place of places) {
      const isReady = (await fleet.ask(place, '/-/ready'))?.status === 200;
      if (isReady) readyAgainMs[place] = Math.min(readyAgainMs[place]!, Date.now() - backMs);
    }
    return readyAgainMs.every(Number.isFinite) && witness.beatsMs.some((atMs) => atMs > backMs);
  }, GIVEN_UP_MS);
  await sleep(clock, 60_000);
  return {
    forMs,
    unreadyMs,
    readyAgainMs,
    lastBeatMs: Math.max(...witness.beatsMs.filter((atMs) => atMs < backMs)) - goneMs,
    nextBeatMs: Math.min(...witness.beatsMs.filter((atMs) => atMs > backMs)) - backMs,
    residentMiB: places.map((place, index) => ({
      before: before[index]!,
      most: most[index]!,
      after: fleet.residentMiB(place),
    })),
    said: new Map([...said].filter(([, count]) => count > 0)),
  };
}

/** Ends what happens, and waits until all of it was sent, or nothing more comes. */
async function allHasCome({ service, witness, log }: Scene): Promise<void> {
  service.becomeQuiet();
  const missing = () => service.truth().filter((key) => !witness.forwarded.has(key)).length;
  for (let left = missing(), sinceMs = Date.now(); left > 0; ) {
    await sleep(systemClock(), 500);
    const now = missing();
    if (now < left) sinceMs = Date.now();
    if (now < left) log(`${now} events have to come`);
    left = now;
    if (Date.now() - sinceMs > GIVEN_UP_MS) {
      log(`${left} events do not come`);
      return;
    }
  }
}

function judge({ service, witness }: Scene) {
  const truth = service.truth();
  const known = new Set(truth);
  const repeated = [...witness.forwarded, ...witness.notified].filter(([, ids]) => ids.length > 1);
  return {
    events: truth.length,
    lost: truth.filter((key) => !witness.forwarded.has(key)),
    invented: [...witness.forwarded.keys()].filter((key) => !known.has(key)),
    repeatedUnderOneId: repeated.filter(([, ids]) => new Set(ids).size === 1).length,
    repeatedUnderAnotherId: repeated.filter(([, ids]) => new Set(ids).size > 1).map(([key]) => key),
  };
}

interface DraftOptions extends Pick<Scene, 'server' | 'service' | 'witness'> {
  readonly place: number;
  readonly port: number;
}

function draft({ place, port, server, service, witness }: DraftOptions): string {
  const regions = service.regions.map(
    (region) =>
      `  ${region}: { base_url: "${service.urlOf(place, region)}", token: token, requests_per_second: 50, concurrency: 2 }`,
  );
  return `
regions:
${regions.join('\n')}
store: { url: "${server.url.replace('nestwatch@', `replica${place}@`)}" }
poll: { interval: 10s, min_interval: 2s, inventory_interval: 1m, overlap: 10s }
receivers:
  - { name: lake, webhook_configs: [{ url: "${witness.url}", format: cloudevents }] }
  - { name: pager, webhook_configs: [{ url: "${witness.url}", format: alertmanager }] }
route: { receiver: pager, group_by: [alertname, region], group_wait: 2s, group_interval: 5s }
forward: [{ receiver: lake }]
heartbeat: { url: "${witness.url}beat", interval: ${BEAT_MS / 1000}s }
web: { listen: "127.0.0.1:${port}", external_url: "http://127.0.0.1:${port}" }
`;
}

/** As a table for people. */
function printed(figures: RunFigures): string {
  const { faults, takeovers, outage } = figures;
  const rows: [string, string | number][] = [
    [
      'faults',
      Object.entries(faults)
        .map(([kind, count]) => `${count} ${kind}`)
        .join(', '),
    ],
    ['events', figures.events],
    ['lost', figures.lost.length],
    ['sent again under the same id', figures.repeatedUnderOneId],
    ['sent again under another id', figures.repeatedUnderAnotherId.length],
    ['invented', figures.invented.length],
    ['commits into regions', figures.commits],
    ['… by who did not own the region', figures.trespasses.length],
    ['… in an epoch of somebody else', figures.sharedEpochs.length],
    ['regions that nobody went on with', figures.abandoned.length],
    ['processes that ended by themselves', figures.crashes.length],
    ['resident memory at the end, MiB', figures.residentMiB.map(Math.round).join(', ')],
  ];
  for (const kind of ['kill', 'pause', 'stop'] as const) {
    const took = takeovers.filter(({ fault }) => fault === kind).map(({ tookMs }) => tookMs / 1000);
    const [p50, p99] = [quantile(took, 0.5), quantile(took, 0.99)];
    rows.push([
      `takeover after ${kind}, s`,
      `${took.length}: median ${p50}, p99 ${p99}, most ${Math.max(0, ...took)}`,
    ]);
  }
  const all = takeovers.filter(({ fault }) => fault !== 'stop').map(({ tookMs }) => tookMs / 1000);
  rows.push(['takeover after kill and pause, p99, s', quantile(all, 0.99)]);
  if (outage) {
    rows.push(['server away, s', outage.forMs / 1000]);
    rows.push(['… not ready after, s', outage.unreadyMs.map((ms) => ms / 1000).join(', ')]);
    rows.push(['… ready again after, s', outage.readyAgainMs.map((ms) => ms / 1000).join(', ')]);
    rows.push(['… last heartbeat after it went, s', outage.lastBeatMs / 1000]);
    rows.push(['… first after it came back, s', outage.nextBeatMs / 1000]);
    for (const { before, most, after } of outage.residentMiB)
      rows.push([
        '… memory before, at most, a minute later',
        [before, most, after].map(Math.round).join(', '),
      ]);
    for (const [line, count] of outage.said) rows.push([`… said by all, ${count} times`, line]);
  }
  const wrong = [
    ...figures.lost.slice(0, 5).map((key) => `lost: ${key}`),
    ...figures.invented.slice(0, 5).map((key) => `invented: ${key}`),
    ...figures.repeatedUnderAnotherId.slice(0, 5).map((key) => `under another id: ${key}`),
    ...[...figures.trespasses, ...figures.sharedEpochs, ...figures.abandoned, ...figures.crashes].slice(
      0,
      20,
    ),
  ];
  return [...rows.map(([name, value]) => `${name.padEnd(42)} ${value}`), ...wrong].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      faults: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      replicas: { type: 'string', default: '3' },
      regions: { type: 'string', default: '40' },
      outage: { type: 'string', default: '0s' },
      kinds: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  });
  const figures = await replicasRun({
    faults: Number(values.faults),
    seed: Number(values.seed),
    replicas: Number(values.replicas),
    regions: Number(values.regions),
    spreadMs: SPREAD_MS,
    outageMs: parseDuration(values.outage) ?? 0,
    keep: values.keep,
    log: (line) => console.log(new Date().toISOString().slice(11, 19), line),
    ...(values.kinds && { kinds: values.kinds.split(',') as Fault[] }),
  });
  console.log(printed(figures));
  for (const [line, count] of figures.said) console.log(`  ${count} × ${line}`);
}
