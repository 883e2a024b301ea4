/**
 * Which stream to poll next, such that new entries are found as early as the allowed rate permits. Pure: it knows no
 * clock and no service, and is given every instant.
 *
 * There are two sorts of streams. *Regular* ones (inventory, notifications, audits) are due an interval after their
 * last poll began, and each has a share of the requests. The others, two for each Bird, are in one of these states:
 *
 *   fresh (never polled in this life) → taken → waiting → taken → …
 *   taken or waiting → timed, its next poll has an instant of its own: more pages, a retry → taken
 *
 * A turn goes to the first of these that there is:
 * 1. a regular stream that is due, as long as it stays within its share of the requests;
 * 2. a timed stream whose instant has come; while 3 presses or any is fresh, within a share as well;
 * 3. the stream, fresh or waiting, that has waited longest, if else not every stream could be polled each
 *    `maxIntervalMs`: so of all that is promised this comes first;
 * 4. a regular stream whose last poll left something to read, within a further share: what is known to wait there is more
 *    than what may have come elsewhere, but none of the others is to starve for it;
 * 5. of the fresh ones and those that waited long enough, the one with the largest expected delay for its cost,
 *    λ·(now − last)²/(2·cost), which is what makes the mean delay of all entries least; once it waits longer than if
 *    all were polled in turn it counts as several times more, so that quiet streams do not pay for the busy ones;
 * 6. a regular stream that is beyond its shares: no other stream wants the turn, so it costs it nothing.
 *
 * λ is what is expected of the stream (`arrival-rate.ts`). A fresh one counts as one of its feed's average and more,
 * for what its first poll teaches, and waits since its entries are news; one that was hinted at counts as if an entry came
 * within a minute. Both compete with the others, so neither many new Birds nor many hints can starve anybody.
 *
 * Long enough is `intervalMs` where the rate allows that for all: then each is polled so often, and no request is
 * spent on more, but for hints. Where it does not, and for hints always, it is `minIntervalMs`: streams in which much
 * happens are polled more often than the aim and quiet ones less, down to each `maxIntervalMs`. Where the rate is too
 * low even for that, the limit is stretched as far as is needed, and `lag` says so.
 */
import { BirdTurns, type Row } from './bird-turns.ts';
import { type Column, type Columns, createColumns } from './columns.ts';
import { createInstantQueue, type InstantQueue, type QueueEntry } from './instant-queue.ts';
import { createPollValues, type PollValues } from './poll-value.ts';
import { type Account, createShares, type Shares } from './shares.ts';

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

type Stream =
  | {
      readonly name: string;
      readonly feed: string;
      /** What an earlier life has seen of it. */
      readonly seen?: Seen | undefined;
      /** How long before it was added its entries are news already. */
      readonly newsMs?: number;
    }
  | {
      readonly name: string;
      readonly intervalMs: number;
      /** The part of all requests that it may use while others wait, between 0 and 1. */
      readonly share: number;
      /** It brings no entries of its own: `lag` leaves it out. */
      readonly mayLag?: boolean;
    };

/** Entries that came in a time. */
export interface Seen {
  readonly entries: number;
  readonly coveredMs: number;
}

/** What a poll was like. */
export interface Polled {
  /** Replaces the interval; Infinity: not again. */
  readonly delayMs?: number | undefined;
  /** How many requests it took; undefined when it failed, unless it is partial. */
  readonly requests?: number | undefined;
  /** It failed though it read a part: what it took is known, and it is as late as before. */
  readonly isPartial?: boolean;
  readonly newEntries?: number;
  /**
   * It read all that there was, so its new entries show how often some come; false where something is left, which is as
   * late as before.
   */
  readonly complete?: boolean;
  /** How long a time it covered, if it was the first that anybody made of the stream. */
  readonly historyMs?: number | undefined;
  /** It failed because what it reads no longer exists, so that no entry of it can be late. */
  readonly isGone?: boolean;
}

