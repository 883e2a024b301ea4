/**
 * Whose turn it is among the streams of Birds. Each feed has a waitlist of its own, since a limit is kept per feed:
 * how long none of its streams is made to wait.
 */
import { type FeedLoad, fairLimitsMs } from './fair-limits.ts';
import type { PollValues } from './poll-value.ts';
import { type Choice, type LeastWait, Waitlist } from './waitlist.ts';

/** The number of a stream's row. */
export type Row = number;

interface BirdTurnsOptions {
  readonly minIntervalMs: number;
  /** The aim between two polls of a stream. */
  readonly intervalMs: number;
  readonly maxIntervalMs: number;
  readonly values: PollValues;
  /** When the last poll began of a stream that waits, or since when a fresh one does; undefined for all others. */
  readonly lastMsOf: (row: Row) => number | undefined;
  readonly isFresh: (row: Row) => boolean;
  /** Requests a second that the service takes now. */
  readonly allowedPerSecond: () => number;
  /** Those that regular streams need, */
  readonly regularPerSecond: () => number;
  /** and those that they take of them while other streams wait. */
  readonly regularTakesPerSecond: () => number;
}

/** The streams of Birds of one feed. */
interface Feed {
  readonly name: string;
  readonly waiting: Waitlist<Row>;
  streams: number;
  /** Requests that one poll of each would take. */
  roundCost: number;
}

/** No stream is made to wait longer than that part of the limit: where the aim is the limit there must be room. */
const LONGEST_WAIT = 0.9;

/** Polls begin so much before their limit, since turns and answers take time as well. */
const LIMIT_MARGIN = 0.95;

/** A poll is late after so much of a round over all streams: regular ones and hints use some of the turns. */
const LATE_FROM = 0.94;

/** The part of the rate that keeping a stretched limit may use: the rest goes to where new entries are expected. */
const STRETCHED_USE = 0.8;

export class BirdTurns {
  readonly #options: BirdTurnsOptions;
  readonly #values: PollValues;
  readonly #aimMs: number;
  readonly #leastMs: number;
  readonly #feeds = new Map<string, Feed>();
  readonly #feedOf: Feed[] = [];

  constructor(options: BirdTurnsOptions) {
    this.#options = options;
    this.#values = options.values;
    const longestWaitMs = LONGEST_WAIT * options.maxIntervalMs;
    this.#aimMs = Math.min(options.intervalMs, longestWaitMs);
    this.#leastMs = Math.min(options.minIntervalMs, longestWaitMs);
  }

