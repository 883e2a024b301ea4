/**
 * The streams that wait for their next poll, in two orders at once: by the time since the last one, and by the
 * expected delay that a poll would end, λ·(now − last)²/(2·cost), and more where the poll is late. Those that were never
 * polled wait since they were added.
 *
 * The second order changes with time for all streams at once. But where two streams have the same λ/cost, the one
 * that waits longer is always ahead: so streams of about the same λ/cost form a class, first come first served, and
 * only the first of each class is compared. Classes are a tenth apart in √(λ/cost): intervals are within 5 % of the
 * best ones, which costs the mean delay next to nothing, and a choice takes the same time among any number of streams.
 * Fresh streams of which nothing is known are a class of their own: what they are worth changes with their feed.
 */
import { createInstantQueue, type InstantQueue, type QueueEntry } from './instant-queue.ts';

interface Class<T> {
  /** The square root of what a poll is worth. */
  readonly weight: () => number;
  readonly queue: InstantQueue<T>;
}

/** An item that may have the turn, and the square root of the expected delay that its poll would end. */
export interface Choice<T> {
  readonly item: T;
  readonly value: number;
}

/** How long an item waits at least: one that waits as usual, and one that was hinted at. */
export interface LeastWait {
  readonly usualMs: number;
  readonly hintedMs: number;
}

/** ln 1.1 */
const CLASS_STEP = 0.0953;

/** Parts of `spanMs` into which ages are sorted. */
const AGE_BANDS = 64;

interface WaitlistOptions<T> {
  /** About the longest wait that is expected. */
  readonly spanMs: number;
  /**
   * When the last poll of a waiting item began, which must not change while it waits; undefined for an item that does
   * not wait.
   */
  readonly lastMsOf: (item: T) => number | undefined;
  /** Whether a waiting item was not polled in this life. */
  readonly isFresh: (item: T) => boolean;
  /** What the first poll of an item is worth of which nothing is known: λ/(2·cost). */
  readonly freshWorth: () => number;
}

/**
 * An entry that waits for more than `lateMs` counts as if it waited for so many times that longer. So the p99 of all
 * entries is about that of streams that are polled in turn; a little longer where most streams bring next to nothing.
 */
const LATE_COUNTS = 10;

/**
 * How long a stream waits or, once its poll is late, would have to wait to be worth as much if nothing were. With L for
 * `lateMs` and P for `LATE_COUNTS`, the entries of a stream that is polled each T cost λ·(T²/2 + P·L·(T − L)) a poll.
 * Together with the requests that is least a time unit where λ·(T²/2 + P·L²) is what a request is worth.
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
  /** How many wait whose last poll began in a band of time. */
  readonly #bands = new Map<number, number>();

  constructor({ spanMs, lastMsOf, isFresh, freshWorth }: WaitlistOptions<T>) {
    this.#lastMsOf = lastMsOf;
    // It may have been polled at the instant at which it was added.
    this.#isFresh = (item, atMs) => isFresh(item) && lastMsOf(item) === atMs;
    this.#bandMs = spanMs / AGE_BANDS;
    this.#byAge = createInstantQueue(this.#isCurrent);
    this.#fresh = { weight: () => Math.sqrt(freshWorth()), queue: createInstantQueue(this.#isFresh) };
  }

  /** `worth` is λ/(2·cost): expected entries per millisecond and request. */
  add(item: T, lastMs: number, worth: number): void {
    this.#enter(item, lastMs);
    this.#classOf(this.#usual, worth, this.#isCurrent).queue.add(item, lastMs);
  }

  /** Adds one that was not polled in this life, but of which something is known. */
  addKnown(item: T, sinceMs: number, worth: number): void {
    this.#enter(item, sinceMs);
    this.#classOf(this.#known, worth, this.#isFresh).queue.add(item, sinceMs);
  }

  /** Adds one of which nothing is known. */
  addFresh(item: T, sinceMs: number): void {
    this.#enter(item, sinceMs);
    this.#fresh.queue.add(item, sinceMs);
  }

  /** An item that waits was hinted at, and is worth more from now on. */
  hint(item: T, lastMs: number, worth: number): void {
    this.#classOf(this.#hinted, worth, this.#isCurrent).queue.add(item, lastMs);
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
   * Whether the oldest one has to be polled now in order that each of `total` streams is polled every `limitMs`.
   * Streams that were polled in a bunch are so taken apart in good time, instead of all being late together.
   */
  isPressing(nowMs: number, limitMs: number, total: number): boolean {
    const first = this.#byAge.first();
    if (!first) return false;
    if (nowMs - first.atMs >= limitMs) return true;
    // Served one by one over `limitMs`, the k-th oldest has its turn after (k − 1)/total of it. A band counts as
    // young as its end, so this may come a band late.
    let older = 0;
    for (let end = this.#bandOf(first.atMs) + 1; end * this.#bandMs <= nowMs; end += 1) {
      older += this.#bands.get(end - 1) ?? 0;
      if ((older - 1) / total > 1 - (nowMs - end * this.#bandMs) / limitMs) return true;
    }
    return false;
  }

  /** Whether one waits that was not polled in this life. */
  hasFresh(): boolean {
    if (this.#fresh.queue.first()) return true;
    for (const { queue } of this.#known.values()) if (queue.first()) return true;
    return false;
  }

  /**
   * The item with the largest expected delay for its cost, among the first of each class that wait long enough. A poll
   * is late that comes more than `lateMs` after the one before.
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

  /** When the first of those that do not wait long enough yet will; Infinity for none. */
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
