/**
 * Learns how late a feed's entries become visible, and so the overlap of its sweeps: twice the 99.9th percentile of
 * the lateness seen in the last 24 hours, within 10 s and 10 min. Only entries that appeared behind their stream's
 * cursor count as late; all others would have been found without any overlap.
 *
 * The configured overlap is the starting point. It counts as one entry that was late by half of it, so it is
 * forgotten after 24 hours like any other entry, or outweighed by thousands of them. The overlap is never smaller
 * than the largest lateness of the last hour or two, however rare that was.
 */
import type { Clock } from '../time/clock.ts';

interface Lateness {
  /** To be called for an entry that appeared behind the cursor, `latenessUs` after it occurred. */
  readonly late: (latenessUs: number) => void;
  /** How far behind the cursor the next sweep must begin. */
  readonly overlapUs: () => number;
}

const SECOND_US = 1_000_000;
const LEAST_US = 10 * SECOND_US;
export const MOST_OVERLAP_US = 600 * SECOND_US;
const QUANTILE = 0.999;
const FACTOR = 2;

const HOUR_MS = 3_600_000;
const MEMORY_HOURS = 24;

/** Latenesses within 10 % of each other share a bucket, which keeps the largest. */
const BUCKET_STEP = Math.log(1.1);

interface Bucket {
  count: number;
  mostUs: number;
}

export function createLateness(startUs: number, clock: Pick<Clock, 'monotonicMs'>): Lateness {
  const mostUs = Math.max(MOST_OVERLAP_US, startUs);
  /** By hour, and within it by the bucket of the lateness. */
  const hours = new Map<number, Map<number, Bucket>>();
  const thisHour = () => Math.floor(clock.monotonicMs() / HOUR_MS);
  /** The overlap computed in this hour, until another late entry is seen. */
  let known: { readonly hour: number; readonly overlapUs: number } | undefined;

  function late(latenessUs: number): void {
    const hour = thisHour();
    const buckets = hours.get(hour) ?? new Map<number, Bucket>();
    hours.set(hour, buckets);
    const index = Math.ceil(Math.log(Math.max(1, latenessUs / SECOND_US)) / BUCKET_STEP);
    const bucket = buckets.get(index) ?? { count: 0, mostUs: 0 };
    buckets.set(index, { count: bucket.count + 1, mostUs: Math.max(bucket.mostUs, latenessUs) });
    known = undefined;
  }

  function learn(hour: number): number {
    for (const old of hours.keys()) if (old <= hour - MEMORY_HOURS) hours.delete(old);
    const seen = [...hours.values()].flatMap((buckets) => [...buckets.values()]);
    const recent = [hour, hour - 1].flatMap((one) => [...(hours.get(one)?.values() ?? [])]);
    const recentUs = Math.max(0, ...recent.map((bucket) => bucket.mostUs));
    return Math.min(mostUs, Math.max(LEAST_US, FACTOR * quantileUs(seen), recentUs));
  }

  late(startUs / FACTOR);
  return {
    late,
    overlapUs() {
      const hour = thisHour();
      if (known?.hour !== hour) known = { hour, overlapUs: learn(hour) };
      return known.overlapUs;
    },
  };
}

function quantileUs(buckets: readonly Bucket[]): number {
  const sorted = buckets.toSorted((a, b) => a.mostUs - b.mostUs);
  const rank = QUANTILE * sorted.reduce((sum, { count }) => sum + count, 0);
  let passed = 0;
  for (const { count, mostUs } of sorted) {
    passed += count;
    if (passed >= rank) return mostUs;
  }
  return 0;
}