export interface Lag {
  /** The stream that was read to its end longest ago. */
  readonly name: string;
  /** How long ago that poll began, or the stream was added. */
  readonly oldestMs: number;
  /** Its polls succeed, and leave something to read. */
  readonly isBehind: boolean;
  /** How many streams lag, this one among them. */
  readonly streams: number;
}

/** How long a stream waits for being read. */
export interface StreamAge {
  readonly name: string;
  /** How long ago its last poll began that read it to its end; before the first, since it was added. */
  readonly ageMs: number;
  /** No poll of it has read it to its end in this life. */
  readonly isUnread: boolean;
  /** No poll of it was begun in this life. */
  readonly isUntried: boolean;
  /** It is not read often enough. */
  readonly isLate: boolean;
}

interface Regular {
  intervalMs: number;
  readonly mayLag: boolean;
  readonly account: Account;
}

/** Whose turn it is. */
interface Turn {
  readonly row: Row;
  /** Whose share its requests are taken from; undefined for nobody's. */
  readonly payer: Account | undefined;
}

type State = 'fresh' | 'waiting' | 'timed' | 'taken' | 'gone';
const WAITING: ReadonlySet<State> = new Set(['fresh', 'waiting']);

/** The part of the requests that timed streams get while other streams must be polled to keep their limit. */
const TIMED_SHARE = 1 / 4;

/** What regular streams that are behind get in addition to their own shares. */
const BACKLOG_SHARE = 1 / 4;

/** How long a timed stream is put off whose feed may not be polled now. */
const PUT_OFF_MS = 1_000;

/** A stream lags from that multiple of the limit on: turns come unevenly. */
const LAG_FROM = 1.1;

/** The same for a regular stream: one reading of a large inventory takes a while. */
const REGULAR_LAG_FROM = 2;

