/**
 * How long events wait from occurrence to observation, depending on what is polled when: policies that use the same
 * number of requests from a cold start, in several sorts of worlds and at several rates, compared with the least that
 * is possible; what the daemon itself reaches; and what one choice costs. Run it alone: `node test/bench/delay.ts`.
 */
import { Schedule } from '../../src/intake/schedule/schedule.ts';
import { printDelayDaemon, printTightLimit } from './delay-daemon.ts';
import { type Delays, heldBoundMs, Measured, squareRootBoundMs } from './delay-measure.ts';
import {
  type Limits,
  type Policy,
  proportionalPolicy,
  schedulePolicy,
  uniformPolicy,
} from './delay-policies.ts';
import { createDelayWorld, type DelayWorld, SHAPES, type Shape } from './delay-world.ts';

/** nestwatch's defaults. */
const LIMITS: Limits = { minIntervalMs: 10_000, intervalMs: 30_000, maxIntervalMs: 300_000 };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** 150 Birds with an average of one Flight in ten minutes each, and a twentieth of that in their logs. */
const BIRDS = { birds: 150, feeds: { flight: 1, bird_log: 0.05 }, meanPerHour: 6 };
const RATES = [1, 2, 4, 8, 20];

/** The first minutes are measured in many worlds, because little happens in them. */
const WINDOWS = [
  { name: 'first 10 min', fromMs: 0, toMs: 10 * MINUTE_MS, worlds: 20 },
  { name: 'later', fromMs: 2 * HOUR_MS, toMs: 14 * HOUR_MS, worlds: 2 },
] as const;

type Window = (typeof WINDOWS)[number];

interface Beside {
  readonly ours: Delays;
  readonly uniform: Delays;
  /** For a reader that always knows the rate of every stream, and keeps the same limits. */
  readonly boundMs: number;
  /** The same for a reader that also keeps the p99 of uniform polling. */
  readonly heldMs: number;
}

function besideUniform(shape: Shape, requestsPerSecond: number, { fromMs, toMs, worlds }: Window): Beside {
  const [ours, uniform] = [new Measured(), new Measured()];
  let boundMs = 0;
  const run = { requestsPerSecond, fromMs, toMs };
  for (let seed = 1; seed <= worlds; seed += 1) {
    const create = () => createDelayWorld({ ...BIRDS, shape, seed });
    const world = create();
    ours.add(world, schedulePolicy(world, requestsPerSecond, LIMITS), run);
    uniform.add(create(), uniformPolicy(world.perHour.length, LIMITS.intervalMs), run);
    boundMs +=
      presentBoundMs(create(), run, (perHour, limits) =>
        squareRootBoundMs(perHour, requestsPerSecond, limits),
      ) / worlds;
  }
  const lateMs = uniform.delays().p99Ms;
  const heldMs = presentBoundMs(createDelayWorld({ ...BIRDS, shape }), run, (perHour, limits) =>
    heldBoundMs(perHour, requestsPerSecond, { ...limits, lateMs }),
  );
  return { ours: ours.delays(), uniform: uniform.delays(), boundMs, heldMs };
}

type Bound = (
  perHour: readonly number[],
  limits: { readonly leastMs: number; readonly mostMs: number },
) => number;

/** A bound by the rates of each moment, averaged over a time. */
function presentBoundMs(
  world: DelayWorld,
  { requestsPerSecond, fromMs, toMs }: { requestsPerSecond: number; fromMs: number; toMs: number },
  bound: Bound,
): number {
  const moments = 8;
  const aimPerSecond = (world.perHour.length * 1000) / LIMITS.intervalMs;
  const leastMs = requestsPerSecond >= aimPerSecond ? LIMITS.intervalMs : LIMITS.minIntervalMs;
  const mostMs = Math.max(LIMITS.maxIntervalMs, (world.perHour.length * 1000) / requestsPerSecond);
  let [delays, entries] = [0, 0];
  for (let moment = 0.5; moment < moments; moment += 1) {
    const perHour = world.presentPerHour(fromMs + ((toMs - fromMs) * moment) / moments);
    const rates = perHour.reduce((sum, rate) => sum + rate, 0);
    entries += rates;
    if (rates > 0) delays += rates * bound(perHour, { leastMs, mostMs });
  }
  return delays / entries;
}

const seconds = (ms: number) => (ms / 1000).toFixed(1).padStart(7);
const part = (one: number, other: number) => (one / other).toFixed(2).padStart(6);

