/**
 * The streams that wait for their next poll, in two orders at once: by the time since the last one, and by the
 * expected delay that a poll would end, λ·(now − last)²/(2·cost).
 *
 * The second order changes with time for all streams at once. But where two streams have the same λ/cost, the one
 * that waits longer is always ahead: so streams of about the same λ/cost form a class, first come first served, and
 * only the first of each class is compared. Classes are a tenth apart in √(λ/cost): intervals are within 5 % of the
 * best ones, which costs the mean delay next to nothing, and a choice takes the same time among any number of streams.
 */
import { createInstantQueue, type InstantQueue, type QueueEntry } from './instant-queue.ts';

export interface Waitlist<T> {
  /** `worth` is λ/(2·cost): expected entries per millisecond and request. */
  add(item: T, lastMs: number, worth: number): void;
  /** To be called while it still waits; does nothing for one that does not. */
  delete(item: T): void;
  oldest(): QueueEntry<T> | undefined;
  /**
   * The oldest one, when it has to be polled now in order that each of `total` streams is polled every `limitMs`.
   * Streams that were polled in a bunch are so taken apart in good time, instead of all being late together.
   */
  pressing(nowMs: number, limitMs: number, total: number): T | undefined;
  /** The one whose poll is worth most, among those that wait for at least `leastMs`. */
  best(nowMs: number, leastMs: number): T | undefined;
}

interface Class<T> {
  readonly weight: number;
  readonly queue: InstantQueue<T>;
}

/** ln 1.1 */
const CLASS_STEP = 0.0953;

/** Parts of `spanMs` into which ages are sorted. */
const AGE_BANDS = 64;

/**
 * `spanMs`: about the longest wait that is expected. `lastMsOf` tells when the last poll of an item began that waits,
 * which must not change meanwhile, and undefined for one that does not wait.
 */
export function createWaitlist<T>(spanMs: number, lastMsOf: (item: T) => number | undefined): Waitlist<T> {
  const bandMs = spanMs / AGE_BANDS;
  const isCurrent = (item: T, atMs: number) => lastMsOf(item) === atMs;
  const byAge = createInstantQueue(isCurrent);
  const classes = new Map<number, Class<T>>();
  /** How many wait whose last poll began in a band of time. */
  const bands = new Map<number, number>();

  const bandOf = (atMs: number) => Math.floor(atMs / bandMs);

  function count(band: number, change: number): void {
    const members = (bands.get(band) ?? 0) + change;
    if (members === 0) bands.delete(band);
    else bands.set(band, members);
  }

  function classOf(worth: number): Class<T> {
    const step = Math.round(Math.log(worth) / 2 / CLASS_STEP);
    let found = classes.get(step);
    if (!found) {
      found = { weight: Math.exp(step * CLASS_STEP), queue: createInstantQueue(isCurrent) };
      classes.set(step, found);
    }
    return found;
  }

  return {
    add(item, lastMs, worth) {
      count(bandOf(lastMs), 1);
      byAge.add(item, lastMs);
      classOf(worth).queue.add(item, lastMs);
    },
    delete(item) {
      const lastMs = lastMsOf(item);
      if (lastMs !== undefined) count(bandOf(lastMs), -1);
    },
    oldest: () => byAge.first(),
    pressing(nowMs, limitMs, total) {
      const first = byAge.first();
      if (!first) return undefined;
      if (nowMs - first.atMs >= limitMs) return first.item;
      // Served one by one over `limitMs`, the k-th oldest has its turn after (k − 1)/total of it. A band counts as
      // young as its end, so this may come a band late.
      let older = 0;
      for (let end = bandOf(first.atMs) + 1; end * bandMs <= nowMs; end += 1) {
        older += bands.get(end - 1) ?? 0;
        if ((older - 1) / total > 1 - (nowMs - end * bandMs) / limitMs) return first.item;
      }
      return undefined;
    },
    best(nowMs, leastMs) {
      let best: T | undefined;
      let most = Number.NEGATIVE_INFINITY;
      for (const { weight, queue } of classes.values()) {
        const first = queue.first();
        if (!first || nowMs < first.atMs + leastMs) continue;
        const value = weight * (nowMs - first.atMs);
        if (value <= most) continue;
        most = value;
        best = first.item;
      }
      return best;
    },
  };
}
