/**
 * Which stream to poll next, such that news is found as early as the allowed rate permits. Pure: it knows no clock
 * and no service, only what it is told.
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
 * 6. a regular stream that is beyond its share: nobody else wants the turn.
 *
 * Long enough is `intervalMs` where the rate allows that for all: then each is polled so often, and no request is
 * spent on more, but for hints. Where it does not, it is `minIntervalMs`: streams in which much happens are polled
 * more often than the aim and quiet ones less, down to each `maxIntervalMs`. Where the rate is too low even for
 * that, the limit is stretched as far as is needed, and `behind` says so.
 */

import { createRows } from './columns.ts';
import { createInstantQueue } from './instant-queue.ts';
import { createProspects } from './poll-value.ts';
import { type Account, createShares } from './shares.ts';
import { createWaitlist } from './waitlist.ts';

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
      /** It brings no news: `behind` says nothing of it. */
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
  /** Entries that were new. */
  readonly news?: number;
  /** It read all that there was: with its news it tells how often some come. */
  readonly complete?: boolean;
  /** It failed because what it reads is there no more: nothing of it can be late. */
  readonly isGone?: boolean;
}

export interface Behind {
  /** The stream whose last poll that succeeded is longest ago. */
  readonly name: string;
  /** How long ago that poll began, or the stream was added. */
  readonly oldestMs: number;
  /** Streams that are behind, this one among them. */
  readonly streams: number;
}

export interface Schedule {
  /** Does nothing for a stream that it has, but for its interval. */
  add(stream: Stream, nowMs: number): void;
  remove(name: string): void;
  has(name: string): boolean;
  /** Takes the stream to poll now, or tells how long nothing is to be polled (Infinity: nothing is known). */
  take(nowMs: number): { readonly name: string } | { readonly waitMs: number };
  /** Gives a taken stream back after its poll. */
  done(name: string, nowMs: number, polled?: Polled): void;
  /** Something is expected there: poll it as soon as the minimum interval allows. */
  hint(name: string, nowMs: number): void;
  /** Undefined while every stream is read often enough. Looks at each: to be asked now and then. */
  behind(nowMs: number): Behind | undefined;
  /** Requests a second that would keep `maxIntervalMs`. */
  neededPerSecond(): number;
  readonly size: number;
}

/** A stream is the number of its row. */
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

/** The part of the rate that keeping a stretched limit may use: the rest goes to where news is expected. */
const STRETCHED_USE = 0.8;

/** Only what is late by more than that part of the limit is behind: turns come unevenly. */
const BEHIND_FROM = 1.1;

/** The same for a regular stream: one reading of a large inventory takes a while. */
const REGULAR_BEHIND_FROM = 2;