function printBesideUniform(): void {
  console.log(`Delay of news of ${BIRDS.birds} Birds (a stream of Flights and of logs each), in seconds`);
  console.log(
    '  mean and p99 of uniform polling at the same requests, and ours; the least mean that is possible, and with',
  );
  console.log("  uniform polling's p99 (- for none)");
  console.log(
    '  requests/s   shape     when           uniform         ours            ours/uniform   least mean',
  );
  console.log(
    '                                        mean     p99    mean     p99    mean   p99            held   longest gap',
  );
  for (const perSecond of RATES) {
    for (const shape of SHAPES) {
      for (const window of WINDOWS) {
        const { ours, uniform, boundMs, heldMs } = besideUniform(shape, perSecond, window);
        const name = `  ${String(perSecond).padStart(10)}   ${shape.padEnd(9)} ${window.name.padEnd(12)}`;
        const means = [uniform, ours].map(({ meanMs, p99Ms }) => `${seconds(meanMs)} ${seconds(p99Ms)}`);
        const ratios = `${part(ours.meanMs, uniform.meanMs)} ${part(ours.p99Ms, uniform.p99Ms)}`;
        const least = part(Math.min(boundMs, uniform.meanMs), uniform.meanMs);
        const held =
          heldMs < Number.POSITIVE_INFINITY ? part(Math.max(boundMs, heldMs), uniform.meanMs) : '     -';
        console.log(
          `${name} ${means.join(' ')}  ${ratios}   ${least} ${held}       ${seconds(ours.longestGapMs)}`,
        );
      }
    }
  }
  console.log(
    '  (Where the rate allows each Bird its interval, or no more than its longest one, nothing is left to',
  );
  console.log(
    '  choose. The bounds are of those who know the present rates. Birds that are alike in two feeds, of which',
  );
  console.log(
    '  one brings a twentieth, cannot have a mean of 0.8 and the p99 of uniform polling at once: 0.85 is the least.)',
  );
}

const SECONDS_PER_STREAM = 100;
const SIZES = [
  { streams: 1_000, fromMs: 6 * HOUR_MS, toMs: 12 * HOUR_MS },
  { streams: 10_000, fromMs: 2 * HOUR_MS, toMs: 3 * HOUR_MS },
];

/** Many Birds with one stream each, in steady state. */
function printManyBirds(): void {
  console.log(
    `\nDelay of news of many Birds in the steady state (each once in ${SECONDS_PER_STREAM} s), in seconds`,
  );
  console.log(
    '  streams                         mean     p50     p99   longest gap   mean / square-root law',
  );
  for (const shape of ['equal', 'skewed', 'bursty'] as const) {
    for (const { streams, ...times } of SIZES) {
      const run = { ...times, requestsPerSecond: streams / SECONDS_PER_STREAM };
      const policies: [string, (world: DelayWorld) => Policy][] = [
        ['uniform', () => uniformPolicy(streams)],
        ['proportional', proportionalPolicy],
        ['nestwatch', (world) => schedulePolicy(world, run.requestsPerSecond, LIMITS)],
      ];
      for (const [policy, create] of policies) {
        const world = createDelayWorld({ shape, birds: streams, meanPerHour: 6 });
        const boundMs = squareRootBoundMs(world.perHour, run.requestsPerSecond);
        const { meanMs, p50Ms, p99Ms, longestGapMs } = new Measured().add(world, create(world), run).delays();
        const name = `  ${String(streams).padStart(6)} ${shape.padEnd(7)} ${policy.padEnd(12)}`;
        const figures = `${seconds(meanMs)} ${seconds(p50Ms)} ${seconds(p99Ms)}       ${seconds(longestGapMs)}`;
        console.log(`${name} ${figures}   ${(meanMs / boundMs).toFixed(2)}`);
      }
    }
  }
  console.log('  (Bursts are no independent entries: who follows them can be better than the law.)');
}

/** Microseconds for one choice and for returning the stream, among this many skewed streams in steady state. */
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

export async function printDelay(): Promise<void> {
  printBesideUniform();
  printManyBirds();
  console.log('\nOne choice among 20,000 streams, with giving the stream back');
  console.log(`  ${benchChoice().toFixed(1)} µs (aim: below 20)\n`);
  await printDelayDaemon();
  await printTightLimit();
}

if (import.meta.main) await printDelay();
