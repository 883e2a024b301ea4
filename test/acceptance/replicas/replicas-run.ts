/**
 * Three real processes on one real PostgreSQL, and faults in random order: SIGKILL, SIGSTOP for longer than a lease,
 * SIGTERM, a restart of the server; or the server is away for minutes. Afterwards nothing may be lost, invented, or
 * sent twice under different ids. Another replica must have taken over in time, and no two may have read a region at
 * once. Run it by hand with `node test/acceptance/replicas/replicas-run.ts --faults 60 [--seed 1] [--outage 10m]
 * [--regions 40] [--keep]`.
 */
import { parseArgs } from 'node:util';
import { seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import { sleep, systemClock } from '../../../src/time/clock.ts';
import { parseDuration } from '../../../src/time/duration.ts';
import type { Replica } from './fleet.ts';
import { bearOutage, type OutageFigures } from './outage.ts';
import { tableOf } from './run-table.ts';
import { openScene, type Scene, until } from './scene.ts';
import { type Fault, partsOf, type Resumed, readBy, resumed, type Takeover } from './taken-over.ts';
import { watchCommits } from './who-commits.ts';

/** Longer than two leases. */
const PAUSE_MS = 40_000;
/** What is not taken over by then never will be. */
const GIVEN_UP_MS = 90_000;
/** A region that was owned for less than a minute is not moved. */
const SPREAD_MS = 240_000;
/** How much longer than the interval a region may go without a request. */
const READ_SLACK_MS = 10_000;
/** Between two rounds of events in a region. */
const EVERY_MS = 4_000;

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
  /** How often streams are read. */
  readonly interval?: string;
  /** The server is away for this long, once, before the faults. */
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
  /** Regions that no replica took over. */
  readonly abandoned: readonly string[];
  readonly commits: number;
  readonly trespasses: readonly string[];
  readonly sharedEpochs: readonly string[];
  readonly crashes: readonly string[];
  readonly residentMiB: readonly number[];
  readonly outage: OutageFigures | undefined;
  /** What the logs said, above `info`. */
  readonly said: ReadonlyMap<string, number>;
  /** Log lines that are not JSON. */
  readonly unreadable: readonly string[];
}

export async function replicasRun(options: RunOptions): Promise<RunFigures> {
  const { faults, seed, kinds = ['kill', 'pause', 'stop', 'restart'] } = options;
  const { replicas = 3, regions = 40, birds = 20, interval = '10s' } = options;
  const { pauseMs = PAUSE_MS, spreadMs = 0, outageMs = 0 } = options;
  const random = seededRandom(seed);
  const scene = await openScene({ ...options, replicas, regions, birds, interval, everyMs: EVERY_MS });
  const { fleet } = scene;
  const commits = await watchCommits(scene.server);
  const all: Resumed[] = [];
  const abandoned: string[] = [];
  const done: Record<Fault, number> = { kill: 0, pause: 0, stop: 0, restart: 0 };
  try {
    await Promise.all(Array.from({ length: replicas }, (_, place) => fleet.start(place)));
    const staleMs = parseDuration(interval)! + READ_SLACK_MS;
    abandoned.push(...(await unread(scene, staleMs)));
    if (spreadMs > 0) await isSpread(scene, spreadMs);
    const outage = outageMs > 0 ? await bearOutage(scene, outageMs) : undefined;
    for (const fault of shuffled(faults, kinds, random)) {
      const struck = await strike(scene, fault, pauseMs, random);
      all.push(...struck.resumed);
      abandoned.push(...struck.abandoned, ...(await unread(scene, staleMs)));
      done[fault] += 1;
      await sleep(systemClock(), 1_000 + random() * 5_000);
    }
    await allHasCome(scene);
    const residentMiB = fleet.running().map(({ place }) => fleet.residentMiB(place));
    await Promise.all(fleet.running().map(({ place }) => fleet.end(place, 'SIGTERM')));
    const [duties, writes] = [await commits.duties(), await commits.firstWrites()];
    const takeovers = all.flatMap((one) => partsOf(one, duties, writes) ?? []);
    return {
      ...{ faults: done, takeovers, abandoned, residentMiB, outage },
      ...judge(scene),
      ...(await commits.look()),
      crashes: scene.crashes,
      said: fleet.said(),
      unreadable: fleet.unreadable(),
    };
  } finally {
    await scene.close();
  }
}

