/**
 * Which stream to poll next, such that new entries are found as early as the allowed rate permits. Pure: it knows no
 * clock and no service, and is given every instant.
 *
 * There are two sorts of streams. *Regular* ones (inventory, notifications, audits) are due an interval after their
 * last poll began, and each has a share of the requests. The others, two for each Bird, are in one of these states:
 *
 *   fresh (never polled in this life) → taken → waiting → taken → …
 *   taken or waiting → timed, its next poll has an instant of its own: more pages, a retry, a hint → taken
 *
 * A turn goes to the first of these that there is:
 * 1. a regular stream that is due, as long as it stays within its share of the requests;
 * 2. a timed stream whose instant has come; while 3 or 4 press, within a share as well;
 * 3. a fresh stream;
 * 4. the stream that was polled longest ago, if else not every stream could be polled each `maxIntervalMs`;
 * 5. of those that waited long enough, the one with the largest expected delay for its cost,
 *    λ·(now − last)²/(2·cost), which is what makes the mean delay of all entries least;
 * 6. a regular stream that is beyond its share: no other stream wants the turn.
 *
 * Long enough is `intervalMs` where the rate allows that for all: then each is polled so often, and no request is
 * spent on more, but for hints. Where it does not, it is `minIntervalMs`: streams in which much happens are polled
 * more often than the aim and quiet ones less, down to each `maxIntervalMs`. Where the rate is too low even for
 * that, the limit is stretched as far as is needed, and `lag` says so.
 */
import { type Column, type Columns, createColumns } from './columns.ts';
import { createInstantQueue, type InstantQueue } from './instant-queue.ts';
import { createPollValues, type PollValues } from './poll-value.ts';
import { type Account, createShares, type Shares } from './shares.ts';
import { Waitlist } from './waitlist.ts';

export interface ScheduleOptions {
  /** A stream is never polled sooner after its last poll, whatever is hinted. */
  readonly minIntervalMs: number;
  /** The aim between two polls of a stream. */
  readonly intervalMs: number;
  /** A stream is polled at least that often, as far as the allowed rate permits. */
  readonly maxIntervalMs: number;
  /** Requests a second that the service takes now. */
  readonly allowedPerSecond: () => number;
}

export type Stream =
  | { readonly name: string; readonly feed: string }
  | {
      readonly name: string;
      readonly intervalMs: number;
      /** The part of all requests that it may use while others wait, between 0 and 1. */
      readonly share: number;
      /** It brings no entries of its own: `lag` leaves it out. */
      readonly mayLag?: boolean;
    };

/** What a poll was like. */
export interface Polled {
  /** Replaces the interval; Infinity: not again. */
  readonly delayMs?: number | undefined;
  /** How many requests it took; undefined when it failed, unless it is partial. */
  readonly requests?: number | undefined;
  /** It failed though it read a part: what it took is known, and it is as late as before. */
  readonly isPartial?: boolean;
  readonly newEntries?: number;
  /** It read all that there was, so its new entries show how often some come. */
  readonly complete?: boolean;
  /** It failed because what it reads no longer exists, so that no entry of it can be late. */
  readonly isGone?: boolean;
}

export interface Lag {
  /** The stream whose last poll that succeeded is longest ago. */
  readonly name: string;
  /** How long ago that poll began, or the stream was added. */
  readonly oldestMs: number;
  /** How many streams lag, this one among them. */
  readonly streams: number;
}

/** How long a stream waits for being read. */
export interface StreamAge {
  readonly name: string;
  /** How long ago its last poll began that succeeded; before the first, since it was added. */
  readonly ageMs: number;
  /** No poll of it has succeeded in this life. */
  readonly isUnread: boolean;
  /** No poll of it was begun in this life. */
  readonly isUntried: boolean;
  /** It is not read often enough. */
  readonly isLate: boolean;
}

/** The number of a stream's row. */
type Row = number;

interface Regular {
  intervalMs: number;
  readonly mayLag: boolean;
  readonly account: Account;
}

type State = 'fresh' | 'waiting' | 'timed' | 'taken' | 'gone';

/** The part of the requests that timed streams get while other streams must be polled to keep their limit. */
const TIMED_SHARE = 1 / 4;

/** No stream is made to wait longer than that part of the limit: where the aim is the limit there must be room. */
const LONGEST_WAIT = 0.9;

/** Polls begin so much before their limit, since turns and answers take time as well. */
const LIMIT_MARGIN = 0.95;

/** The part of the rate that keeping a stretched limit may use: the rest goes to where new entries are expected. */
const STRETCHED_USE = 0.8;

