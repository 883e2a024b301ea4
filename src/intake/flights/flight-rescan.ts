/**
 * How far back the polls of one Bird's Flights look from time to time, since its Flights cannot be counted: once an
 * hour a poll begins a day back, which costs no further request, and once a day everything that failed or is still
 * active is read as well. A poll that begins a day back anyway, since no Flight started in that time, verifies as much.
 *
 * The daily one looks back beyond the first start too: a Flight that was in the air then may have failed before its
 * Bird was first asked for.
 *
 * What is in the air since before the first poll looks back is asked for by that poll where the rate allows each Bird
 * its interval; else later, so that the first look at every other Bird comes sooner, but within some rounds over all
 * Birds: how it ends is news, and nothing else says so before the daily reading.
 *
 * A service may fail to list so much, always, while it answers what a poll must ask. So where such a poll fails, one part
 * of what it looked at beyond that is put off, and the polls of the Bird go on.
 */
import type { Clock, Random } from '../../time/clock.ts';
import { retentionHorizonUs } from '../retention-horizon.ts';

interface FlightRescanOptions {
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly overlapUs: () => number;
  readonly firstFromUs: () => number;
  /** How long a look at every Bird takes at the rate there is now. */
  readonly roundMs: () => number;
}

/** What a poll looks at. */
export interface FlightScope {
  /** The oldest start that it reads. */
  readonly fromUs: number;
  /** Where it reads failed Flights from as well; undefined for not now. */
  readonly wholeFromUs: number | undefined;
  /** Whether it reads all that are active as well; `later` where a poll has to that comes soon. */
  readonly active: 'now' | 'later' | 'no';
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** What was in the air before the first poll is asked for within so many rounds, which costs a twentieth of their requests. */
const ACTIVE_WITHIN_ROUNDS = 12;
/** It is asked for within this time, also where the rounds take longer. */
const ACTIVE_WITHIN_MS = HOUR_MS / 2;
/** A part that failed is tried again after this time. */
const PUT_OFF_MS = HOUR_MS / 2;
/** A Bird's polls are some minutes apart, and what failed is to be read within a day all the same. */
const WHOLE_EVERY_MS = DAY_MS - HOUR_MS;

export class FlightRescan {
  readonly #options: FlightRescanOptions;
  #dayDueMs: number;
  #wholeDueMs: number;
  /** Infinity where all that is active was read. */
  #activeDueMs = Number.POSITIVE_INFINITY;
  /** Until when each part is put off; undefined as long as none has failed. */
  #putOff: { wholeMs: number; activeMs: number; dayMs: number } | undefined;
  /** When the last poll succeeded; 0 before. */
  #serviceNowUs = 0;
  #verifiedUs = 0;

  constructor(options: FlightRescanOptions) {
    const { clock, random } = options;
    this.#options = options;
    this.#dayDueMs = clock.monotonicMs();
    // All Birds begin together, so each comes to it at random; soon, since lives may be short.
    this.#wholeDueMs = clock.monotonicMs() + random() * HOUR_MS;
  }

  /** Flights that started up to here are known; 0 before the first rescan. */
  verifiedUs(): number {
    return this.#verifiedUs;
  }

  /** Whether a day was read back at that instant of the monotonic clock or later, and no daily reading is due. */
  isDoneSince(ms: number): boolean {
    const isRescanned = this.#verifiedUs > 0 && this.#dayDueMs - HOUR_MS >= ms;
    const isComplete = this.#activeDueMs === Number.POSITIVE_INFINITY;
    return isRescanned && isComplete && this.#options.clock.monotonicMs() < this.#wholeDueMs;
  }