/** Every kind of fault equally often, in random order. */
function shuffled(count: number, kinds: readonly Fault[], random: () => number): Fault[] {
  return Array.from({ length: count }, (_, index) => ({ kind: kinds[index % kinds.length]!, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ kind }) => kind);
}

/** Waits until a running life has made a request to each region within `staleMs`; returns the regions without one. */
async function unread({ service, fleet }: Scene, staleMs: number): Promise<string[]> {
  const isStale = (region: string) => {
    const last = service.turnsOf(region).at(-1);
    const lives = fleet.running().map(({ life }) => life);
    return last === undefined || !lives.includes(last.life) || Date.now() - last.untilMs > staleMs;
  };
  await until(() => !service.regions.some(isStale), GIVEN_UP_MS);
  return service.regions.filter(isStale).map((region) => `nobody reads ${region}`);
}

/** Waits until every replica reads at least half of its share: owned regions move slowly. */
async function isSpread({ service, fleet, log }: Scene, withinMs: number): Promise<void> {
  const beganMs = Date.now();
  const least = Math.floor(service.regions.length / fleet.running().length / 2);
  const hasItsShare = ({ life }: Replica) => readBy(service, life).length >= least;
  await until(() => fleet.running().every(hasItsShare), withinMs);
  const shares = fleet.running().map(({ life }) => readBy(service, life).length);
  log(`the replicas read ${shares.join(', ')} regions after ${Math.round((Date.now() - beganMs) / 1000)} s`);
}

interface Outcome {
  readonly resumed: readonly Resumed[];
  readonly abandoned: readonly string[];
}

async function strike(scene: Scene, fault: Fault, pauseMs: number, random: () => number): Promise<Outcome> {
  const { server, service, fleet, log } = scene;
  const clock = systemClock();
  if (fault === 'restart') {
    const how = random() < 0.5 ? 'fast' : 'immediate';
    log(`the server is stopped (${how})`);
    await server.stop(how);
    await sleep(clock, random() * 6_000);
    await server.start();
    return { resumed: [], abandoned: [] };
  }
  const reading = fleet.running().filter(({ life }) => readBy(service, life).length > 0);
  const all = reading.length > 0 ? reading : fleet.running();
  const { place, life, child } = all[Math.floor(random() * all.length)]!;
  const regions = readBy(service, life);
  log(`${fault} of ${life}, which reads ${regions.length} regions`);
  const struckMs = Date.now();
  if (fault === 'kill') await fleet.end(place, 'SIGKILL');
  if (fault === 'stop') await fleet.end(place, 'SIGTERM');
  if (fault === 'pause') child.kill('SIGSTOP');
  // A life that starts meanwhile may be the one that takes over.
  const again =
    fault === 'pause' ? undefined : sleep(clock, random() * 20_000).then(() => fleet.start(place));
  const others = () => resumed(service, regions, fault, struckMs);
  await until(() => others().length === regions.length, GIVEN_UP_MS);
  const taken = others();
  if (fault === 'pause') {
    await sleep(clock, Math.max(0, struckMs + pauseMs - Date.now()));
    child.kill('SIGCONT');
  }
  const lastMs = Math.max(struckMs, ...taken.map(({ askedMs }) => askedMs));
  log(`  others read all of them ${(lastMs - struckMs) / 1000} s later`);
  await again;
  const known = new Set(taken.map(({ region }) => region));
  return {
    resumed: taken,
    abandoned: regions
      .filter(({ region }) => !known.has(region))
      .map(({ region }) => `${region} after ${fault} of ${life}`),
  };
}

/** Stops all events, and waits until everything was sent or nothing more arrives. */
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

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      faults: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      replicas: { type: 'string', default: '3' },
      regions: { type: 'string', default: '40' },
      interval: { type: 'string', default: '10s' },
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
    interval: values.interval,
    keep: values.keep,
    log: (line) => console.log(new Date().toISOString().slice(11, 19), line),
    ...(values.kinds && { kinds: values.kinds.split(',') as Fault[] }),
  });
  console.log(tableOf(figures));
  for (const [line, count] of figures.said) console.log(`  ${count} × ${line}`);
}