/** A stream lags from that multiple of the limit on: turns come unevenly. */
const LAG_FROM = 1.1;

/** The same for a regular stream: one reading of a large inventory takes a while. */
const REGULAR_LAG_FROM = 2;

export class Schedule {
  readonly #minIntervalMs: number;
  readonly #maxIntervalMs: number;
  readonly #allowedPerSecond: () => number;
  readonly #aimMs: number;
  readonly #leastMs: number;
  readonly #columns: Columns = createColumns();
  readonly #rowOf = new Map<string, Row>();
  readonly #names: string[] = [];
  readonly #states: State[] = [];
  /** When the last poll began. */
  readonly #lastMs: Column;
  /** When the last poll began that succeeded; before the first, when the stream was added. */
  readonly #readMs: Column;
  /** When a timed or regular stream is due; since when a fresh one waits. */
  readonly #readyMs: Column;
  readonly #values: PollValues;
  readonly #regulars = new Map<Row, Regular>();
  /** Streams of which no poll has succeeded. */
  readonly #unread = new Set<Row>();
  /** Taken streams that were hinted at meanwhile. */
  readonly #hinted = new Set<Row>();
  /** The account that pays for the poll of a taken stream. */
  readonly #payers = new Map<Row, Account>();
  readonly #fresh: InstantQueue<Row>;
  readonly #timed: InstantQueue<Row>;
  readonly #waiting: Waitlist<Row>;
  readonly #shares: Shares = createShares();
  readonly #timedAccount: Account;
  #birdStreams = 0;
  /** Requests that one poll of each Bird's stream would take. */
  #roundCost = 0;