  /** The row was just added, for a stream of this feed. It waits from `sinceMs` on; of a known one a rate was recalled. */
  add(row: Row, feedName: string, sinceMs: number, isKnown: boolean): void {
    const feed = this.#feedOfName(feedName);
    this.#feedOf[row] = feed;
    feed.streams += 1;
    feed.roundCost += this.#values.cost(row);
    if (isKnown) feed.waiting.addKnown(row, sinceMs, this.#values.worth(row));
    else feed.waiting.addFresh(row, sinceMs);
  }

  remove(row: Row): void {
    const feed = this.#feedOf[row]!;
    feed.waiting.delete(row);
    feed.streams -= 1;
    // From zero on, so that what rounding left over does not add up.
    feed.roundCost = feed.streams === 0 ? 0 : feed.roundCost - this.#values.cost(row);
  }

  /** A stream that waited is polled. To be called while it still counts as waiting. */
  take(row: Row): void {
    this.#feedOf[row]!.waiting.delete(row);
  }

  /** A stream waits for its next poll, after one that began then. */
  wait(row: Row, beganMs: number): void {
    this.#feedOf[row]!.waiting.add(row, beganMs, this.#values.worth(row));
  }

  /** Something is expected in a stream that waits since that instant. */
  hint(row: Row, beganMs: number): void {
    this.#feedOf[row]!.waiting.hint(row, beganMs, this.#values.hintedWorth(row));
  }

  /** A poll of the stream takes so many requests more or less than before. */
  costChanged(row: Row, change: number): void {
    this.#feedOf[row]!.roundCost += change;
  }

  /** Requests that one poll of each stream would take. */
  roundCost(): number {
    let cost = 0;
    for (const { roundCost } of this.#feeds.values()) cost += roundCost;
    return cost;
  }

  /** How long one poll of each stream takes at the rate that is allowed now. */
  roundMs(): number {
    return (this.roundCost() * 1000) / this.#options.allowedPerSecond();
  }

  /** Whether the rate allows to poll every stream as often as is aimed at. */
  isAimKept(): boolean {
    return this.#neededPerSecond(this.#aimMs) <= this.#options.allowedPerSecond();
  }

  isOf(row: Row, feedName: string): boolean {
    return this.#feedOf[row]?.name === feedName;
  }

  /** Whether one waits that was not polled in this life. As below, streams of the feed `except` are left out. */
  hasFresh(except?: string): boolean {
    for (const { name, waiting } of this.#feeds.values()) {
      if (name !== except && waiting.hasFresh()) return true;
    }
    return false;
  }

  /**
   * The stream polled longest ago of a feed where else not every stream could be polled in time; of two feeds, the one
   * of which that stream has less of its time left.
   */
  pressing(nowMs: number, except?: string): Row | undefined {
    const { usualMs } = this.#leastWait();
    let pressing: Row | undefined;
    let mostPassed = 0;
    for (const [{ name, waiting, streams }, limitMs] of this.#limits()) {
      if (name === except) continue;
      const oldest = waiting.oldest();
      if (!oldest || nowMs < oldest.atMs + usualMs) continue;
      const passed = (nowMs - oldest.atMs) / limitMs;
      if (passed <= mostPassed || !waiting.isPressing(nowMs, limitMs, streams)) continue;
      pressing = oldest.item;
      mostPassed = passed;
    }
    return pressing;
  }

  /** The stream with the largest expected delay for its cost, of those that waited long enough. */
  best(nowMs: number, except?: string): Row | undefined {
    const leastWait = this.#leastWait();
    const lateMs = this.#lateMs();
    let best: Choice<Row> | undefined;
    for (const { name, waiting } of this.#feeds.values()) {
      if (name === except) continue;
      const choice = waiting.best(nowMs, leastWait, lateMs);
      if (choice && (!best || choice.value > best.value)) best = choice;
    }
    return best?.item;
  }

  /** When the first of those that do not wait long enough yet will; Infinity for none. */
  nextMs(except?: string): number {
    const leastWait = this.#leastWait();
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const { name, waiting } of this.#feeds.values()) {
      if (name === except) continue;
      earliestMs = Math.min(earliestMs, waiting.nextMs(leastWait));
    }
    return earliestMs;
  }

  #feedOfName(name: string): Feed {
    let feed = this.#feeds.get(name);
    if (!feed) {
      const { maxIntervalMs, lastMsOf, isFresh } = this.#options;
      const freshWorth = () => this.#values.freshWorth(name);
      const waiting = new Waitlist<Row>({ spanMs: maxIntervalMs, lastMsOf, isFresh, freshWorth });
      feed = { name, waiting, streams: 0, roundCost: 0 };
      this.#feeds.set(name, feed);
    }
    return feed;
  }

  /** Requests a second with which every stream is polled so often, and regular ones as often as they are due. */
  #neededPerSecond(intervalMs: number): number {
    return (this.roundCost() * 1000) / intervalMs + this.#options.regularPerSecond();
  }

  /** From when on a poll is late: where all are polled in turn, hardly any is. */
  #lateMs(): number {
    return Math.max(this.#aimMs, (LATE_FROM * this.roundCost() * 1000) / this.#options.allowedPerSecond());
  }

  /** How long a stream waits at least between two polls: the aim where the rate allows it for all. */
  #leastWait(): LeastWait {
    return { usualMs: this.isAimKept() ? this.#aimMs : this.#leastMs, hintedMs: this.#options.minIntervalMs };
  }

  /** Each feed that has streams, and the longest that one of them is to wait. */
  #limits(): (readonly [Feed, number])[] {
    const { maxIntervalMs, allowedPerSecond, regularTakesPerSecond } = this.#options;
    const feeds = [...this.#feeds.values()].filter(({ streams }) => streams > 0);
    const requestsPerMs = (allowedPerSecond() - regularTakesPerSecond()) / 1000;
    const load = this.roundCost() / maxIntervalMs / requestsPerMs;
    if (load > 1) return feeds.map((feed) => [feed, (maxIntervalMs * load) / STRETCHED_USE]);
    const loads = feeds.map((feed) => this.#loadOf(feed));
    const limitsMs = fairLimitsMs(loads, requestsPerMs, maxIntervalMs * LIMIT_MARGIN);
    return feeds.map((feed, at) => [feed, Math.max(this.#aimMs, limitsMs[at]!)]);
  }

  #loadOf({ name, streams, roundCost }: Feed): FeedLoad {
    return { streams, cost: roundCost / streams, ratePerMs: this.#values.averageRate(name) };
  }
}
