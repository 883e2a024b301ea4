/**
 * Chooses which stream to poll next, so that new entries are found as early as the allowed request rate permits. Pure:
 * it reads no clock and calls no service; every instant is an argument.
 *
 * There are two kinds of streams. *Regular* ones (inventory, notifications, audits) are due one interval after their
 * last poll began, and each has a share of the requests. The others, two for each Bird, are in one of these states:
 *
 *   fresh (not polled since the start) → taken → waiting → taken → …
 *   taken → timed (its next poll has a set time: more pages to read, or a retry) → taken
 *
 * A turn goes to the first of these that exists:
 * 1. a regular stream that is due, while it is within its share of the requests;
 * 2. a timed stream whose time has come; while 3 applies or a stream is fresh, only within a share;
 * 3. the fresh or waiting stream that has waited longest in its feed, if otherwise not every stream of the feed could
 *    be polled within its limit (at most `maxIntervalMs`). That is the firmest promise, so it precedes what follows;
 * 4. a regular stream whose last poll left something to read, within a further share. Entries known to wait there
 *    matter more than entries that may have arrived elsewhere, but no other stream may starve for them;
 * 5. among the fresh streams and those that have waited long enough, the one with the largest expected delay per
 *    request, λ·(now − last)²/(2·cost). This minimises the mean delay of all entries. A stream that waits longer than
 *    it would if all were polled in turn counts several times as much, so that quiet streams do not pay for busy ones;
 * 6. a regular stream beyond its shares, since no other stream wants the turn.
 *
 * λ is the expected rate of the stream's entries (`arrival-rate.ts`). A fresh stream of an unknown rate counts as more
 * than an average one of its feed, because its first poll also teaches its rate. It waits since its entries became
 * news. A hinted stream counts as if an entry arrived within a minute. Both compete with the others, so neither many
 * new Birds nor many hints can starve other streams.
 *
 * "Long enough" is `intervalMs` if the rate allows that for all streams. Then every stream is polled at this interval,
 * and further requests are only spent on hints. Otherwise, and always for hinted streams, it is `minIntervalMs`: busy
 * streams are polled more often than each `intervalMs` and quiet ones less often, down to each `maxIntervalMs`. If the
 * rate is too low even for that, the limit is stretched as far as needed, and `lag` reports it.
 */

import { type Column, type Columns, createColumns } from '../columns.ts';
import { BirdTurns, type Row } from './bird-turns.ts';
import { createInstantQueue, type InstantQueue, type QueueEntry } from './instant-queue.ts';
import { createPollValues, type PollValues } from './poll-value.ts';
import { type Regular, RegularTurns } from './regular-turns.ts';
import { type Account, createShares, type Shares } from './shares.ts';

export interface ScheduleOptions {
  /** A stream is never polled sooner after its last poll, whatever the hints. */
  readonly minIntervalMs: number;
  /** The intended interval between two polls of a stream. */
  readonly intervalMs: number;
  /** The longest interval between two polls of a stream, as far as the allowed rate permits. */
  readonly maxIntervalMs: number;
  /** The requests per second that the service accepts now. */
  readonly allowedPerSecond: () => number;
}

type Stream =
  | {
      readonly name: string;
      readonly feed: string;
      /** What an earlier run has seen of it. */
      readonly seen?: Seen | undefined;
      /** For how long before it was added its entries have been news. */
      readonly newsMs?: number;
    }
  | {
      readonly name: string;
      readonly intervalMs: number;
      /** The part of all requests that it may use while others wait, between 0 and 1. */
      readonly share: number;
      /** It has no entries of its own, so `lag` ignores it. */
      readonly mayLag?: boolean;
    };

/** The number of entries that arrived in a time. */
export interface Seen {
  readonly entries: number;
  readonly coveredMs: number;
}

/** The outcome of a poll. */
export interface Polled {
  /** Replaces the interval; Infinity if the stream is not polled again. */
  readonly delayMs?: number | undefined;
  /** The number of requests; undefined if the poll failed, unless it is partial. */
  readonly requests?: number | undefined;
  /** The poll failed after reading a part. Its requests are known, and the stream remains as late as before. */
  readonly isPartial?: boolean;
  readonly newEntries?: number;
  /**
   * Whether the poll read everything, so that its new entries show the rate of the stream. If something is left, the
   * stream remains as late as before.
   */
  readonly complete?: boolean;
  /** The length of the time that it covered, if it was the first poll ever of the stream. */
  readonly historyMs?: number | undefined;
  /** It failed because the stream no longer exists, so none of its entries can be late. */
  readonly isGone?: boolean;
}

