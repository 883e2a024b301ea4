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

interface Class<T> {
  readonly weight: number;
  readonly queue: InstantQueue<T>;
}

/** ln 1.1 */
const CLASS_STEP = 0.0953;

/** Parts of `spanMs` into which ages are sorted. */
const AGE_BANDS = 64;

/**
 * `spanMs`: about the longest wait that is expected. `lastMsOf` returns when the last poll of a waiting item began,
 * which must not change while it waits, and undefined for an item that does not wait.
 */
export class Waitlist<T> {
  readonly #lastMsOf: (item: T) => number | undefined;
  readonly #isCurrent = (item: T, atMs: number) => this.#lastMsOf(item) === atMs;
  readonly #bandMs: number;
  readonly #byAge: InstantQueue<T>;
  readonly #classes = new Map<number, Class<T>>();
  /** How many wait whose last poll began in a band of time. */
  readonly #bands = new Map<number, number>();

  constructor(spanMs: number, lastMsOf: (item: T) => number | undefined) {
    this.#lastMsOf = lastMsOf;
    this.#bandMs = spanMs / AGE_BANDS;
    this.#byAge = createInstantQueue(this.#isCurrent);
  }

  /** `worth` is λ/(2·cost): expected entries per millisecond and request. */
  add(item: T, lastMs: number, worth: number): void {
    this.#count(this.#bandOf(lastMs), 1);
    this.#byAge.add(item, lastMs);
    this.#classOf(worth).queue.add(item, lastMs);
  }

  /** Takes an item out. To be called before its `lastMsOf` becomes undefined; does nothing for one that does not wait. */
  delete(item: T): void {
    const lastMs = this.#lastMsOf(item);
    if (lastMs !== undefined) this.#count(this.#bandOf(lastMs), -1);
  }

  /** The item whose last poll began first. */
  oldest(): QueueEntry<T> | undefined {
    return this.#byAge.first();
  }

  /**
   * The oldest one, when it has to be polled now in order that each of `total` streams is polled every `limitMs`.
   * Streams that were polled in a bunch are so taken apart in good time, instead of all being late together.
   */
  pressing(nowMs: number, limitMs: number, total: number): T | undefined {
    const first = this.#byAge.first();
    if (!first) return undefined;
    if (nowMs - first.atMs >= limitMs) return first.item;
    // Served one by one over `limitMs`, the k-th oldest has its turn after (k − 1)/total of it. A band counts as
    // young as its end, so this may come a band late.
    let older = 0;
    for (let end = this.#bandOf(first.atMs) + 1; end * this.#bandMs <= nowMs; end += 1) {
      older += this.#bands.get(end - 1) ?? 0;
      if ((older - 1) / total > 1 - (nowMs - end * this.#bandMs) / limitMs) return first.item;
    }
    return undefined;
  }

  /** The item with the largest expected delay for its cost, among the first of each class that wait for `leastMs`. */
  best(nowMs: number, leastMs: number): T | undefined {
    let best: T | undefined;
    let most = Number.NEGATIVE_INFINITY;
    for (const { weight, queue } of this.#classes.values()) {
      const first = queue.first();
      if (!first || nowMs < first.atMs + leastMs) continue;
      const value = weight * (nowMs - first.atMs);
      if (value <= most) continue;
      most = value;
      best = first.item;
    }
    return best;
  }

  #bandOf(atMs: number): number {
    return Math.floor(atMs / this.#bandMs);
  }

  /** Changes how many items are in a band. */
  #count(band: number, change: number): void {
    const members = (this.#bands.get(band) ?? 0) + change;
    if (members === 0) this.#bands.delete(band);
    else this.#bands.set(band, members);
  }

  #classOf(worth: number): Class<T> {
    const step = Math.round(Math.log(worth) / 2 / CLASS_STEP);
    let found = this.#classes.get(step);
    if (!found) {
      found = { weight: Math.exp(step * CLASS_STEP), queue: createInstantQueue(this.#isCurrent) };
      this.#classes.set(step, found);
    }
    return found;
  }
}
