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
import { createInstantQueue } from './instant-queue.ts';
import { createFeedProspects, type Prospect } from './prospect.ts';
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
    };

/** What a poll was like. */
export interface Polled {
  /** Replaces the interval; Infinity: not again. */
  readonly delayMs?: number | undefined;
  /** How many requests it took; undefined when it failed. */
  readonly requests?: number | undefined;
  /** Entries that were new. */
  readonly news?: number;
  /** It read all that there was: with its news it tells how often some come. */
  readonly complete?: boolean;
}

export interface Behind {
  /** How long the stream that waits longest has waited. */
  readonly oldestMs: number;
  /** Requests a second that would keep `maxIntervalMs`. */
  readonly neededPerSecond: number;
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
  /** Undefined while every stream is polled often enough. */
  behind(nowMs: number): Behind | undefined;
  readonly size: number;
}

interface Slot {
  readonly name: string;
  readonly regular: { intervalMs: number; readonly account: Account } | undefined;
  readonly prospect: Prospect;
  state: 'fresh' | 'waiting' | 'timed' | 'taken' | 'gone';
  /** When the last poll began. */
  lastMs: number;
  /** When a timed or regular stream is due. */
  readyMs: number;
  hinted: boolean;
  /** Who pays for the poll under way. */
  payer: Account | undefined;
  /** As its prospect said when the last poll ended. */
  worth: number;
}

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