export interface Lag {
  /** The stream that was completely read longest ago. */
  readonly name: string;
  /** How long ago that poll began, or the stream was added. */
  readonly oldestMs: number;
  /** Whether its polls succeed but leave something to read. */
  readonly isBehind: boolean;
  /** The number of lagging streams, including this one. */
  readonly streams: number;
}

/** How long a stream has been waiting to be read. */
interface StreamAge {
  readonly name: string;
  /** How long ago its last complete poll began, or, before the first, how long ago it was added. */
  readonly ageMs: number;
  /** Whether no poll since the start has read it completely. */
  readonly isUnread: boolean;
  /** Whether no poll of it has begun since the start. */
  readonly isUntried: boolean;
  /** Whether it is not read often enough. */
  readonly isLate: boolean;
}

/** The stream whose turn it is. */
interface Turn {
  readonly row: Row;
  /** The account that its requests are charged to; undefined for none. */
  readonly payer: Account | undefined;
}

type State = 'fresh' | 'waiting' | 'timed' | 'taken' | 'gone';
const WAITING: ReadonlySet<State> = new Set(['fresh', 'waiting']);

/** The share of timed streams while other streams must be polled to keep their limit. */
const TIMED_SHARE = 1 / 4;

/** The share of regular streams that are behind, in addition to their own shares. */
const BACKLOG_SHARE = 1 / 4;

/** How long a timed stream is put off if its feed may not be polled now. */
const PUT_OFF_MS = 1_000;

/** A stream lags from this multiple of the limit on, since turns are uneven. */
const LAG_FROM = 1.1;

/** The same for a regular stream, since one reading of a large inventory takes a while. */
const REGULAR_LAG_FROM = 2;

export class Schedule {
  readonly #minIntervalMs: number;
  readonly #maxIntervalMs: number;
  readonly #columns: Columns = createColumns();
  readonly #rowOf = new Map<string, Row>();
  readonly #names: string[] = [];
  readonly #states: Column<State> = this.#columns.addChoice<State>('fresh');
  /** When the last poll began. Before the first poll of a Bird's stream: since when its entries are news. */
  readonly #lastMs: Column<number>;
  /** When the last complete poll began; before the first, when the stream was added. */
  readonly #readMs: Column<number>;
  /** When a timed or regular stream is due. */
  readonly #readyMs: Column<number>;
  readonly #values: PollValues;
  readonly #regulars: RegularTurns;
  /** Streams that no poll has read completely. */
  readonly #unread = new Set<Row>();
  /** Streams whose last successful poll left something to read. */
  readonly #behind = new Set<Row>();
  /** Taken streams that were hinted since. */
  readonly #hinted = new Set<Row>();
  /** The account that the poll of a taken stream is charged to. */
  readonly #payers = new Map<Row, Account>();
  readonly #timed: InstantQueue<Row>;
  readonly #birds: BirdTurns;
  readonly #shares: Shares = createShares();
  readonly #timedAccount: Account;
  readonly #backlogAccount: Account;