  constructor(options: ScheduleOptions) {
    this.#minIntervalMs = options.minIntervalMs;
    this.#maxIntervalMs = options.maxIntervalMs;
    this.#allowedPerSecond = options.allowedPerSecond;
    const longestWaitMs = LONGEST_WAIT * options.maxIntervalMs;
    this.#aimMs = Math.min(options.intervalMs, longestWaitMs);
    this.#leastMs = Math.min(this.#minIntervalMs, longestWaitMs);
    this.#lastMs = this.#columns.add(Number.NEGATIVE_INFINITY);
    this.#readMs = this.#columns.add(0);
    this.#readyMs = this.#columns.add(Number.NEGATIVE_INFINITY);
    this.#values = createPollValues(this.#columns);
    this.#fresh = createInstantQueue(this.#isDue('fresh'));
    this.#timed = createInstantQueue(this.#isDue('timed'));
    this.#waiting = new Waitlist<Row>(this.#maxIntervalMs, (row) =>
      this.#states[row] === 'waiting' ? this.#lastMs.get(row) : undefined,
    );
    this.#timedAccount = this.#shares.open(TIMED_SHARE);
  }

  get size(): number {
    return this.#rowOf.size;
  }

  has(name: string): boolean {
    return this.#rowOf.has(name);
  }

  /** Adds a stream. Of one that it has, only the interval changes. */
  add(stream: Stream, nowMs: number): void {
    const known = this.#rowOf.get(stream.name);
    if (known !== undefined) {
      const regular = this.#regulars.get(known);
      if (regular && 'share' in stream) regular.intervalMs = stream.intervalMs;
      return;
    }
    const row = this.#columns.addRow();
    this.#rowOf.set(stream.name, row);
    this.#names[row] = stream.name;
    this.#states[row] = 'fresh';
    this.#readMs.set(row, nowMs);
    this.#unread.add(row);
    if ('share' in stream) {
      this.#values.add(row, stream.name);
      const { intervalMs, share, mayLag = false } = stream;
      this.#regulars.set(row, { intervalMs, mayLag, account: this.#shares.open(share) });
      return;
    }
    this.#values.add(row, stream.feed);
    this.#birdStreams += 1;
    this.#roundCost += this.#values.cost(row);
    this.#readyMs.set(row, nowMs);
    this.#fresh.add(row, nowMs);
  }

  /** Does nothing for a stream that it has not. */
  remove(name: string): void {
    const row = this.#rowOf.get(name);
    if (row === undefined) return;
    this.#waiting.delete(row);
    this.#rowOf.delete(name);
    this.#names[row] = '';
    this.#states[row] = 'gone';
    this.#unread.delete(row);
    this.#hinted.delete(row);
    this.#payers.delete(row);
    const regular = this.#regulars.get(row);
    if (regular) {
      this.#regulars.delete(row);
      this.#shares.close(regular.account);
    } else {
      this.#birdStreams -= 1;
      // From zero on, so that what rounding left over does not add up.
      this.#roundCost = this.#birdStreams === 0 ? 0 : this.#roundCost - this.#values.cost(row);
    }
    this.#columns.removeRow(row);
  }

  /** Takes the stream to poll now, or returns how long nothing is to be polled (Infinity: until something is added). */
  take(nowMs: number): { readonly name: string } | { readonly waitMs: number } {
    const row = this.#choose(nowMs);
    if (row === undefined) return { waitMs: this.#nextMs() - nowMs };
    this.#waiting.delete(row);
    const regular = this.#regulars.get(row);
    if (regular) this.#payers.set(row, regular.account);
    this.#states[row] = 'taken';
    this.#lastMs.set(row, nowMs);
    this.#shares.charge(this.#payers.get(row), this.#values.cost(row));
    return { name: this.#names[row]! };
  }

  /** Gives a taken stream back after its poll. */
  done(name: string, nowMs: number, polled: Polled = {}): void {
    const row = this.#rowOf.get(name);
    if (row === undefined || this.#states[row] !== 'taken') return;
    this.#learn(row, nowMs, polled);
    const isRead = polled.requests !== undefined && !polled.isPartial;
    if (isRead || polled.isGone) {
      this.#readMs.set(row, this.#lastMs.get(row));
      this.#unread.delete(row);
    }
    this.#payers.delete(row);
    const isHinted = this.#hinted.delete(row);
    const regular = this.#regulars.get(row);
    const { delayMs } = polled;
    const beganMs = this.#lastMs.get(row);
    if (!regular && delayMs === undefined && !isHinted) {
      this.#states[row] = 'waiting';
      this.#waiting.add(row, beganMs, this.#values.worth(row));
      return;
    }
    const ownMs = delayMs === undefined ? beganMs + (regular?.intervalMs ?? this.#aimMs) : nowMs + delayMs;
    const hintedMs = isHinted ? beganMs + this.#minIntervalMs : ownMs;
    this.#setTimed(row, ownMs === Number.POSITIVE_INFINITY ? ownMs : Math.min(ownMs, hintedMs));
  }

  /** Something is expected there: poll it as soon as the minimum interval allows. */
  hint(name: string, nowMs: number): void {
    const row = this.#rowOf.get(name);
    if (row === undefined || this.#states[row] === 'fresh') return;
    if (this.#states[row] === 'taken') {
      this.#hinted.add(row);
      return;
    }
    const hintedMs = Math.max(nowMs, this.#lastMs.get(row) + this.#minIntervalMs);
    if (this.#states[row] === 'waiting') this.#waiting.delete(row);
    // Infinity: it is not polled again, as where each stream is read only once.
    else if (this.#readyMs.get(row) <= hintedMs || this.#readyMs.get(row) === Number.POSITIVE_INFINITY)
      return;
    this.#setTimed(row, hintedMs);
  }

  /**
   * The streams that are not read often enough; undefined while there are none. Takes time for each stream, so it is
   * to be called every half minute or so.
   */
  lag(nowMs: number): Lag | undefined {
    let oldest: Row | undefined;
    let streams = 0;
    for (const row of this.#rowOf.values()) {
      if (nowMs - this.#readMs.get(row) <= this.#lagFromMs(this.#regulars.get(row))) continue;
      streams += 1;
      if (oldest === undefined || this.#readMs.get(row) < this.#readMs.get(oldest)) oldest = row;
    }
    if (oldest === undefined) return undefined;
    return { name: this.#names[oldest]!, oldestMs: nowMs - this.#readMs.get(oldest), streams };
  }

  /** How long each stream waits, but for those that may lag. Takes time for each, as `lag` does. */
  *ages(nowMs: number): Iterable<StreamAge> {
    for (const row of this.#rowOf.values()) {
      const lagFromMs = this.#lagFromMs(this.#regulars.get(row));
      if (lagFromMs === Number.POSITIVE_INFINITY) continue;
      const ageMs = nowMs - this.#readMs.get(row);
      const isUntried = this.#lastMs.get(row) === Number.NEGATIVE_INFINITY;
      const isUnread = this.#unread.has(row);
      yield { name: this.#names[row]!, ageMs, isUnread, isUntried, isLate: ageMs > lagFromMs };
    }
  }

  /** Requests a second that would keep `maxIntervalMs`. */
  neededPerSecond(): number {
    return this.#neededPerSecond(this.#maxIntervalMs);
  }

  /** Whether an entry of the queue of that state is the stream's current one. */
  #isDue(state: State): (row: Row, atMs: number) => boolean {
    return (row: Row, atMs: number) => this.#states[row] === state && this.#readyMs.get(row) === atMs;
  }

  /** Requests a second with which every stream is polled so often. */
  #neededPerSecond(intervalMs: number): number {
    let perMs = this.#roundCost / intervalMs;
    for (const [row, regular] of this.#regulars) perMs += this.#values.cost(row) / regular.intervalMs;
    return perMs * 1000;
  }

  /** The limit that can be kept. */
  #limitMs(): number {
    const load = this.#neededPerSecond(this.#maxIntervalMs) / this.#allowedPerSecond();
    return this.#maxIntervalMs * (load <= 1 ? LIMIT_MARGIN : load / STRETCHED_USE);
  }

  /** How long a stream waits at least between two polls, but for hints: the aim where the rate allows it for all. */
  #leastWaitMs(): number {
    return this.#neededPerSecond(this.#aimMs) <= this.#allowedPerSecond() ? this.#aimMs : this.#leastMs;
  }

  /** The regular stream that has been due for the longest time; with `withinShare` only one that owes no requests. */
  #dueRegular(nowMs: number, withinShare: boolean): Row | undefined {
    let first: Row | undefined;
    for (const [row, { account }] of this.#regulars) {
      if (this.#states[row] === 'taken' || this.#readyMs.get(row) > nowMs) continue;
      if (withinShare && account.debt > 0) continue;
      if (first === undefined || this.#readyMs.get(row) < this.#readyMs.get(first)) first = row;
    }
    return first;
  }

  /** Chooses the stream whose turn it is, by the order above, and who pays for its poll. */
  #choose(nowMs: number): Row | undefined {
    const regular = this.#dueRegular(nowMs, true);
    if (regular !== undefined) return regular;
    const pressing = this.#fresh.first()?.item ?? this.#pressingRow(nowMs);
    const next = this.#timed.first();
    if (next && next.atMs <= nowMs && !(pressing !== undefined && this.#timedAccount.debt > 0)) {
      this.#payers.set(next.item, this.#timedAccount);
      return next.item;
    }
    return pressing ?? this.#waiting.best(nowMs, this.#leastWaitMs()) ?? this.#dueRegular(nowMs, false);
  }

  /** The stream polled longest ago, where else not every stream could be polled in time. */
  #pressingRow(nowMs: number): Row | undefined {
    const oldest = this.#waiting.oldest();
    if (!oldest || nowMs < oldest.atMs + this.#leastWaitMs()) return undefined;
    return this.#waiting.pressing(nowMs, this.#limitMs(), this.#birdStreams);
  }

  /** The first instant at which one of the streams may be polled that may not be polled now. */
  #nextMs(): number {
    const oldest = this.#waiting.oldest();
    let earliestMs = Math.min(
      this.#timed.first()?.atMs ?? Number.POSITIVE_INFINITY,
      oldest ? oldest.atMs + this.#leastWaitMs() : Number.POSITIVE_INFINITY,
    );
    for (const row of this.#regulars.keys()) {
      if (this.#states[row] !== 'taken') earliestMs = Math.min(earliestMs, this.#readyMs.get(row));
    }
    return earliestMs;
  }

  /** Takes in what a poll took and brought. */
  #learn(row: Row, nowMs: number, { requests, newEntries = 0, complete = false }: Polled): void {
    if (requests === undefined) return;
    const before = this.#values.cost(row);
    this.#shares.charge(this.#payers.get(row), requests - before);
    this.#values.learn(row, { beganMs: this.#lastMs.get(row), nowMs, requests, newEntries, complete });
    if (!this.#regulars.has(row)) this.#roundCost += this.#values.cost(row) - before;
  }

  /** From how long ago on a stream's last successful poll is a lag. */
  #lagFromMs(regular: Regular | undefined): number {
    if (!regular) return LAG_FROM * this.#maxIntervalMs;
    if (regular.mayLag) return Number.POSITIVE_INFINITY;
    return REGULAR_LAG_FROM * Math.max(this.#maxIntervalMs, regular.intervalMs);
  }

  /** The stream's next poll has an instant of its own. */
  #setTimed(row: Row, dueMs: number): void {
    this.#states[row] = 'timed';
    this.#readyMs.set(row, dueMs);
    if (!this.#regulars.has(row) && dueMs < Number.POSITIVE_INFINITY) this.#timed.add(row, dueMs);
  }
}
