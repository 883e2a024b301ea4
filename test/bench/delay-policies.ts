/**
 * Policies that choose what to poll next with the same number of requests: uniform, proportional to the rates, and
 * ours.
 */
import { Schedule } from '../../src/intake/schedule/schedule.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { type DelayWorld, HISTORY_MS } from './delay-world.ts';

/** Which stream to poll next; undefined to leave the turn unused. */
export interface Policy {
  next(nowMs: number): number | undefined;
  polled(stream: number, nowMs: number, news: number): void;
}

/** Every stream in turn, but none sooner than an interval after its last poll. */
export function uniformPolicy(streams: number, intervalMs = 0): Policy {
  const lastMs = new Float64Array(streams).fill(Number.NEGATIVE_INFINITY);
  let turn = 0;
  return {
    next(nowMs) {
      const stream = turn % streams;
      if (nowMs < lastMs[stream]! + intervalMs) return undefined;
      lastMs[stream] = nowMs;
      turn += 1;
      return stream;
    },
    polled() {},
  };
}

/** Knows the rates, and polls each stream in proportion to its rate. */
export function proportionalPolicy({ perHour }: DelayWorld): Policy {
  const random = seededRandom(2);
  const passes = Float64Array.from(perHour, (rate) => random() / rate);
  return {
    next() {
      const stream = passes.indexOf(passes.reduce((least, pass) => Math.min(least, pass)));
      passes[stream]! += 1 / perHour[stream]!;
      return stream;
    },
    polled() {},
  };
}

export interface Limits {
  readonly minIntervalMs: number;
  readonly intervalMs: number;
  readonly maxIntervalMs: number;
}

/** What nestwatch does: it learns the rates. */
export function schedulePolicy({ feeds }: DelayWorld, requestsPerSecond: number, limits: Limits): Policy {
  const schedule = new Schedule({ ...limits, allowedPerSecond: () => requestsPerSecond });
  for (const [stream, feed] of feeds.entries()) schedule.add({ name: `${stream}`, feed }, 0);
  return {
    next(nowMs) {
      const turn = schedule.take(nowMs);
      return 'name' in turn ? Number(turn.name) : undefined;
    },
    polled(stream, nowMs, news) {
      const historyMs = HISTORY_MS + nowMs;
      schedule.done(`${stream}`, nowMs, { requests: 1, newEntries: news, complete: true, historyMs });
    },
  };
}
