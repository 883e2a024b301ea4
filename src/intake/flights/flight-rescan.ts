/**
 * Decides how far back the polls of one Bird's Flights look. Flights cannot be counted as paged entries can, so
 * completeness is checked by reading again:
 * - Once an hour a poll begins a day back, which costs no extra request. A poll that begins that far back anyway,
 *   because no Flight has started since, verifies as much.
 * - Once a day, all failed Flights within the retention and all active ones are read as well. This looks back beyond
 *   the first start too: a Flight that was active then may have failed before its Bird was first polled.
 * - Once, the active Flights that started before the first poll's window are read, since nothing else would show
 *   their ends before the daily reading. The first poll does it if the rate allows each Bird its interval. Otherwise
 *   it is delayed by up to some rounds over all Birds, so that every other Bird gets its first poll sooner.
 *
 * A service may always fail to list so much, while it answers what a poll must ask. So if such a poll fails, one of
 * its extra parts is put off, and the polls of the Bird go on.
 */
import type { Clock, Random } from '../../time/clock.ts';
import { retentionHorizonUs } from '../retention-horizon.ts';

interface FlightRescanOptions {
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly overlapUs: () => number;
  readonly firstFromUs: (birdId: string) => number;
  /** How long polling every Bird once takes at the current rate. */
  readonly roundMs: () => number;
}

/** What a poll reads. */
export interface FlightScope {
  /** The earliest start that it reads. */
  readonly fromUs: number;
  /** The earliest start of the failed Flights that it also reads; undefined if it reads none. */
  readonly wholeFromUs: number | undefined;
  /** Whether it also reads all active Flights; `later` if a poll soon after has to. */
  readonly active: 'now' | 'later' | 'no';
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * The first reading of active Flights is spread over this many rounds, and so takes about a twentieth of their
 * requests.
 */
const ACTIVE_WITHIN_ROUNDS = 12;
/** The longest delay of that reading, even if the rounds take longer. */
const ACTIVE_WITHIN_MS = HOUR_MS / 2;
/** When a part that failed is tried again. */
const PUT_OFF_MS = HOUR_MS / 2;
/** Less than a day, since a Bird's polls are some minutes apart and failed Flights are to be read within a day. */
const WHOLE_EVERY_MS = DAY_MS - HOUR_MS;

export class FlightRescan {
  readonly #birdId: string;
  readonly #options: FlightRescanOptions;
  #dayDueMs: number;
  #wholeDueMs: number;
  /** Infinity if all active Flights were read. */
  #activeDueMs = Number.POSITIVE_INFINITY;
  /** Until when each part is put off; undefined if none has failed. */
  #putOff: { wholeMs: number; activeMs: number; dayMs: number } | undefined;
  /** When the last poll succeeded, on the service's clock; 0 before the first. */
  #serviceNowUs = 0;
  #verifiedUs = 0;

  constructor(birdId: string, options: FlightRescanOptions) {
    const { clock, random } = options;
    this.#birdId = birdId;
    this.#options = options;
    this.#dayDueMs = clock.monotonicMs();
    // All Birds start together, so each gets a random time. It comes soon, since a run may be short.
    this.#wholeDueMs = clock.monotonicMs() + random() * HOUR_MS;
  }

  /** All Flights that started up to here are known; 0 before the first rescan. */
  verifiedUs(): number {
    return this.#verifiedUs;
  }

  /** Whether a poll that looked a day back succeeded at or after `ms` (monotonic), and no daily reading is due. */
  isDoneSince(ms: number): boolean {
    const isRescanned = this.#verifiedUs > 0 && this.#dayDueMs - HOUR_MS >= ms;
    const isComplete = this.#activeDueMs === Number.POSITIVE_INFINITY;
    return isRescanned && isComplete && this.#options.clock.monotonicMs() < this.#wholeDueMs;
  }

  /**
   * What a poll reads whose window has to begin at `pollFromUs`. `isFirst` if it is the first ever of this Bird,
   * `hasRoom` if there is room for a request that can wait.
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
   * The service answered, but failed at a poll that had to begin at `pollFromUs`. One of the parts that the poll did
   * not have to read is put off. The next poll shows whether the others can be read.
   */
  failed({ fromUs, wholeFromUs, active }: FlightScope, pollFromUs: number): void {
    const untilMs = this.#options.clock.monotonicMs() + PUT_OFF_MS;
    this.#putOff ??= { wholeMs: 0, activeMs: 0, dayMs: 0 };
    if (wholeFromUs !== undefined) this.#putOff.wholeMs = untilMs;
    else if (active === 'now') this.#putOff.activeMs = untilMs;
    else if (fromUs < pollFromUs) this.#putOff.dayMs = untilMs;
  }

  /** Up to when Flights are known once such a poll is committed. The arguments are those of `done`. */
  verifiedAfter({ fromUs }: FlightScope, serviceNowUs: number, unreadUs = Number.POSITIVE_INFINITY): number {
    // An earlier verification no longer holds if a part of it proves unreadable, or lies in the service's future.
    const keptUs = Math.min(this.#verifiedUs, unreadUs, serviceNowUs);
    if (fromUs > this.#dayAgoUs(serviceNowUs)) return keptUs;
    return Math.max(keptUs, Math.min(serviceNowUs - this.#options.overlapUs(), unreadUs));
  }

  /**
   * The poll succeeded. `serviceNowUs` is when, on the service's clock. Flights that started at `unreadUs` or later
   * are not all known (Infinity: they are).
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
    const firstFromUs = this.#options.firstFromUs(this.#birdId);
    return Math.max(firstFromUs, this.#retentionHorizonUs(nowUs), nowUs - DAY_MS * 1000);
  }
}
