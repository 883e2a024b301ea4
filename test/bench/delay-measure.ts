/**
 * How long entries of a world wait until a policy sees them, with one request after another at a fixed rate from a
 * cold start, and how long they would have to wait at least.
 */
import type { Policy } from './delay-policies.ts';
import type { DelayWorld } from './delay-world.ts';

export interface Delays {
  readonly entries: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The longest time between two polls of a stream. */
  readonly longestGapMs: number;
  readonly shortestGapMs: number;
  /** The share of the requests that were used. */
  readonly used: number;
}

export interface Run {
  readonly requestsPerSecond: number;
  /** Only entries between these instants are measured. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Delays of entries and gaps between polls, collected over one or several runs. */
export class Measured {
  readonly #delaysMs: number[] = [];
  #longestGapMs = 0;
  #shortestGapMs = Number.POSITIVE_INFINITY;
  #used = 0;
  #turns = 0;

  /** Lets a policy poll a world from a cold start until every measured entry was seen. */
  add(world: DelayWorld, policy: Policy, { requestsPerSecond, fromMs, toMs }: Run): this {
    const turnMs = 1000 / requestsPerSecond;
    const streams = world.perHour.length;
    const lastMs = new Float64Array(streams);
    const isLeft = new Set(world.perHour.keys());
    for (let nowMs = 0; nowMs < toMs || isLeft.size > 0; nowMs += turnMs) {
      const stream = policy.next(nowMs);
      const isMeasured = nowMs >= fromMs && nowMs < toMs;
      if (isMeasured) this.#turns += 1;
      if (stream === undefined) continue;
      const news = world.collect(stream, nowMs, (atMs) => {
        if (atMs >= fromMs && atMs < toMs) this.#delaysMs.push(nowMs - atMs);
      });
      policy.polled(stream, nowMs, news);
      if (nowMs >= toMs) isLeft.delete(stream);
      if (isMeasured) {
        this.#used += 1;
        const gapMs = nowMs - lastMs[stream]!;
        this.#longestGapMs = Math.max(this.#longestGapMs, gapMs);
        if (lastMs[stream]! > 0) this.#shortestGapMs = Math.min(this.#shortestGapMs, gapMs);
      }
      lastMs[stream] = nowMs;
    }
    return this;
  }

  delays(): Delays {
    const sorted = Float64Array.from(this.#delaysMs).sort();
    const quantile = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!;
    return {
      entries: sorted.length,
      meanMs: sorted.reduce((sum, delay) => sum + delay, 0) / sorted.length,
      p50Ms: quantile(0.5),
      p99Ms: quantile(0.99),
      longestGapMs: this.#longestGapMs,
      shortestGapMs: this.#shortestGapMs,
      used: this.#used / this.#turns,
    };
  }
}

/**
 * The square-root law: the least mean delay that fixed intervals can reach at a given rate of requests, if the rates
 * of the streams are known and entries arrive independently. The intervals are then proportional to 1/√λ, within the
 * limits.
 */
export function squareRootBoundMs(
  perHour: readonly number[],
  requestsPerSecond: number,
  { leastMs, mostMs }: { leastMs: number; mostMs: number } = {
    leastMs: 0,
    mostMs: Number.POSITIVE_INFINITY,
  },
): number {
  const intervalMs = (scale: number, rate: number) =>
    Math.min(mostMs, Math.max(leastMs, rate > 0 ? scale / Math.sqrt(rate) : mostMs));
  let [low, high] = [1e-3, 1e12];
  for (let step = 0; step < 100; step += 1) {
    const scale = Math.sqrt(low * high);
    const used = perHour.reduce((sum, rate) => sum + 1000 / intervalMs(scale, rate), 0);
    if (used > requestsPerSecond) low = scale;
    else high = scale;
  }
  const rates = perHour.reduce((sum, rate) => sum + rate, 0);
  return perHour.reduce((sum, rate) => sum + (rate * intervalMs(high, rate)) / 2, 0) / rates;
}

interface HeldLimits {
  readonly leastMs: number;
  readonly mostMs: number;
  /** A hundredth of the entries may wait longer than this. */
  readonly lateMs: number;
}

const LATE_SHARE = 0.01;

/**
 * The least mean delay that fixed intervals, or mixtures of them, can reach if at most a hundredth of the entries
 * waits longer than `lateMs` (the p99). By Lagrange's dual problem: each price of a late entry gives a bound, and the
 * best of them is the result. Infinity if no price keeps so few late.
 */
export function heldBoundMs(
  perHour: readonly number[],
  requestsPerSecond: number,
  limits: HeldLimits,
): number {
  const all = perHour.reduce((sum, rate) => sum + rate, 0);
  const shares = perHour.map((rate) => rate / all);
  let [low, high] = [0, 1e9];
  let bound = intervalsAt(shares, requestsPerSecond, 0, limits).meanMs;
  if (intervalsAt(shares, requestsPerSecond, high, limits).late > LATE_SHARE) return Number.POSITIVE_INFINITY;
  for (let step = 0; step < 40; step += 1) {
    const priceMs = (low + high) / 2;
    const { meanMs, late } = intervalsAt(shares, requestsPerSecond, priceMs, limits);
    bound = Math.max(bound, meanMs + priceMs * (late - LATE_SHARE));
    if (late > LATE_SHARE) low = priceMs;
    else high = priceMs;
  }
  return bound;
}

/**
 * The best intervals if a late entry counts as one that waits `priceMs` longer: their mean delay, and how many are
 * late.
 */
function intervalsAt(
  shares: readonly number[],
  requestsPerSecond: number,
  priceMs: number,
  { leastMs, mostMs, lateMs }: HeldLimits,
): { meanMs: number; late: number } {
  const lateOf = (intervalMs: number) => Math.max(0, 1 - lateMs / intervalMs);
  const best = (share: number, requestMs: number) => {
    const inTime = Math.sqrt((2 * requestMs) / share);
    const late = Math.sqrt(Math.max(0, 2 * (requestMs / share - priceMs * lateMs)));
    const cost = (ms: number) => share * (ms / 2 + priceMs * lateOf(ms)) + requestMs / ms;
    return [inTime, late, lateMs]
      .map((ms) => Math.min(mostMs, Math.max(leastMs, ms)))
      .reduce((one, other) => (cost(other) < cost(one) ? other : one));
  };
  let [low, high] = [1e-9, 1e15];
  for (let step = 0; step < 60; step += 1) {
    const requestMs = Math.sqrt(low * high);
    const used = shares.reduce((sum, share) => sum + 1000 / best(share, requestMs), 0);
    if (used > requestsPerSecond) low = requestMs;
    else high = requestMs;
  }
  const intervals = shares.map((share) => best(share, high));
  const sum = (of: (ms: number) => number) =>
    intervals.reduce((all, ms, at) => all + shares[at]! * of(ms), 0);
  return { meanMs: sum((ms) => ms / 2), late: sum(lateOf) };
}
