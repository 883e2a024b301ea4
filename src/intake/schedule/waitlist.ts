/**
 * Keeps the streams that wait for their next poll, in two orders: by the time since the last poll, and by the
 * expected delay that a poll would end, λ·(now − last)²/(2·cost), which counts more if the poll is late. A stream
 * that was never polled waits since it was added.
 *
 * The second order changes with time for all streams at once. But among streams with the same λ/cost, the one that
 * has waited longer is always ahead. So streams with about the same λ/cost form a class, first come, first served,
 * and only the first stream of each class is compared. Classes are 10 % apart in √(λ/cost). Intervals are then within
 * 5 % of the optimum, which hardly affects the mean delay, and a choice takes the same time for any number of
 * streams. Fresh streams of an unknown rate form a class of their own, because their value changes with their feed.
 */
import { createInstantQueue, type InstantQueue, type QueueEntry } from './instant-queue.ts';

interface Class<T> {
  /** The square root of the value of a poll. */
  readonly weight: () => number;
  readonly queue: InstantQueue<T>;
}

/** The item to choose, and the square root of the expected delay that its poll would end. */
export interface Choice<T> {
  readonly item: T;
  readonly value: number;
}

/** The shortest wait: usually, and after a hint. */
export interface LeastWait {
  readonly usualMs: number;
  readonly hintedMs: number;
}

/** ln 1.1 */
const CLASS_STEP = 0.0953;

/** The number of bands into which `spanMs` is divided to count items by age. */
const AGE_BANDS = 64;

interface WaitlistOptions<T> {
  /** About the longest expected wait. */
  readonly spanMs: number;
  /**
   * When the last poll of a waiting item began, which must not change while it waits; undefined for an item that does
   * not wait.
   */
  readonly lastMsOf: (item: T) => number | undefined;
  /** Whether a waiting item was not polled since the start. */
  readonly isFresh: (item: T) => boolean;
  /** The value of the first poll of an unknown item: λ/(2·cost). */
  readonly freshWorth: () => number;
}

/**
 * How many times the wait beyond `lateMs` counts. It keeps the p99 of all entries near that of streams polled in
 * turn; a little above it if most streams have next to no entries.
 */
const LATE_COUNTS = 10;

/**
 * How long a stream has waited or, once its poll is late, how long it would have to wait to have the same value
 * without lateness. With L for `lateMs` and P for `LATE_COUNTS`, the entries of a stream that is polled each T cost
 * λ·(T²/2 + P·L·(T − L)) per poll. Together with the cost of the requests, that is least per unit of time if the
 * value of a request is λ·(T²/2 + P·L²).
 */
function countedMs(waitMs: number, lateMs: number): number {
  return waitMs < lateMs ? waitMs : Math.sqrt(waitMs ** 2 + 2 * LATE_COUNTS * lateMs ** 2);
}

export class Waitlist<T> {
  readonly #lastMsOf: (item: T) => number | undefined;
  readonly #isCurrent = (item: T, atMs: number) => this.#lastMsOf(item) === atMs;
  readonly #isFresh: (item: T, atMs: number) => boolean;
  readonly #bandMs: number;
  readonly #byAge: InstantQueue<T>;
  readonly #usual = new Map<number, Class<T>>();
  readonly #hinted = new Map<number, Class<T>>();
  readonly #known = new Map<number, Class<T>>();
  readonly #fresh: Class<T>;
  /** The number of waiting items whose last poll began in each band of time. */
  readonly #bands = new Map<number, number>();

  constructor({ spanMs, lastMsOf, isFresh, freshWorth }: WaitlistOptions<T>) {
    this.#lastMsOf = lastMsOf;
    // An item may be polled at the very instant at which it was added.
    this.#isFresh = (item, atMs) => isFresh(item) && lastMsOf(item) === atMs;
    this.#bandMs = spanMs / AGE_BANDS;
    this.#byAge = createInstantQueue(this.#isCurrent);
    this.#fresh = { weight: () => Math.sqrt(freshWorth()), queue: createInstantQueue(this.#isFresh) };
  }

  /** `worth` is λ/(2·cost): the expected entries per millisecond and request. */
  add(item: T, lastMs: number, worth: number): void {
    this.#enter(item, lastMs);
    this.#classOf(this.#usual, worth, this.#isCurrent).queue.add(item, lastMs);
  }