  constructor(options: ScheduleOptions) {
    this.#minIntervalMs = options.minIntervalMs;
    this.#maxIntervalMs = options.maxIntervalMs;
    this.#lastMs = this.#columns.add(Number.NEGATIVE_INFINITY);
    this.#readMs = this.#columns.add(0);
    this.#readyMs = this.#columns.add(Number.NEGATIVE_INFINITY);
    this.#values = createPollValues(this.#columns);
    this.#timed = createInstantQueue(
      (row, atMs) => this.#states.get(row) === 'timed' && this.#readyMs.get(row) === atMs,
    );
    this.#timedAccount = this.#shares.open(TIMED_SHARE);
    this.#backlogAccount = this.#shares.open(BACKLOG_SHARE);
    this.#regulars = new RegularTurns({
      values: this.#values,
      shares: this.#shares,
      readyMsOf: (row) => (this.#states.get(row) === 'taken' ? undefined : this.#readyMs.get(row)),
    });
    this.#birds = new BirdTurns({
      ...options,
      columns: this.#columns,
      values: this.#values,
      lastMsOf: (row) => (WAITING.has(this.#states.get(row)) ? this.#lastMs.get(row) : undefined),
      isFresh: (row) => this.#states.get(row) === 'fresh',
      regularPerSecond: () => this.#regulars.perSecond(),
      regularTakesPerSecond: () => this.#regulars.perSecond(options.allowedPerSecond()),
    });
  }

  get size(): number {
    return this.#rowOf.size;
  }

  has(name: string): boolean {
    return this.#rowOf.has(name);
  }

  /** Adds a stream. If it is already there, only the interval of a regular stream changes. */
  add(stream: Stream, nowMs: number): void {
    const known = this.#rowOf.get(stream.name);
    if (known !== undefined) {
      if ('share' in stream) this.#regulars.setInterval(known, stream.intervalMs);
      return;
    }
    const row = this.#columns.addRow();
    this.#rowOf.set(stream.name, row);
    this.#names[row] = stream.name;
    this.#readMs.set(row, nowMs);
    this.#unread.add(row);
    if ('share' in stream) {
      this.#values.add(row, stream.name);
      this.#regulars.add(row, { mayLag: false, ...stream });
      return;
    }
    this.#values.add(row, stream.feed);
    const { feed, seen, newsMs = 0 } = stream;
    this.#lastMs.set(row, nowMs - newsMs);
    if (seen) this.#values.recall(row, seen.entries, seen.coveredMs, nowMs);
    this.#birds.add(row, feed, nowMs - newsMs, seen !== undefined);
  }

  /** Does nothing if there is no such stream. */
  remove(name: string): void {
    const row = this.#rowOf.get(name);
    if (row === undefined) return;
    this.#rowOf.delete(name);
    this.#names[row] = '';
    this.#unread.delete(row);
    this.#behind.delete(row);
    this.#hinted.delete(row);
    this.#payers.delete(row);
    if (!this.#regulars.remove(row)) this.#birds.remove(row);
    this.#states.set(row, 'gone');
    this.#columns.removeRow(row);
  }

  /**
   * Takes the stream to poll now, or returns how long nothing is to be polled (Infinity: until something is added).
   * Bird streams of the feed `except` get no turn.
   */
  take(nowMs: number, except?: string): { readonly name: string } | { readonly waitMs: number } {
    const turn = this.#choose(nowMs, except);
    if (turn === undefined) return { waitMs: this.#nextMs(except) - nowMs };
    const { row, payer } = turn;
    if (payer) this.#payers.set(row, payer);
    if (!this.#regulars.of(row)) this.#birds.take(row);
    this.#states.set(row, 'taken');
    this.#lastMs.set(row, nowMs);
    this.#shares.begin(payer, this.#values.cost(row));
    return { name: this.#names[row]! };
  }

  /** Gives a taken stream back after its poll. */
  done(name: string, nowMs: number, polled: Polled = {}): void {
    const row = this.#rowOf.get(name);
    if (row === undefined || this.#states.get(row) !== 'taken') return;
    const expected = this.#values.cost(row);
    this.#shares.end(this.#payers.get(row), expected, polled.requests ?? expected);
    this.#learn(row, nowMs, polled);
    const hasSucceeded = polled.requests !== undefined && !polled.isPartial;
    if (hasSucceeded && polled.complete === false) this.#behind.add(row);
    else if (hasSucceeded || polled.isGone) {
      this.#readMs.set(row, this.#lastMs.get(row));
      this.#unread.delete(row);
      this.#behind.delete(row);
    }
    this.#payers.delete(row);
    const isHinted = this.#hinted.delete(row);
    const regular = this.#regulars.of(row);
    const { delayMs } = polled;
    const beganMs = this.#lastMs.get(row);
    if (!regular && delayMs === undefined) {
      this.#states.set(row, 'waiting');
      this.#birds.wait(row, beganMs);
      if (isHinted) this.#birds.hint(row, beganMs);
      return;
    }
    const ownMs = delayMs === undefined ? beganMs + regular!.intervalMs : nowMs + delayMs;
    const hintedMs = isHinted ? beganMs + this.#minIntervalMs : ownMs;
    this.#setTimed(row, ownMs === Number.POSITIVE_INFINITY ? ownMs : Math.min(ownMs, hintedMs));
  }

  /** An entry is expected in the stream. It is polled earlier, but not before the minimum interval is over. */
  hint(name: string, nowMs: number): void {
    const row = this.#rowOf.get(name);
    if (row === undefined || this.#states.get(row) === 'fresh') return;
    if (this.#states.get(row) === 'taken') {
      this.#hinted.add(row);
      return;
    }
    if (this.#states.get(row) === 'waiting') {
      this.#birds.hint(row, this.#lastMs.get(row));
      return;
    }
    const hintedMs = Math.max(nowMs, this.#lastMs.get(row) + this.#minIntervalMs);
    // Infinity means that the stream is not polled again, for example if each stream is read only once.
    if (this.#readyMs.get(row) <= hintedMs || this.#readyMs.get(row) === Number.POSITIVE_INFINITY) return;
    this.#setTimed(row, hintedMs);
  }

  /**
   * The streams that are not read often enough; undefined if there are none. Visits every stream, so it is to be
   * called only every 30 s or so.
   */
  lag(nowMs: number): Lag | undefined {
    let oldest: Row | undefined;
    let streams = 0;
    for (const row of this.#rowOf.values()) {
      if (nowMs - this.#readMs.get(row) <= this.#lagFromMs(this.#regulars.of(row))) continue;
      streams += 1;
      if (oldest === undefined || this.#readMs.get(row) < this.#readMs.get(oldest)) oldest = row;
    }
    if (oldest === undefined) return undefined;
    const oldestMs = nowMs - this.#readMs.get(oldest);
    return { name: this.#names[oldest]!, oldestMs, isBehind: this.#behind.has(oldest), streams };
  }

  /**
   * Passes the age of every stream to `seen`, except streams that may lag. The same object is passed each time: new
   * objects for tens of thousands of streams, every few seconds, would take megabytes.
   */
  eachAge(nowMs: number, seen: (age: StreamAge) => void): void {
    const age = { name: '', ageMs: 0, isUnread: false, isUntried: false, isLate: false };
    for (const row of this.#rowOf.values()) {
      const lagFromMs = this.#lagFromMs(this.#regulars.of(row));
      if (lagFromMs === Number.POSITIVE_INFINITY) continue;
      age.name = this.#names[row]!;
      age.ageMs = nowMs - this.#readMs.get(row);
      age.isUntried = this.#states.get(row) === 'fresh';
      age.isUnread = this.#unread.has(row);
      age.isLate = age.ageMs > lagFromMs;
      seen(age);
    }
  }

  /** Whether the rate allows every stream a poll each `intervalMs`. */
  isAimKept(): boolean {
    return this.#birds.isAimKept();
  }

  /** The requests per second that would keep `maxIntervalMs`. */
  neededPerSecond(): number {
    return (this.#birds.roundCost() * 1000) / this.#maxIntervalMs + this.#regulars.perSecond();
  }

  /**
   * Chooses the stream whose turn it is, by the order above, and the account to charge. There is none if no stream is
   * held back.
   */
  #choose(nowMs: number, except: string | undefined): Turn | undefined {
    const regular = this.#regulars.due(nowMs, (_, { account }) => account.debt === 0);
    if (regular !== undefined) return { row: regular, payer: this.#regulars.of(regular)!.account };
    const pressing = this.#birds.pressing(nowMs, except);
    const isShared = pressing !== undefined || this.#birds.hasFresh(except);
    const next = this.#firstTimed(nowMs, except);
    if (next && next.atMs <= nowMs && !(isShared && this.#timedAccount.debt > 0)) {
      return { row: next.item, payer: isShared ? this.#timedAccount : undefined };
    }
    if (pressing !== undefined) return { row: pressing, payer: undefined };
    if (this.#backlogAccount.debt === 0) {
      const backlog = this.#regulars.due(nowMs, (row) => this.#behind.has(row));
      if (backlog !== undefined) return { row: backlog, payer: this.#backlogAccount };
    }
    const row = this.#birds.best(nowMs, except) ?? this.#regulars.due(nowMs, () => true);
    return row === undefined ? undefined : { row, payer: undefined };
  }

  /** The timed stream that is due first. A due stream of the feed `except` is put off a little. */
  #firstTimed(nowMs: number, except: string | undefined): QueueEntry<Row> | undefined {
    for (;;) {
      const next = this.#timed.first();
      if (!next || except === undefined || next.atMs > nowMs) return next;
      if (!this.#birds.isOf(next.item, except)) return next;
      this.#setTimed(next.item, nowMs + PUT_OFF_MS);
    }
  }

  /** The earliest instant at which another stream may be polled. */
  #nextMs(except: string | undefined): number {
    const timedMs = this.#timed.first()?.atMs ?? Number.POSITIVE_INFINITY;
    return Math.min(timedMs, this.#birds.nextMs(except), this.#regulars.nextMs());
  }

  /** Learns what a poll took and found. */
  #learn(row: Row, nowMs: number, polled: Polled): void {
    const { requests, newEntries = 0, complete = false, historyMs } = polled;
    if (requests === undefined) return;
    const before = this.#values.cost(row);
    const beganMs = this.#lastMs.get(row);
    this.#values.learn(row, { beganMs, nowMs, requests, newEntries, complete, historyMs });
    if (!this.#regulars.of(row)) this.#birds.costChanged(row, this.#values.cost(row) - before);
  }

  /** The age of the last complete poll from which on a stream lags. */
  #lagFromMs(regular: Regular | undefined): number {
    if (!regular) return LAG_FROM * this.#maxIntervalMs;
    if (regular.mayLag) return Number.POSITIVE_INFINITY;
    return REGULAR_LAG_FROM * Math.max(this.#maxIntervalMs, regular.intervalMs);
  }

  /** Sets the time of the stream's next poll. */
  #setTimed(row: Row, dueMs: number): void {
    this.#states.set(row, 'timed');
    this.#readyMs.set(row, dueMs);
    if (!this.#regulars.of(row) && dueMs < Number.POSITIVE_INFINITY) this.#timed.add(row, dueMs);
  }
}
