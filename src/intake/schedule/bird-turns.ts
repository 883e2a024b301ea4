/**
 * Chooses which Bird's stream to poll next. Each feed has its own waitlist, because each has its own limit on how
 * long its streams may wait.
 */
import type { Column, Columns } from '../columns.ts';
import type { PollValues } from './poll-value.ts';
import { type Choice, type LeastWait, Waitlist } from './waitlist.ts';

/** The number of a stream's row in the columns. */
export type Row = number;

interface BirdTurnsOptions {
  readonly minIntervalMs: number;
  /** The intended interval between two polls of a stream. */
  readonly intervalMs: number;
  readonly maxIntervalMs: number;
  readonly columns: Columns;
  readonly values: PollValues;
  /** For a waiting stream, when its last poll began or since when it waits; undefined for all others. */
  readonly lastMsOf: (row: Row) => number | undefined;
  readonly isFresh: (row: Row) => boolean;
  /** The requests per second that the service accepts now. */
  readonly allowedPerSecond: () => number;
  /** The requests per second that regular streams need. */
  readonly regularPerSecond: () => number;
  /** How many of these they get while other streams wait. */
  readonly regularTakesPerSecond: () => number;
}

/** The streams of all Birds in one feed. */
interface Feed {
  readonly name: string;
  readonly waiting: Waitlist<Row>;
  streams: number;
  /** The requests that one poll of each stream takes. */
  roundCost: number;
}

/**
 * No stream is made to wait longer than this part of `maxIntervalMs`: if `intervalMs` is as long, some slack is
 * needed.
 */
const LONGEST_WAIT = 0.9;

/** Polls begin at this part of their limit, since turns and answers take time too. */
const LIMIT_MARGIN = 0.95;

/**
 * A poll is late after this part of the time that one round over all streams takes: regular streams and hints use
 * some turns.
 */
const LATE_FROM = 0.94;

/** The part of the rate used to keep a stretched limit. The rest goes to streams where new entries are expected. */
const STRETCHED_USE = 0.8;

export class BirdTurns {
  readonly #options: BirdTurnsOptions;
  readonly #values: PollValues;
  readonly #aimMs: number;
  readonly #leastMs: number;
  readonly #feeds = new Map<string, Feed>();
  /** Undefined for regular streams. */
  readonly #feedOf: Column<Feed | undefined>;

  constructor(options: BirdTurnsOptions) {
    this.#options = options;
    this.#values = options.values;
    this.#feedOf = options.columns.addChoice<Feed | undefined>(undefined);
    const longestWaitMs = LONGEST_WAIT * options.maxIntervalMs;
    this.#aimMs = Math.min(options.intervalMs, longestWaitMs);
    this.#leastMs = Math.min(options.minIntervalMs, longestWaitMs);
  }