  /** Adds an item that was not polled since the start, but whose rate is known. */
  addKnown(item: T, sinceMs: number, worth: number): void {
    this.#enter(item, sinceMs);
    this.#classOf(this.#known, worth, this.#isFresh).queue.add(item, sinceMs);
  }

  /** Adds an item whose rate is unknown. */
  addFresh(item: T, sinceMs: number): void {
    this.#enter(item, sinceMs);
    this.#fresh.queue.add(item, sinceMs);
  }

  /** A waiting item was hinted. Its value is higher from now on. */
  hint(item: T, lastMs: number, worth: number): void {
    this.#classOf(this.#hinted, worth, this.#isCurrent).queue.add(item, lastMs);
  }

  /** Removes an item. To be called before its `lastMsOf` becomes undefined. Does nothing if it does not wait. */
  delete(item: T): void {
    const lastMs = this.#lastMsOf(item);
    if (lastMs !== undefined) this.#count(this.#bandOf(lastMs), -1);
  }

  /** The item whose last poll began first. */
  oldest(): QueueEntry<T> | undefined {
    return this.#byAge.first();
  }

  /**
   * Whether the oldest item has to be polled now so that each of `total` streams can be polled every `limitMs`.
   * Streams that were polled close together are thus spread out in good time, instead of all being late together.
   */
  isPressing(nowMs: number, limitMs: number, total: number): boolean {
    const first = this.#byAge.first();
    if (!first) return false;
    if (nowMs - first.atMs >= limitMs) return true;
    // If all are polled one by one over `limitMs`, the k-th oldest has its turn after (k − 1)/total of it. A band
    // counts as young as its end, so this may come one band late.
    let older = 0;
    for (let end = this.#bandOf(first.atMs) + 1; end * this.#bandMs <= nowMs; end += 1) {
      older += this.#bands.get(end - 1) ?? 0;
      if ((older - 1) / total > 1 - (nowMs - end * this.#bandMs) / limitMs) return true;
    }
    return false;
  }

  /** Whether an item waits that was not polled since the start. */
  hasFresh(): boolean {
    if (this.#fresh.queue.first()) return true;
    for (const { queue } of this.#known.values()) if (queue.first()) return true;
    return false;
  }

  /**
   * The item with the largest expected delay per request, among the first items of each class that have waited long
   * enough. A poll is late if it comes more than `lateMs` after the previous one.
   */
  best(nowMs: number, { usualMs, hintedMs }: LeastWait, lateMs: number): Choice<T> | undefined {
    let best: Choice<T> | undefined;
    const choose = ({ weight, queue }: Class<T>, leastMs: number) => {
      const first = queue.first();
      if (!first || nowMs < first.atMs + leastMs) return;
      const value = weight() * countedMs(nowMs - first.atMs, lateMs);
      if (!best || value > best.value) best = { item: first.item, value };
    };
    choose(this.#fresh, 0);
    for (const known of this.#known.values()) choose(known, 0);
    for (const usual of this.#usual.values()) choose(usual, usualMs);
    for (const hinted of this.#hinted.values()) choose(hinted, hintedMs);
    return best;
  }

  /** When the next item will have waited long enough; Infinity if there is none. */
  nextMs({ usualMs, hintedMs }: LeastWait): number {
    let earliestMs = (this.#byAge.first()?.atMs ?? Number.POSITIVE_INFINITY) + usualMs;
    for (const { queue } of this.#hinted.values()) {
      earliestMs = Math.min(earliestMs, (queue.first()?.atMs ?? Number.POSITIVE_INFINITY) + hintedMs);
    }
    return earliestMs;
  }

  #enter(item: T, lastMs: number): void {
    this.#count(this.#bandOf(lastMs), 1);
    this.#byAge.add(item, lastMs);
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

  #classOf(classes: Map<number, Class<T>>, worth: number, isCurrent: (item: T, atMs: number) => boolean) {
    const step = Math.round(Math.log(worth) / 2 / CLASS_STEP);
    let found = classes.get(step);
    if (!found) {
      const weight = Math.exp(step * CLASS_STEP);
      found = { weight: () => weight, queue: createInstantQueue(isCurrent) };
      classes.set(step, found);
    }
    return found;
  }
}