export function createSchedule(options: ScheduleOptions): Schedule {
  const { minIntervalMs, maxIntervalMs, allowedPerSecond } = options;
  const longestWaitMs = LONGEST_WAIT * maxIntervalMs;
  const aimMs = Math.min(options.intervalMs, longestWaitMs);
  const leastMs = Math.min(minIntervalMs, longestWaitMs);
  const rows = createRows();
  const rowOf = new Map<string, Row>();
  const names: string[] = [];
  const states: State[] = [];
  /** When the last poll began. */
  const lastMs = rows.column(Number.NEGATIVE_INFINITY);
  /** When the last poll began that succeeded; before the first, when the stream was added. */
  const readMs = rows.column(0);
  /** When a timed or regular stream is due; since when a fresh one waits. */
  const readyMs = rows.column(Number.NEGATIVE_INFINITY);
  const prospects = createProspects(rows);
  const regulars = new Map<Row, Regular>();
  /** Of the streams that are taken: those that were hinted at meanwhile, and who pays for the poll. */
  const hinted = new Set<Row>();
  const payers = new Map<Row, Account>();
  const isDue = (state: State) => (row: Row, atMs: number) =>
    states[row] === state && readyMs.get(row) === atMs;
  const fresh = createInstantQueue<Row>(isDue('fresh'));
  const timed = createInstantQueue<Row>(isDue('timed'));
  const waiting = createWaitlist<Row>(maxIntervalMs, (row) =>
    states[row] === 'waiting' ? lastMs.get(row) : undefined,
  );
  const shares = createShares();
  const timedAccount = shares.open(TIMED_SHARE);
  let birdStreams = 0;
  /** Requests that one poll of each Bird's stream would take. */
  let roundCost = 0;

  /** Requests a second with which every stream is polled so often. */
  function neededPerSecond(intervalMs: number): number {
    let perMs = roundCost / intervalMs;
    for (const [row, regular] of regulars) perMs += prospects.cost(row) / regular.intervalMs;
    return perMs * 1000;
  }

  /** The limit that can be kept. */
  function limitMs(): number {
    const load = neededPerSecond(maxIntervalMs) / allowedPerSecond();
    return maxIntervalMs * (load <= 1 ? LIMIT_MARGIN : load / STRETCHED_USE);
  }

  /** How long a stream waits before its poll may be worth more than another's. */
  function leastWaitMs(): number {
    return neededPerSecond(aimMs) <= allowedPerSecond() ? aimMs : leastMs;
  }

  function dueRegular(nowMs: number, withinShare: boolean): Row | undefined {
    let first: Row | undefined;
    for (const [row, { account }] of regulars) {
      if (states[row] === 'taken' || readyMs.get(row) > nowMs) continue;
      if (withinShare && account.debt > 0) continue;
      if (first === undefined || readyMs.get(row) < readyMs.get(first)) first = row;
    }
    return first;
  }

  function choose(nowMs: number): Row | undefined {
    const regular = dueRegular(nowMs, true);
    if (regular !== undefined) return regular;
    const pressing = fresh.first()?.item ?? pressingRow(nowMs);
    const next = timed.first();
    if (next && next.atMs <= nowMs && !(pressing !== undefined && timedAccount.debt > 0)) {
      payers.set(next.item, timedAccount);
      return next.item;
    }
    return pressing ?? waiting.best(nowMs, leastWaitMs()) ?? dueRegular(nowMs, false);
  }

  function pressingRow(nowMs: number): Row | undefined {
    const oldest = waiting.oldest();
    if (!oldest || nowMs < oldest.atMs + leastWaitMs()) return undefined;
    return waiting.pressing(nowMs, limitMs(), birdStreams);
  }

  /** When something may be polled that must not be polled now. */
  function nextMs(): number {
    const oldest = waiting.oldest();
    let earliestMs = Math.min(
      timed.first()?.atMs ?? Number.POSITIVE_INFINITY,
      oldest ? oldest.atMs + leastWaitMs() : Number.POSITIVE_INFINITY,
    );
    for (const row of regulars.keys()) {
      if (states[row] !== 'taken') earliestMs = Math.min(earliestMs, readyMs.get(row));
    }
    return earliestMs;
  }

  function learn(row: Row, nowMs: number, { requests, news = 0, complete = false }: Polled): void {
    if (requests === undefined) return;
    const before = prospects.cost(row);
    shares.charge(payers.get(row), requests - before);
    prospects.learn(row, { beganMs: lastMs.get(row), nowMs, requests, news, complete });
    if (!regulars.has(row)) roundCost += prospects.cost(row) - before;
  }

  /** How long a stream may be unread before that is worth a word. */
  function behindFromMs(regular: Regular | undefined): number {
    if (!regular) return BEHIND_FROM * maxIntervalMs;
    if (regular.mayLag) return Number.POSITIVE_INFINITY;
    return REGULAR_BEHIND_FROM * Math.max(maxIntervalMs, regular.intervalMs);
  }

  function setTimed(row: Row, dueMs: number): void {
    states[row] = 'timed';
    readyMs.set(row, dueMs);
    if (!regulars.has(row) && dueMs < Number.POSITIVE_INFINITY) timed.add(row, dueMs);
  }

  return {
    get size() {
      return rowOf.size;
    },
    has: (name) => rowOf.has(name),
    add(stream, nowMs) {
      const known = rowOf.get(stream.name);
      if (known !== undefined) {
        const regular = regulars.get(known);
        if (regular && 'share' in stream) regular.intervalMs = stream.intervalMs;
        return;
      }
      const row = rows.add();
      rowOf.set(stream.name, row);
      names[row] = stream.name;
      states[row] = 'fresh';
      readMs.set(row, nowMs);
      if ('share' in stream) {
        prospects.add(row, stream.name);
        const { intervalMs, share, mayLag = false } = stream;
        regulars.set(row, { intervalMs, mayLag, account: shares.open(share) });
        return;
      }
      prospects.add(row, stream.feed);
      birdStreams += 1;
      roundCost += prospects.cost(row);
      readyMs.set(row, nowMs);
      fresh.add(row, nowMs);
    },
    remove(name) {
      const row = rowOf.get(name);
      if (row === undefined) return;
      waiting.delete(row);
      rowOf.delete(name);
      names[row] = '';
      states[row] = 'gone';
      hinted.delete(row);
      payers.delete(row);
      const regular = regulars.get(row);
      if (regular) {
        regulars.delete(row);
        shares.close(regular.account);
      } else {
        birdStreams -= 1;
        // From zero on, so that what rounding left over does not add up.
        roundCost = birdStreams === 0 ? 0 : roundCost - prospects.cost(row);
      }
      rows.remove(row);
    },
    take(nowMs) {
      const row = choose(nowMs);
      if (row === undefined) return { waitMs: nextMs() - nowMs };
      waiting.delete(row);
      const regular = regulars.get(row);
      if (regular) payers.set(row, regular.account);
      states[row] = 'taken';
      lastMs.set(row, nowMs);
      shares.charge(payers.get(row), prospects.cost(row));
      return { name: names[row]! };
    },
    done(name, nowMs, polled = {}) {
      const row = rowOf.get(name);
      if (row === undefined || states[row] !== 'taken') return;
      learn(row, nowMs, polled);
      const isRead = polled.requests !== undefined && !polled.isPartial;
      if (isRead || polled.isGone) readMs.set(row, lastMs.get(row));
      payers.delete(row);
      const isHinted = hinted.delete(row);
      const regular = regulars.get(row);
      const { delayMs } = polled;
      const beganMs = lastMs.get(row);
      if (!regular && delayMs === undefined && !isHinted) {
        states[row] = 'waiting';
        waiting.add(row, beganMs, prospects.worth(row));
        return;
      }
      const ownMs = delayMs === undefined ? beganMs + (regular?.intervalMs ?? aimMs) : nowMs + delayMs;
      const hintedMs = isHinted ? beganMs + minIntervalMs : ownMs;
      setTimed(row, ownMs === Number.POSITIVE_INFINITY ? ownMs : Math.min(ownMs, hintedMs));
    },
    hint(name, nowMs) {
      const row = rowOf.get(name);
      if (row === undefined || states[row] === 'fresh') return;
      if (states[row] === 'taken') {
        hinted.add(row);
        return;
      }
      const hintedMs = Math.max(nowMs, lastMs.get(row) + minIntervalMs);
      if (states[row] === 'waiting') waiting.delete(row);
      // Infinity: it is not polled again, as where each stream is read only once.
      else if (readyMs.get(row) <= hintedMs || readyMs.get(row) === Number.POSITIVE_INFINITY) return;
      setTimed(row, hintedMs);
    },
    behind(nowMs) {
      let oldest: Row | undefined;
      let streams = 0;
      for (const row of rowOf.values()) {
        if (nowMs - readMs.get(row) <= behindFromMs(regulars.get(row))) continue;
        streams += 1;
        if (oldest === undefined || readMs.get(row) < readMs.get(oldest)) oldest = row;
      }
      if (oldest === undefined) return undefined;
      return { name: names[oldest]!, oldestMs: nowMs - readMs.get(oldest), streams };
    },
    neededPerSecond: () => neededPerSecond(maxIntervalMs),
  };
}
