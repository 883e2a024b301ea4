/**
 * How long news waits to be seen, from occurred to observed, by what is polled when: three policies that spend the
 * same requests, and what one choice of ours costs. Run it alone: `node test/bench/delay.ts`.
 */
import { Schedule } from '../../src/intake/schedule/schedule.ts';
import {
  createDelayWorld,
  type Delays,
  type DelayWorld,
  type Limits,
  measureDelays,
  type Policy,
  proportionalPolicy,
  type Shape,
  schedulePolicy,
  squareRootBoundMs,
  uniformPolicy,
} from './delay-world.ts';

export interface DelayRow {
  readonly shape: Shape;
  readonly streams: number;
  readonly policy: string;
  readonly delays: Delays;
  /** The least mean delay of fixed intervals at this budget, by the averages of the rates. */
  readonly boundMs: number;
}

/** nestwatch's defaults, and a rate that gives each stream a poll in 100 s: too little for the aim. */
const LIMITS: Limits = { minIntervalMs: 10_000, intervalMs: 30_000, maxIntervalMs: 300_000 };
const SECONDS_PER_STREAM = 100;
const ENTRIES_PER_HOUR = 6;

const SIZES = [
  { streams: 100, warmUpHours: 12, hours: 36 },
  { streams: 1_000, warmUpHours: 6, hours: 6 },
  { streams: 10_000, warmUpHours: 2, hours: 1 },
];

function benchDelay(): DelayRow[] {
  const rows: DelayRow[] = [];
  for (const shape of ['equal', 'skewed', 'bursty'] as const) {
    for (const { streams, ...times } of SIZES) {
      const run = { ...times, requestsPerSecond: streams / SECONDS_PER_STREAM };
      const policies: [string, (world: DelayWorld) => Policy][] = [
        ['uniform', () => uniformPolicy(streams)],
        ['proportional', proportionalPolicy],
        ['nestwatch', () => schedulePolicy(streams, run.requestsPerSecond, LIMITS)],
      ];
      for (const [policy, create] of policies) {
        const world = createDelayWorld(shape, streams, ENTRIES_PER_HOUR);
        const boundMs = squareRootBoundMs(world, run.requestsPerSecond);
        const delays = measureDelays(world, create(world), run);
        rows.push({ shape, streams, policy, delays, boundMs });
      }
    }
  }
  return rows;
}

/** Microseconds of one choice and of giving the stream back, among so many skewed streams in steady state. */
function benchChoice(streams = 20_000, turns = 400_000): number {
  const requestsPerSecond = streams / SECONDS_PER_STREAM;
  const schedule = new Schedule({ ...LIMITS, allowedPerSecond: () => requestsPerSecond });
  const names = Array.from({ length: streams }, (_, stream) => `flights/${stream}`);
  for (const name of names) schedule.add({ name, feed: 'flight' }, 0);
  const rankOf = new Map(names.map((name, rank) => [name, rank]));
  const serve = (from: number, to: number) => {
    for (let turn = from; turn < to; turn += 1) {
      const nowMs = (turn * 1000) / requestsPerSecond;
      const taken = schedule.take(nowMs);
      if (!('name' in taken)) continue;
      const news = turn % (1 + rankOf.get(taken.name)!) === 0 ? 1 : 0;
      schedule.done(taken.name, nowMs, { requests: 1, newEntries: news, complete: true });
    }
  };
  serve(0, turns);
  const beganMs = performance.now();
  serve(turns, 2 * turns);
  return ((performance.now() - beganMs) * 1000) / turns;
}

export function printDelay(): void {
  const seconds = (ms: number) => (ms / 1000).toFixed(1).padStart(7);
  console.log(`Delay of news at the same requests (each stream once in ${SECONDS_PER_STREAM} s), in seconds`);
  console.log(
    '  streams                         mean     p50     p99   longest gap   mean / square-root law',
  );
  for (const { shape, streams, policy, delays, boundMs } of benchDelay()) {
    const { meanMs, p50Ms, p99Ms, longestGapMs } = delays;
    const name = `  ${String(streams).padStart(6)} ${shape.padEnd(7)} ${policy.padEnd(12)}`;
    const figures = `${seconds(meanMs)} ${seconds(p50Ms)} ${seconds(p99Ms)}       ${seconds(longestGapMs)}`;
    console.log(`${name} ${figures}   ${(meanMs / boundMs).toFixed(2)}`);
  }
  console.log('  (Bursts are no independent entries: who follows them can be better than the law.)');
  console.log('\nOne choice among 20,000 streams, with giving the stream back');
  console.log(`  ${benchChoice().toFixed(1)} µs (aim: below 20)`);
}

if (import.meta.main) printDelay();
