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
 * λ is the expected rate of the stream's entries, each counted by what it may raise (`poll-value.ts`). So the log of a Bird whose trigger works is hardly read more often than it must. A fresh stream of an unknown rate counts as more
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
import { type Account, fairLimits, PollValues, Shares } from './poll-value.ts';

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

type Row = number;

/** The streams of all Birds in one feed. Each feed has its own limit on how long its streams may wait. */
interface Feed {
  readonly name: string;
  streams: number;
  /** The requests that one poll of each stream takes. */
  roundCost: number;
  /** What the present look at all streams finds; undefined if it leaves out the feed. */
  look: FeedLook | undefined;
}

interface Regular {
  readonly intervalMs: number;
  /** It has no entries of its own, so none can be late. */
  readonly mayLag: boolean;
  readonly account: Account;
}

/** The stream whose turn it is. */
interface Turn {
  readonly row: Row;
  /** The account that its requests are charged to; undefined for none. */
  readonly payer: Account | undefined;
}

/** What a look at all streams of Birds has found. */
interface Look {
  /** The timed stream that is due first. */
  timed: Row | undefined;
  /** The stream that must be polled now so that others of its feed can keep their limit. */
  pressing: Row | undefined;
  /** The stream with the largest expected delay per request, among those that have waited long enough. */
  best: Row | undefined;
  hasFresh: boolean;
  /** When another stream may be polled. */
  nextMs: number;
}

/** What such a look has found of one feed. */
interface FeedLook {
  readonly streams: number;
  /** The longest wait that is allowed for its streams. */
  readonly limitMs: number;
  /** From which wait on a poll is late. If all streams are polled in turn, hardly any is. */
  readonly lateMs: number;
  readonly freshWorth: number;
  oldest: Row | undefined;
  oldestMs: number;
  /** How many streams have waited for each part of the limit. */
  readonly waited: Int32Array;
}

type State = 'fresh' | 'waiting' | 'timed' | 'taken' | 'gone';

/** The share of timed streams while other streams must be polled to keep their limit. */
const TIMED_SHARE = 1 / 4;

/** The share of regular streams that are behind, in addition to their own shares. */
const BACKLOG_SHARE = 1 / 4;

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

/** The parts of a limit by which waiting streams are counted. */
const PARTS = 64;

/**
 * How many times the wait beyond `lateMs` counts. It keeps the p99 of all entries near that of streams polled in
 * turn; a little above it if most streams have next to no entries.
 */
const LATE_COUNTS = 10;

/** Streams whose worth differs by less than this factor are alike. */
const ALIKE = Math.log(1.21);

/** How long a timed stream is put off if its feed may not be polled now. */
const PUT_OFF_MS = 1_000;

/** A stream lags from this multiple of the limit on, since turns are uneven. */
const LAG_FROM = 1.1;

/** The same for a regular stream, since one reading of a large inventory takes a while. */
const REGULAR_LAG_FROM = 2;

