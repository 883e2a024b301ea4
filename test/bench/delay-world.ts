/**
 * A world for policies of polling: streams in which entries come by chance, and one request after the other at a
 * fixed rate. What is measured is how long entries waited to be seen.
 */
import { createInstantQueue } from '../../src/intake/schedule/instant-queue.ts';
import { Schedule } from '../../src/intake/schedule/schedule.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';

/** How entries are spread: over all streams alike, by Zipf's law with exponent 1.1, or the latter and in bursts. */
export type Shape = 'equal' | 'skewed' | 'bursty';

export interface DelayWorld {
  /** Entries an hour of each stream, on the average. */
  readonly perHour: readonly number[];
  /** How many entries came to a stream since it was asked last, each told by its instant. */
  collect(stream: number, nowMs: number, tell: (atMs: number) => void): number;
}

const HOUR_MS = 3_600_000;
const ZIPF = 1.1;
/** Bursts: on the average 10 minutes in 2 hours, in which all entries come. */
const BURST = { onMs: HOUR_MS / 6, offMs: (11 * HOUR_MS) / 6 };

export function createDelayWorld(shape: Shape, streams: number, meanPerHour: number, seed = 1): DelayWorld {
  const random = seededRandom(seed);
  const exponential = (meanMs: number) => -Math.log(1 - random()) * meanMs;
  const weights = Array.from({ length: streams }, (_, rank) => (shape === 'equal' ? 1 : (rank + 1) ** -ZIPF));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const perHour = weights.map((weight) => (weight / total) * streams * meanPerHour);
  const arrivals = perHour.map((rate) => (shape === 'bursty' ? inBursts(rate) : steadily(rate)));
  const nextMs = arrivals.map((next) => next());

  function steadily(rate: number): () => number {
    let atMs = 0;
    return () => {
      atMs += exponential(HOUR_MS / rate);
      return atMs;
    };
  }

  function inBursts(rate: number): () => number {
    const meanMs = (HOUR_MS / rate) * (BURST.onMs / (BURST.onMs + BURST.offMs));
    let fromMs = exponential(BURST.offMs);
    let endMs = fromMs + exponential(BURST.onMs);
    return () => {
      fromMs += exponential(meanMs);
      while (fromMs > endMs) {
        fromMs = endMs + exponential(BURST.offMs);
        endMs = fromMs + exponential(BURST.onMs);
        fromMs += exponential(meanMs);
      }
      return fromMs;
    };
  }

  return {
    perHour,
    collect(stream, nowMs, tell) {
      let count = 0;
      while (nextMs[stream]! <= nowMs) {
        tell(nextMs[stream]!);
        nextMs[stream] = arrivals[stream]!();
        count += 1;
      }
      return count;
    },
  };
}

/** Which stream to poll next; undefined leaves the turn unused. */
export interface Policy {
  next(nowMs: number): number | undefined;
  polled(stream: number, nowMs: number, news: number): void;
}

export function uniformPolicy(streams: number): Policy {
  let turn = 0;
  return { next: () => turn++ % streams, polled() {} };
}

/** Knows the rates, and polls each stream in proportion to its own. */
export function proportionalPolicy({ perHour }: DelayWorld): Policy {
  const random = seededRandom(2);
  const queue = createInstantQueue<{ stream: number; pass: number }>((item, atMs) => item.pass === atMs);
  for (const [stream, rate] of perHour.entries()) {
    const item = { stream, pass: random() / rate };
    queue.add(item, item.pass);
  }
  return {
    next() {
      const { item } = queue.first()!;
      item.pass += 1 / perHour[item.stream]!;
      queue.add(item, item.pass);
      return item.stream;
    },
    polled() {},
  };
}

export interface Limits {
  readonly minIntervalMs: number;
  readonly intervalMs: number;
  readonly maxIntervalMs: number;
}

/** What nestwatch does; it learns the rates. */
export function schedulePolicy(streams: number, requestsPerSecond: number, limits: Limits): Policy {
  const schedule = new Schedule({ ...limits, allowedPerSecond: () => requestsPerSecond });
  for (let stream = 0; stream < streams; stream += 1) schedule.add({ name: `${stream}`, feed: 'flight' }, 0);
  return {
    next(nowMs) {
      const turn = schedule.take(nowMs);
      return 'name' in turn ? Number(turn.name) : undefined;
    },
    polled: (stream, nowMs, news) =>
      schedule.done(`${stream}`, nowMs, { requests: 1, newEntries: news, complete: true }),
  };
}

export interface Delays {
  readonly entries: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The longest time between two polls of a stream. */
  readonly longestGapMs: number;
  readonly shortestGapMs: number;
  /** The part of the requests that were used. */
  readonly used: number;
}

export interface Run {
  readonly requestsPerSecond: number;
  /** Time for what is learned to settle; nothing is measured in it. */
  readonly warmUpHours: number;
  readonly hours: number;
}

export function measureDelays(world: DelayWorld, policy: Policy, run: Run): Delays {
  const turnMs = 1000 / run.requestsPerSecond;
  const fromMs = run.warmUpHours * HOUR_MS;
  const turns = Math.floor(((run.warmUpHours + run.hours) * HOUR_MS) / turnMs);
  const lastMs = new Float64Array(world.perHour.length).fill(Number.NaN);
  const delays: number[] = [];
  let [longestGapMs, shortestGapMs, used, measured] = [0, Number.POSITIVE_INFINITY, 0, 0];
  for (let turn = 0; turn < turns; turn += 1) {
    const nowMs = turn * turnMs;
    const stream = policy.next(nowMs);
    if (nowMs >= fromMs) measured += 1;
    if (stream === undefined) continue;
    const news = world.collect(stream, nowMs, (atMs) => {
      if (atMs >= fromMs) delays.push(nowMs - atMs);
    });
    policy.polled(stream, nowMs, news);
    if (nowMs >= fromMs) {
      used += 1;
      const gapMs = nowMs - lastMs[stream]!;
      if (gapMs > longestGapMs) longestGapMs = gapMs;
      if (gapMs < shortestGapMs) shortestGapMs = gapMs;
    }
    lastMs[stream] = nowMs;
  }
  const sorted = Float64Array.from(delays).sort();
  const quantile = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!;
  return {
    entries: sorted.length,
    meanMs: sorted.reduce((sum, delay) => sum + delay, 0) / sorted.length,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    longestGapMs,
    shortestGapMs,
    used: used / measured,
  };
}

/**
 * The square-root law: the least mean delay that any fixed intervals reach at a rate of requests, when the rates of
 * the streams are known and entries come independently. Intervals are then in proportion to 1/√λ.
 */
export function squareRootBoundMs({ perHour }: DelayWorld, requestsPerSecond: number): number {
  const roots = perHour.reduce((sum, rate) => sum + Math.sqrt(rate), 0);
  const rates = perHour.reduce((sum, rate) => sum + rate, 0);
  return (roots * roots * 1000) / (2 * requestsPerSecond * rates);
}