export class Schedule {
  readonly #minIntervalMs: number;
  readonly #maxIntervalMs: number;
  readonly #columns: Columns = createColumns();
  readonly #rowOf = new Map<string, Row>();
  readonly #names: string[] = [];
  readonly #states: State[] = [];
  /** When the last poll began; before the first, since when entries of a Bird's stream are news. */
  readonly #lastMs: Column;
  /** When the last poll began that read all there was; before the first, when the stream was added. */
  readonly #readMs: Column;
  /** When a timed or regular stream is due. */
  readonly #readyMs: Column;
  readonly #values: PollValues;
  readonly #regulars = new Map<Row, Regular>();
  /** Streams that no poll has read to their end. */
  readonly #unread = new Set<Row>();
  /** Streams whose last successful poll left something to read. */
  readonly #behind = new Set<Row>();
  /** Taken streams that were hinted at meanwhile. */
  readonly #hinted = new Set<Row>();
  /** The account that pays for the poll of a taken stream. */
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
      (row, atMs) => this.#states[row] === 'timed' && this.#readyMs.get(row) === atMs,
    );
    this.#timedAccount = this.#shares.open(TIMED_SHARE);
    this.#backlogAccount = this.#shares.open(BACKLOG_SHARE);
    this.#birds = new BirdTurns({
      ...options,
      values: this.#values,
      lastMsOf: (row) => (WAITING.has(this.#states[row]!) ? this.#lastMs.get(row) : undefined),
      isFresh: (row) => this.#states[row] === 'fresh',
      regularPerSecond: () => this.#regularPerSecond(),
      regularTakesPerSecond: () => this.#regularPerSecond(options.allowedPerSecond()),
    });
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
    const { feed, seen, newsMs = 0 } = stream;
    this.#lastMs.set(row, nowMs - newsMs);
    if (seen) this.#values.recall(row, seen.entries, seen.coveredMs, nowMs);
    this.#birds.add(row, feed, nowMs - newsMs, seen !== undefined);
  }

  /** Does nothing for a stream that it has not. */
  remove(name: string): void {
    const row = this.#rowOf.get(name);
    if (row === undefined) return;
    this.#rowOf.delete(name);
    this.#names[row] = '';
    this.#unread.delete(row);
    this.#behind.delete(row);
    this.#hinted.delete(row);
    this.#payers.delete(row);
    const regular = this.#regulars.get(row);
    if (regular) {
      this.#regulars.delete(row);
      this.#shares.close(regular.account);
    } else {
      this.#birds.remove(row);
    }
    this.#states[row] = 'gone';
    this.#columns.removeRow(row);
  }

  /**
   * Takes the stream to poll now, or returns how long nothing is to be polled (Infinity: until something is added). No
   * Bird's stream of the feed `except` has the turn.
   */
  take(nowMs: number, except?: string): { readonly name: string } | { readonly waitMs: number } {
    const turn = this.#choose(nowMs, except);
    if (turn === undefined) return { waitMs: this.#nextMs(except) - nowMs };
    const { row, payer } = turn;
    if (payer) this.#payers.set(row, payer);
    if (!this.#regulars.has(row)) this.#birds.take(row);
    this.#states[row] = 'taken';
    this.#lastMs.set(row, nowMs);
    this.#shares.begin(payer, this.#values.cost(row));
    return { name: this.#names[row]! };
  }

  /** Gives a taken stream back after its poll. */
  done(name: string, nowMs: number, polled: Polled = {}): void {
    const row = this.#rowOf.get(name);
    if (row === undefined || this.#states[row] !== 'taken') return;
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
    const regular = this.#regulars.get(row);
    const { delayMs } = polled;
    const beganMs = this.#lastMs.get(row);
    if (!regular && delayMs === undefined) {
      this.#states[row] = 'waiting';
      this.#birds.wait(row, beganMs);
      if (isHinted) this.#birds.hint(row, beganMs);
      return;
    }
    const ownMs = delayMs === undefined ? beganMs + regular!.intervalMs : nowMs + delayMs;
    const hintedMs = isHinted ? beganMs + this.#minIntervalMs : ownMs;
    this.#setTimed(row, ownMs === Number.POSITIVE_INFINITY ? ownMs : Math.min(ownMs, hintedMs));
  }

  /** Something is expected there: poll it earlier, but not before the minimum interval is over. */
  hint(name: string, nowMs: number): void {
    const row = this.#rowOf.get(name);
    if (row === undefined || this.#states[row] === 'fresh') return;
    if (this.#states[row] === 'taken') {
      this.#hinted.add(row);
      return;
    }
    if (this.#states[row] === 'waiting') {
      this.#birds.hint(row, this.#lastMs.get(row));
      return;
    }
    const hintedMs = Math.max(nowMs, this.#lastMs.get(row) + this.#minIntervalMs);
    // Infinity: it is not polled again, as where each stream is read only once.
    if (this.#readyMs.get(row) <= hintedMs || this.#readyMs.get(row) === Number.POSITIVE_INFINITY) return;
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
    const oldestMs = nowMs - this.#readMs.get(oldest);
    return { name: this.#names[oldest]!, oldestMs, isBehind: this.#behind.has(oldest), streams };
  }

  /**
   * Tells of each stream how long it waits, but of those that may lag. It takes time for each, as `lag` does, and `seen`
   * gets the same object again and again: of tens of thousands, every few seconds, objects of their own are megabytes.
   */
  eachAge(nowMs: number, seen: (age: StreamAge) => void): void {
    const age = { name: '', ageMs: 0, isUnread: false, isUntried: false, isLate: false };
    for (const row of this.#rowOf.values()) {
      const lagFromMs = this.#lagFromMs(this.#regulars.get(row));
      if (lagFromMs === Number.POSITIVE_INFINITY) continue;
      age.name = this.#names[row]!;
      age.ageMs = nowMs - this.#readMs.get(row);
      age.isUntried = this.#states[row] === 'fresh';
      age.isUnread = this.#unread.has(row);
      age.isLate = age.ageMs > lagFromMs;
      seen(age);
    }
  }

  /** Whether the rate allows to poll every stream each `intervalMs`. */
  isAimKept(): boolean {
    return this.#birds.isAimKept();
  }

  /** How long one poll of every stream of a Bird takes at the rate that is allowed now. */
  roundMs(): number {
    return this.#birds.roundMs();
  }

  /** Requests a second that would keep `maxIntervalMs`. */
  neededPerSecond(): number {
    return (this.#birds.roundCost() * 1000) / this.#maxIntervalMs + this.#regularPerSecond();
  }

  /** Requests a second that regular streams need to keep their intervals; of so many none takes more than its share. */
  #regularPerSecond(allowedPerSecond: number = Number.POSITIVE_INFINITY): number {
    let perSecond = 0;
    for (const [row, { intervalMs, account }] of this.#regulars) {
      const needed = (this.#values.cost(row) * 1000) / intervalMs;
      perSecond += Math.min(needed, account.share * allowedPerSecond);
    }
    return perSecond;
  }

  /** Of the regular streams that are due and fit, the one that has been due for the longest time. */
  #dueRegular(nowMs: number, fits: (row: Row, regular: Regular) => boolean): Row | undefined {
    let first: Row | undefined;
    for (const [row, regular] of this.#regulars) {
      if (this.#states[row] === 'taken' || this.#readyMs.get(row) > nowMs || !fits(row, regular)) continue;
      if (first === undefined || this.#readyMs.get(row) < this.#readyMs.get(first)) first = row;
    }
    return first;
  }

  /** Chooses the stream whose turn it is, by the order above, and who pays for its poll: nobody where none is held back. */
  #choose(nowMs: number, except: string | undefined): Turn | undefined {
    const regular = this.#dueRegular(nowMs, (_, { account }) => account.debt === 0);
    if (regular !== undefined) return { row: regular, payer: this.#regulars.get(regular)!.account };
    const pressing = this.#birds.pressing(nowMs, except);
    const isShared = pressing !== undefined || this.#birds.hasFresh(except);
    const next = this.#firstTimed(nowMs, except);
    if (next && next.atMs <= nowMs && !(isShared && this.#timedAccount.debt > 0)) {
      return { row: next.item, payer: isShared ? this.#timedAccount : undefined };
    }
    if (pressing !== undefined) return { row: pressing, payer: undefined };
    if (this.#backlogAccount.debt === 0) {
      const backlog = this.#dueRegular(nowMs, (row) => this.#behind.has(row));
      if (backlog !== undefined) return { row: backlog, payer: this.#backlogAccount };
    }
    const row = this.#birds.best(nowMs, except) ?? this.#dueRegular(nowMs, () => true);
    return row === undefined ? undefined : { row, payer: undefined };
  }

  /** The timed stream that is due first. One of the feed `except` that is due waits a little longer. */
  #firstTimed(nowMs: number, except: string | undefined): QueueEntry<Row> | undefined {
    for (;;) {
      const next = this.#timed.first();
      if (!next || except === undefined || next.atMs > nowMs) return next;
      if (!this.#birds.isOf(next.item, except)) return next;
      this.#setTimed(next.item, nowMs + PUT_OFF_MS);
    }
  }

  /** The first instant at which one of the streams may be polled that may not be polled now. */
  #nextMs(except: string | undefined): number {
    const timedMs = this.#timed.first()?.atMs ?? Number.POSITIVE_INFINITY;
    let earliestMs = Math.min(timedMs, this.#birds.nextMs(except));
    for (const row of this.#regulars.keys()) {
      if (this.#states[row] !== 'taken') earliestMs = Math.min(earliestMs, this.#readyMs.get(row));
    }
    return earliestMs;
  }

  /** Takes in what a poll took and brought. */
  #learn(row: Row, nowMs: number, polled: Polled): void {
    const { requests, newEntries = 0, complete = false, historyMs } = polled;
    if (requests === undefined) return;
    const before = this.#values.cost(row);
    const beganMs = this.#lastMs.get(row);
    this.#values.learn(row, { beganMs, nowMs, requests, newEntries, complete, historyMs });
    if (!this.#regulars.has(row)) this.#birds.costChanged(row, this.#values.cost(row) - before);
  }

  /** From how long ago on a stream that was read to its end then lags. */
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