  /**
   * What a poll looks at that has to begin at `pollFromUs`. It may be the first of all lives, and there may be room for
   * a request that can also be made later.
   */
  scope(pollFromUs: number, { isFirst = false, hasRoom = false } = {}): FlightScope {
    const isActiveLeft = isFirst || this.#activeDueMs < Number.POSITIVE_INFINITY;
    const nowMs = this.#options.clock.monotonicMs();
    const { wholeMs = 0, activeMs = 0, dayMs = 0 } = this.#putOff ?? {};
    const isActiveDue = (hasRoom || nowMs >= this.#activeDueMs) && nowMs >= activeMs;
    const active = isActiveLeft ? (isActiveDue ? 'now' : 'later') : 'no';
    if (this.#serviceNowUs === 0) return { fromUs: pollFromUs, wholeFromUs: undefined, active };
    const isWhole = nowMs >= Math.max(this.#wholeDueMs, wholeMs);
    const isDay = isWhole || nowMs >= Math.max(this.#dayDueMs, dayMs);
    return {
      fromUs: isDay ? Math.min(pollFromUs, this.#dayAgoUs(this.#serviceNowUs)) : pollFromUs,
      wholeFromUs: isWhole ? this.#retentionHorizonUs(this.#serviceNowUs) : undefined,
      active: isWhole ? 'now' : active,
    };
  }

  /**
   * The service answered, and failed at what a poll asked that had to begin at `pollFromUs`. Of what it looked at beyond
   * that one part is put off; the poll after it shows whether the others can be read.
   */
  failed({ fromUs, wholeFromUs, active }: FlightScope, pollFromUs: number): void {
    const untilMs = this.#options.clock.monotonicMs() + PUT_OFF_MS;
    this.#putOff ??= { wholeMs: 0, activeMs: 0, dayMs: 0 };
    if (wholeFromUs !== undefined) this.#putOff.wholeMs = untilMs;
    else if (active === 'now') this.#putOff.activeMs = untilMs;
    else if (fromUs < pollFromUs) this.#putOff.dayMs = untilMs;
  }

  /** Up to when Flights are known once such a poll is committed; as for `done`. */
  verifiedAfter({ fromUs }: FlightScope, serviceNowUs: number, unreadUs = Number.POSITIVE_INFINITY): number {
    // What was verified before is not, once it turns out that something in it cannot be read, or has yet to come.
    const keptUs = Math.min(this.#verifiedUs, unreadUs, serviceNowUs);
    if (fromUs > this.#dayAgoUs(serviceNowUs)) return keptUs;
    return Math.max(keptUs, Math.min(serviceNowUs - this.#options.overlapUs(), unreadUs));
  }

  /**
   * The poll succeeded. `serviceNowUs` is when, on the service's clock; what started at `unreadUs` or later is not
   * all known (Infinity: it is).
   */
  done(scope: FlightScope, serviceNowUs: number, unreadUs = Number.POSITIVE_INFINITY): void {
    const { clock, random, roundMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (scope.active === 'now') this.#activeDueMs = Number.POSITIVE_INFINITY;
    else if (scope.active === 'later' && this.#activeDueMs === Number.POSITIVE_INFINITY)
      this.#activeDueMs = nowMs + random() * Math.min(ACTIVE_WITHIN_ROUNDS * roundMs(), ACTIVE_WITHIN_MS);
    this.#serviceNowUs = serviceNowUs;
    this.#verifiedUs = this.verifiedAfter(scope, serviceNowUs, unreadUs);
    if (scope.wholeFromUs !== undefined) this.#wholeDueMs = nowMs + WHOLE_EVERY_MS;
    if (scope.fromUs <= this.#dayAgoUs(serviceNowUs)) this.#dayDueMs = nowMs + HOUR_MS;
  }

  #retentionHorizonUs(nowUs: number): number {
    const { clock, retentionMs } = this.#options;
    return retentionHorizonUs(Math.max(nowUs, clock.nowUs()), retentionMs);
  }

  #dayAgoUs(nowUs: number): number {
    return Math.max(this.#options.firstFromUs(), this.#retentionHorizonUs(nowUs), nowUs - DAY_MS * 1000);
  }
}