  /**
   * Adds the stream of a row that was just added. It waits since `sinceMs`. `isKnown`: its rate is known from an
   * earlier run.
   */
  add(row: Row, feedName: string, sinceMs: number, isKnown: boolean): void {
    const feed = this.#feedOfName(feedName);
    this.#feedOf.set(row, feed);
    feed.streams += 1;
    feed.roundCost += this.#values.cost(row);
    if (isKnown) feed.waiting.addKnown(row, sinceMs, this.#values.worth(row));
    else feed.waiting.addFresh(row, sinceMs);
  }

  remove(row: Row): void {
    const feed = this.#feedOf.get(row)!;
    feed.waiting.delete(row);
    feed.streams -= 1;
    // Set to zero, so that rounding errors do not accumulate.
    feed.roundCost = feed.streams === 0 ? 0 : feed.roundCost - this.#values.cost(row);
  }

  /** A waiting stream is polled now. To be called while it still counts as waiting. */
  take(row: Row): void {
    this.#feedOf.get(row)!.waiting.delete(row);
  }

  /** A stream waits for its next poll, after one that began at `beganMs`. */
  wait(row: Row, beganMs: number): void {
    this.#feedOf.get(row)!.waiting.add(row, beganMs, this.#values.worth(row));
  }

  /** An entry is expected in a stream that has waited since `beganMs`. */
  hint(row: Row, beganMs: number): void {
    this.#feedOf.get(row)!.waiting.hint(row, beganMs, this.#values.hintedWorth(row));
  }

  /** A poll of the stream takes `change` more requests than before. */
  costChanged(row: Row, change: number): void {
    this.#feedOf.get(row)!.roundCost += change;
  }

  /** The requests that one poll of each stream takes. */
  roundCost(): number {
    let cost = 0;
    for (const { roundCost } of this.#feeds.values()) cost += roundCost;
    return cost;
  }

  /** Whether the rate allows every stream its intended interval. */
  isAimKept(): boolean {
    return this.#neededPerSecond(this.#aimMs) <= this.#options.allowedPerSecond();
  }

  isOf(row: Row, feedName: string): boolean {
    return this.#feedOf.get(row)?.name === feedName;
  }

  /**
   * Whether a stream waits that was not polled since the start. Streams of the feed `except` are left out, here and
   * below.
   */
  hasFresh(except?: string): boolean {
    for (const { name, waiting } of this.#feeds.values()) {
      if (name !== except && waiting.hasFresh()) return true;
    }
    return false;
  }

  /**
   * The stream that has waited longest in a feed, if otherwise some stream of the feed would miss its limit. Among
   * several feeds, the stream that has used up the largest part of its limit.
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

  /** The stream with the largest expected delay per request, among those that have waited long enough. */
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

  /** When the next stream will have waited long enough; Infinity if there is none. */
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

  /** The requests per second that give every stream this interval, and regular streams their own. */
  #neededPerSecond(intervalMs: number): number {
    return (this.roundCost() * 1000) / intervalMs + this.#options.regularPerSecond();
  }

  /** From which wait on a poll is late. If all streams are polled in turn, hardly any is. */
  #lateMs(): number {
    return Math.max(this.#aimMs, (LATE_FROM * this.roundCost() * 1000) / this.#options.allowedPerSecond());
  }

  /** How long a stream waits at least between two polls: the intended interval if the rate allows it for all. */
  #leastWait(): LeastWait {
    return { usualMs: this.isAimKept() ? this.#aimMs : this.#leastMs, hintedMs: this.#options.minIntervalMs };
  }

  /** Each feed that has streams, with the longest wait allowed for them. */
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

/**
 * Computes the longest wait of the streams in each feed, so that a wrong guess about one costs a bounded time. It is
 * a multiple of the interval that the feed's streams would have if they were polled in turn, with the requests
 * divided among the feeds by the square-root law: if all streams of a feed have the same interval Tᵢ, Σ λᵢ·Tᵢ/2 is
 * least if Tᵢ is proportional to √(cost/λᵢ).
 */

/** All streams of a feed, as averages. */
interface FeedLoad {
  readonly streams: number;
  /** The requests of one poll. */
  readonly cost: number;
  /** The expected new entries of a stream per millisecond. */
  readonly ratePerMs: number;
}

/**
 * The multiple of that interval. At 1.5 the mean delay is at most a few percent longer than possible, whatever the
 * rates are. At 1 nothing would be left for streams where new entries are expected.
 */
const FAIR_WAIT = 1.5;

/**
 * The limit of each feed in milliseconds, at most `mostMs`, if the feeds get `requestsPerMs`. If these requests are
 * too few for `mostMs`, each feed gets `mostMs`.
 */
export function fairLimitsMs(
  feeds: readonly FeedLoad[],
  requestsPerMs: number,
  mostMs: number,
): readonly number[] {
  let leftPerMs = requestsPerMs;
  const atMost = new Set<FeedLoad>();
  for (;;) {
    const shared = feeds.filter((feed) => !atMost.has(feed));
    const total = shared.reduce(
      (sum, { streams, cost, ratePerMs }) => sum + streams * Math.sqrt(cost * ratePerMs),
      0,
    );
    const inTurnMs = ({ cost, ratePerMs }: FeedLoad) => (total / leftPerMs) * Math.sqrt(cost / ratePerMs);
    // Feeds whose limit would be too long get more than the law gives them, which leaves less to the others.
    const slow = shared.filter((feed) => inTurnMs(feed) > mostMs);
    if (slow.length === 0) {
      return feeds.map((feed) => (atMost.has(feed) ? mostMs : Math.min(mostMs, FAIR_WAIT * inTurnMs(feed))));
    }
    for (const feed of slow) {
      atMost.add(feed);
      leftPerMs -= (feed.streams * feed.cost) / mostMs;
    }
    if (leftPerMs <= 0) return feeds.map(() => mostMs);
  }
}