export function createSchedule(options: ScheduleOptions): Schedule {
  const { minIntervalMs, maxIntervalMs, allowedPerSecond } = options;
  const longestWaitMs = LONGEST_WAIT * maxIntervalMs;
  const aimMs = Math.min(options.intervalMs, longestWaitMs);
  const leastMs = Math.min(minIntervalMs, longestWaitMs);
  const slots = new Map<string, Slot>();
  const regulars = new Set<Slot>();
  const fresh = createInstantQueue<Slot>((slot) => slot.state === 'fresh');
  const timed = createInstantQueue<Slot>((slot, atMs) => slot.state === 'timed' && slot.readyMs === atMs);
  const waiting = createWaitlist<Slot>(maxIntervalMs);
  const shares = createShares();
  const timedAccount = shares.open(TIMED_SHARE);
  const feeds = new Map<string, () => Prospect>();
  let birdStreams = 0;
  /** Requests that one poll of each Bird's stream would take. */
  let roundCost = 0;

  /** Requests a second with which every stream is polled so often. */
  function neededPerSecond(intervalMs: number): number {
    let perMs = roundCost / intervalMs;
    for (const { regular, prospect } of regulars) perMs += prospect.cost() / regular!.intervalMs;
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

  function dueRegular(nowMs: number, withinShare: boolean): Slot | undefined {
    let first: Slot | undefined;
    for (const slot of regulars) {
      if (slot.state === 'taken' || slot.readyMs > nowMs) continue;
      if (withinShare && slot.regular!.account.debt > 0) continue;
      if (!first || slot.readyMs < first.readyMs) first = slot;
    }
    return first;
  }

  function choose(nowMs: number): Slot | undefined {
    const regular = dueRegular(nowMs, true);
    if (regular) return regular;
    const pressing = fresh.first()?.item ?? pressingSlot(nowMs);
    const next = timed.first();
    if (next && next.atMs <= nowMs && !(pressing && timedAccount.debt > 0)) {
      next.item.payer = timedAccount;
      return next.item;
    }
    return pressing ?? waiting.best(nowMs, leastWaitMs()) ?? dueRegular(nowMs, false);
  }

  function pressingSlot(nowMs: number): Slot | undefined {
    const oldest = waiting.oldest();
    if (!oldest || nowMs < oldest.lastMs + leastWaitMs()) return undefined;
    return waiting.pressing(nowMs, limitMs(), birdStreams);
  }

  /** When something may be polled that must not be polled now. */
  function nextMs(): number {
    const oldest = waiting.oldest();
    let earliestMs = Math.min(
      timed.first()?.atMs ?? Number.POSITIVE_INFINITY,
      oldest ? oldest.lastMs + leastWaitMs() : Number.POSITIVE_INFINITY,
    );
    for (const { state, readyMs } of regulars) {
      if (state !== 'taken') earliestMs = Math.min(earliestMs, readyMs);
    }
    return earliestMs;
  }

  function learn(slot: Slot, nowMs: number, { requests, news = 0, complete = false }: Polled): void {
    const { prospect } = slot;
    const before = prospect.cost();
    if (requests !== undefined) {
      shares.charge(slot.payer, requests - before);
      prospect.learn({ beganMs: slot.lastMs, nowMs, requests, news, complete });
      if (!slot.regular) roundCost += prospect.cost() - before;
    }
    slot.worth = prospect.worth();
  }

  function setTimed(slot: Slot, readyMs: number): void {
    slot.state = 'timed';
    slot.readyMs = readyMs;
    if (!slot.regular && readyMs < Number.POSITIVE_INFINITY) timed.add(slot, readyMs);
  }

  return {
    get size() {
      return slots.size;
    },
    has: (name) => slots.has(name),
    add(stream, nowMs) {
      const known = slots.get(stream.name);
      if (known) {
        if (known.regular && 'share' in stream) known.regular.intervalMs = stream.intervalMs;
        return;
      }
      const feed = 'feed' in stream ? stream.feed : stream.name;
      let createProspect = feeds.get(feed);
      if (!createProspect) {
        createProspect = createFeedProspects();
        feeds.set(feed, createProspect);
      }
      const slot: Slot = {
        name: stream.name,
        regular:
          'share' in stream
            ? { intervalMs: stream.intervalMs, account: shares.open(stream.share) }
            : undefined,
        prospect: createProspect(),
        state: 'fresh',
        lastMs: Number.NEGATIVE_INFINITY,
        readyMs: Number.NEGATIVE_INFINITY,
        hinted: false,
        payer: undefined,
        worth: 0,
      };
      slots.set(slot.name, slot);
      if (slot.regular) {
        regulars.add(slot);
        return;
      }
      birdStreams += 1;
      roundCost += slot.prospect.cost();
      fresh.add(slot, nowMs);
    },
    remove(name) {
      const slot = slots.get(name);
      if (!slot) return;
      slots.delete(name);
      regulars.delete(slot);
      if (slot.state === 'waiting') waiting.delete(slot);
      slot.state = 'gone';
      if (slot.regular) {
        shares.close(slot.regular.account);
        return;
      }
      birdStreams -= 1;
      // From zero on, so that what rounding left over does not add up.
      roundCost = birdStreams === 0 ? 0 : roundCost - slot.prospect.cost();
    },
    take(nowMs) {
      const slot = choose(nowMs);
      if (!slot) return { waitMs: nextMs() - nowMs };
      if (slot.state === 'waiting') waiting.delete(slot);
      if (slot.regular) slot.payer = slot.regular.account;
      slot.state = 'taken';
      slot.hinted = false;
      slot.lastMs = nowMs;
      shares.charge(slot.payer, slot.prospect.cost());
      return { name: slot.name };
    },
    done(name, nowMs, polled = {}) {
      const slot = slots.get(name);
      if (slot?.state !== 'taken') return;
      learn(slot, nowMs, polled);
      slot.payer = undefined;
      const { delayMs } = polled;
      if (!slot.regular && delayMs === undefined && !slot.hinted) {
        slot.state = 'waiting';
        waiting.add(slot);
        return;
      }
      const intervalMs = slot.regular?.intervalMs ?? aimMs;
      const ownMs = delayMs === undefined ? slot.lastMs + intervalMs : nowMs + delayMs;
      const hintedMs = slot.hinted ? slot.lastMs + minIntervalMs : ownMs;
      setTimed(slot, ownMs === Number.POSITIVE_INFINITY ? ownMs : Math.min(ownMs, hintedMs));
    },
    hint(name, nowMs) {
      const slot = slots.get(name);
      if (!slot || slot.state === 'fresh') return;
      if (slot.state === 'taken') {
        slot.hinted = true;
        return;
      }
      const hintedMs = Math.max(nowMs, slot.lastMs + minIntervalMs);
      if (slot.state === 'waiting') waiting.delete(slot);
      // Infinity: it is not polled again, as where each stream is read only once.
      else if (slot.readyMs <= hintedMs || slot.readyMs === Number.POSITIVE_INFINITY) return;
      setTimed(slot, hintedMs);
    },
    behind(nowMs) {
      const oldest = waiting.oldest();
      const sincesMs = [oldest?.lastMs, fresh.first()?.atMs, timed.first()?.atMs];
      const oldestMs = Math.max(0, ...sincesMs.map((sinceMs) => nowMs - (sinceMs ?? nowMs)));
      if (oldestMs <= BEHIND_FROM * maxIntervalMs) return undefined;
      return { oldestMs, neededPerSecond: neededPerSecond(maxIntervalMs) };
    },
  };
}