export class Schedule {
  readonly #options: ScheduleOptions;
  readonly #aimMs: number;
  readonly #columns: Columns = createColumns();
  readonly #rowOf = new Map<string, Row>();
  readonly #names: string[] = [];
  readonly #states: Column<State> = this.#columns.addChoice<State>('fresh');
  /** When the last poll began. Before the first poll of a Bird's stream: since when its entries are news. */
  readonly #lastMs: Column<number> = this.#columns.add(Number.NEGATIVE_INFINITY);
  /** When the last complete poll began; before the first, when the stream was added. */
  readonly #readMs: Column<number> = this.#columns.add(0);
  /** When a timed or regular stream is due. */
  readonly #readyMs: Column<number> = this.#columns.add(Number.NEGATIVE_INFINITY);
  /** λ/(2·cost) of a waiting stream; 0 for a fresh one whose rate is unknown. */
  readonly #worth: Column<number> = this.#columns.addRough(0);
  readonly #isHinted: Column<boolean> = this.#columns.addChoice(false);
  /** Undefined for regular streams. */
  readonly #feedOf: Column<Feed | undefined> = this.#columns.addChoice<Feed | undefined>(undefined);
  readonly #feeds = new Map<string, Feed>();
  readonly #regulars = new Map<Row, Regular>();
  readonly #values = new PollValues(this.#columns);
  /** Streams that no poll has read completely. */
  readonly #unread = new Set<Row>();
  /** Streams whose last successful poll left something to read. */
  readonly #behind = new Set<Row>();
  /** The account that the poll of a taken stream is charged to. */
  readonly #payers = new Map<Row, Account>();
  readonly #shares = new Shares();
  readonly #timedAccount: Account = this.#shares.open(TIMED_SHARE);
  readonly #backlogAccount: Account = this.#shares.open(BACKLOG_SHARE);

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#aimMs = Math.min(options.intervalMs, LONGEST_WAIT * options.maxIntervalMs);
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
      const regular = this.#regulars.get(known);
      if (regular && 'share' in stream)
        this.#regulars.set(known, { ...regular, intervalMs: stream.intervalMs });
      return;
    }
    const row = this.#columns.addRow();
    this.#rowOf.set(stream.name, row);
    this.#names[row] = stream.name;
    this.#readMs.set(row, nowMs);
    this.#unread.add(row);
    if ('share' in stream) {
      const { intervalMs, share, mayLag = false } = stream;
      this.#values.add(row, stream.name);
      this.#regulars.set(row, { intervalMs, mayLag, account: this.#shares.open(share) });
      return;
    }
    const { feed: feedName, seen, newsMs = 0 } = stream;
    const feed = this.#feeds.get(feedName) ?? { name: feedName, streams: 0, roundCost: 0, look: undefined };
    this.#feeds.set(feedName, feed);
    this.#feedOf.set(row, feed);
    this.#values.add(row, feedName);
    this.#lastMs.set(row, nowMs - newsMs);
    if (seen) {
      this.#values.recall(row, seen.entries, seen.coveredMs, nowMs);
      this.#worth.set(row, rounded(this.#values.worth(row)));
    }
    feed.streams += 1;
    feed.roundCost += this.#values.cost(row);
  }

  /** Does nothing if there is no such stream. */
  remove(name: string): void {
    const row = this.#rowOf.get(name);
    if (row === undefined) return;
    this.#rowOf.delete(name);
    this.#names[row] = '';
    this.#unread.delete(row);
    this.#behind.delete(row);
    this.#payers.delete(row);
    const feed = this.#feedOf.get(row);
    if (feed) {
      feed.streams -= 1;
      // Set to zero, so that rounding errors do not accumulate.
      feed.roundCost = feed.streams === 0 ? 0 : feed.roundCost - this.#values.cost(row);
    } else {
      this.#shares.close(this.#regulars.get(row)!.account);
      this.#regulars.delete(row);
    }
    this.#states.set(row, 'gone');
    this.#columns.removeRow(row);
  }

  /**
   * Takes the stream to poll now, or returns how long nothing is to be polled (Infinity: until something is added).
   * Bird streams of the feed `except` get no turn.
   */
  take(nowMs: number, except?: string): { readonly name: string } | { readonly waitMs: number } {
    const turn = this.#choose(nowMs, except);
    if ('nextMs' in turn) return { waitMs: turn.nextMs - nowMs };
    const { row, payer } = turn;
    if (payer) this.#payers.set(row, payer);
    this.#isHinted.set(row, false);
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
    const isHinted = this.#isHinted.get(row);
    const regular = this.#regulars.get(row);
    const { delayMs } = polled;
    const beganMs = this.#lastMs.get(row);
    if (!regular && delayMs === undefined) {
      this.#states.set(row, 'waiting');
      this.#worth.set(row, rounded(isHinted ? this.#values.hintedWorth(row) : this.#values.worth(row)));
      return;
    }
    const ownMs = delayMs === undefined ? beganMs + regular!.intervalMs : nowMs + delayMs;
    const hintedMs = isHinted ? beganMs + this.#options.minIntervalMs : ownMs;
    this.#setTimed(row, ownMs === Number.POSITIVE_INFINITY ? ownMs : Math.min(ownMs, hintedMs));
  }

  /** An entry is expected in the stream. It is polled earlier, but not before the minimum interval is over. */
  hint(name: string, nowMs: number): void {
    const row = this.#rowOf.get(name);
    if (row === undefined) return;
    const state = this.#states.get(row);
    if (state === 'waiting' || state === 'fresh')
      this.#worth.set(row, rounded(this.#values.hintedWorth(row)));
    if (state !== 'timed') {
      this.#isHinted.set(row, true);
      return;
    }
    const hintedMs = Math.max(nowMs, this.#lastMs.get(row) + this.#options.minIntervalMs);
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
      if (nowMs - this.#readMs.get(row) <= this.#lagFromMs(this.#regulars.get(row))) continue;
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
      const lagFromMs = this.#lagFromMs(this.#regulars.get(row));
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
    const needed = (this.#roundCost() * 1000) / this.#aimMs + this.#regularPerSecond();
    return needed <= this.#options.allowedPerSecond();
  }

  /** The requests per second that would keep `maxIntervalMs`. */
  neededPerSecond(): number {
    return (this.#roundCost() * 1000) / this.#options.maxIntervalMs + this.#regularPerSecond();
  }

  /**
   * Chooses the stream whose turn it is, by the order above, and the account to charge. If no stream is to be polled,
   * returns when another one may be.
   */
  #choose(nowMs: number, except: string | undefined): Turn | { readonly nextMs: number } {
    const regular = this.#dueRegular(nowMs, (_, { account }) => account.debt === 0);
    if (regular !== undefined) return { row: regular, payer: this.#regulars.get(regular)!.account };
    const { timed, pressing, best, hasFresh, nextMs } = this.#look(nowMs, except);
    const isShared = pressing !== undefined || hasFresh;
    if (timed !== undefined && !(isShared && this.#timedAccount.debt > 0)) {
      return { row: timed, payer: isShared ? this.#timedAccount : undefined };
    }
    if (pressing !== undefined) return { row: pressing, payer: undefined };
    if (this.#backlogAccount.debt === 0) {
      const backlog = this.#dueRegular(nowMs, (row) => this.#behind.has(row));
      if (backlog !== undefined) return { row: backlog, payer: this.#backlogAccount };
    }
    const row = best ?? this.#dueRegular(nowMs, () => true);
    if (row !== undefined) return { row, payer: undefined };
    const regularsMs = [...this.#regulars.keys()].map((one) =>
      this.#states.get(one) === 'taken' ? Number.POSITIVE_INFINITY : this.#readyMs.get(one),
    );
    return { nextMs: Math.min(nextMs, ...regularsMs) };
  }

  /** Among the due regular streams that fit, the one that has been due longest. */
  #dueRegular(nowMs: number, fits: (row: Row, regular: Regular) => boolean): Row | undefined {
    let first: Row | undefined;
    for (const [row, regular] of this.#regulars) {
      if (this.#states.get(row) === 'taken' || this.#readyMs.get(row) > nowMs || !fits(row, regular))
        continue;
      if (first === undefined || this.#readyMs.get(row) < this.#readyMs.get(first)) first = row;
    }
    return first;
  }

  /**
   * Looks at the streams of all Birds, except those of the feed `except`. This takes about 20 ns a stream: less than a
   * hundredth of a request's time even for ten thousand Birds.
   */
  #look(nowMs: number, except: string | undefined): Look {
    const { minIntervalMs } = this.#options;
    const leastWaitMs = this.#leastWaitMs();
    this.#beginLook(except);
    const found: Look = {
      ...{ timed: undefined, pressing: undefined, best: undefined },
      ...{ hasFresh: false, nextMs: Number.POSITIVE_INFINITY },
    };
    let timedMs = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    for (let row = 0; row < this.#names.length; row += 1) {
      const state = this.#states.get(row);
      const feed = this.#feedOf.get(row);
      if (!feed || state === 'taken' || state === 'gone') continue;
      const { look } = feed;
      if (state === 'timed') {
        const readyMs = this.#readyMs.get(row);
        const isDue = look !== undefined && readyMs <= nowMs && readyMs < timedMs;
        if (isDue) [found.timed, timedMs] = [row, readyMs];
        const mayMs = look ? readyMs : Math.max(readyMs, nowMs + PUT_OFF_MS);
        found.nextMs = Math.min(found.nextMs, mayMs);
        continue;
      }
      if (!look) continue;
      const lastMs = this.#lastMs.get(row);
      const waitMs = nowMs - lastMs;
      if (lastMs < look.oldestMs) [look.oldest, look.oldestMs] = [row, lastMs];
      look.waited[Math.min(PARTS - 1, Math.floor((waitMs / look.limitMs) * PARTS))]! += 1;
      const isFresh = state === 'fresh';
      found.hasFresh ||= isFresh;
      const hintedMs = this.#isHinted.get(row) ? minIntervalMs : leastWaitMs;
      const leastMs = isFresh ? 0 : Math.min(hintedMs, leastWaitMs);
      if (nowMs < lastMs + leastMs) {
        found.nextMs = Math.min(found.nextMs, lastMs + leastMs);
        continue;
      }
      const value = (this.#worth.get(row) || look.freshWorth) * countedSquare(waitMs, look.lateMs);
      if (value > most) [found.best, most] = [row, value];
    }
    const looks = [...this.#feeds.values()].flatMap(({ look }) => look ?? []);
    found.pressing = pressingOf(looks, nowMs, leastWaitMs);
    return found;
  }

  /** The least time between two polls of a stream: the intended interval if the rate allows it for all. */
  #leastWaitMs(): number {
    const { minIntervalMs, maxIntervalMs } = this.#options;
    return this.isAimKept() ? this.#aimMs : Math.min(minIntervalMs, LONGEST_WAIT * maxIntervalMs);
  }

  /** Begins a look at all feeds but `except`: works out the longest wait allowed for the streams of each. */
  #beginLook(except: string | undefined): void {
    const { maxIntervalMs, allowedPerSecond } = this.#options;
    const feeds = [...this.#feeds.values()].filter(({ streams }) => streams > 0);
    const requestsPerMs = (allowedPerSecond() - this.#regularPerSecond(allowedPerSecond())) / 1000;
    const load = this.#roundCost() / maxIntervalMs / requestsPerMs;
    const loads = feeds.map(({ name, streams, roundCost }) => ({
      ...{ streams, cost: roundCost / streams },
      ratePerMs: this.#values.averageRate(name),
    }));
    const roundMs = (this.#roundCost() * 1000) / allowedPerSecond();
    const limits =
      load > 1
        ? feeds.map(() => ({ isQuiet: false, limitMs: (maxIntervalMs * load) / STRETCHED_USE }))
        : fairLimits(loads, requestsPerMs, maxIntervalMs * LIMIT_MARGIN);
    for (const feed of this.#feeds.values()) {
      const { name, streams } = feed;
      const limit = limits[feeds.indexOf(feed)];
      feed.look =
        limit === undefined || name === except
          ? undefined
          : {
              ...{ streams, freshWorth: this.#values.freshWorth(name) },
              limitMs: Math.max(this.#aimMs, limit.limitMs),
              // A quiet feed is polled as rarely as it may, so its streams are not late before.
              lateMs: Math.max(this.#aimMs, limit.isQuiet ? limit.limitMs : LATE_FROM * roundMs),
              ...{ oldest: undefined, oldestMs: Number.POSITIVE_INFINITY, waited: new Int32Array(PARTS) },
            };
    }
  }

  /** The requests that one poll of each Bird's stream takes. */
  #roundCost(): number {
    return this.#feeds.values().reduce((sum, { roundCost }) => sum + roundCost, 0);
  }

  /**
   * The requests per second that regular streams need to keep their intervals; with `allowedPerSecond`, none counts for
   * more than its share of it.
   */
  #regularPerSecond(allowedPerSecond: number = Number.POSITIVE_INFINITY): number {
    let perSecond = 0;
    for (const [row, { intervalMs, account }] of this.#regulars) {
      const needed = (this.#values.cost(row) * 1000) / intervalMs;
      perSecond += Math.min(needed, account.share * allowedPerSecond);
    }
    return perSecond;
  }

  /** Learns what a poll took and found. */
  #learn(row: Row, nowMs: number, polled: Polled): void {
    const { requests, newEntries = 0, complete = false, historyMs } = polled;
    if (requests === undefined) return;
    const before = this.#values.cost(row);
    const beganMs = this.#lastMs.get(row);
    this.#values.learn(row, { beganMs, nowMs, requests, newEntries, complete, historyMs });
    const feed = this.#feedOf.get(row);
    if (feed) feed.roundCost += this.#values.cost(row) - before;
  }

  /** The age of the last complete poll from which on a stream lags. */
  #lagFromMs(regular: Regular | undefined): number {
    if (!regular) return LAG_FROM * this.#options.maxIntervalMs;
    if (regular.mayLag) return Number.POSITIVE_INFINITY;
    return REGULAR_LAG_FROM * Math.max(this.#options.maxIntervalMs, regular.intervalMs);
  }

  /** Sets the time of the stream's next poll. */
  #setTimed(row: Row, dueMs: number): void {
    this.#states.set(row, 'timed');
    this.#readyMs.set(row, dueMs);
  }
}

/**
 * The square of how long a stream has waited or, once its poll is late, of how long it would have to wait to have the
 * same value without lateness. With L for `lateMs` and P for `LATE_COUNTS`, the entries of a stream that is polled each
 * T cost λ·(T²/2 + P·L·(T − L)) per poll. Together with the cost of the requests, that is least per unit of time if the
 * value of a request is λ·(T²/2 + P·L²).
 */
function countedSquare(waitMs: number, lateMs: number): number {
  return waitMs ** 2 + (waitMs < lateMs ? 0 : 2 * LATE_COUNTS * lateMs ** 2);
}

/**
 * The stream that has waited longest in a feed, if otherwise some stream of the feed would miss its limit. Among
 * several feeds, the stream that has used up the largest part of its limit.
 */
function pressingOf(looks: readonly FeedLook[], nowMs: number, leastMs: number): Row | undefined {
  const partOf = ({ oldestMs, limitMs }: FeedLook) => (nowMs - oldestMs) / limitMs;
  return looks
    .filter((one) => nowMs >= one.oldestMs + leastMs && isPressing(one, partOf(one)))
    .toSorted((a, b) => partOf(b) - partOf(a))[0]?.oldest;
}

/**
 * Whether the oldest stream has to be polled now so that each can be polled once within the limit. If all are polled
 * one by one over the limit, the k-th oldest has its turn after (k − 1)/streams of it. So streams that were polled close
 * together are spread out in good time, instead of all being late together.
 */
function isPressing({ streams, waited }: FeedLook, oldestPart: number): boolean {
  if (oldestPart >= 1) return true;
  let older = 0;
  for (let part = PARTS - 1; part > 0; part -= 1) {
    older += waited[part]!;
    if ((older - 1) / streams > 1 - part / PARTS) return true;
  }
  return false;
}

/** So that streams of about the same worth are polled in turn: the estimates are no more precise. */
function rounded(worth: number): number {
  return Math.exp(Math.round(Math.log(worth) / ALIKE) * ALIKE);
}
