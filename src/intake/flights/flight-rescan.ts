/**
 * How far back the polls of one Bird's Flights look from time to time, since its Flights cannot be counted: once an
 * hour a poll begins a day back, which costs no further request, and once a day everything that failed or is still
 * active is read as well. A poll that begins a day back anyway, since no Flight started in that time, proves as much.
 *
 * The daily one looks back beyond the first start too: a Flight that was in the air then may have failed before its
 * Bird was first asked for.
 */
import type { Clock, Random } from '../../time/clock.ts';
import { keptSinceUs } from '../retention-horizon.ts';

export interface FlightReviewOptions {
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly overlapUs: () => number;
  readonly firstFromUs: () => number;
}

/** What a poll looks at. */
export interface FlightScope {
  /** The oldest start that it reads. */
  readonly fromUs: number;
  /** Where it reads failed Flights from as well, and all that are active; undefined for not now. */
  readonly wholeFromUs: number | undefined;
}

export interface FlightReview {
  /** What the poll looks at that has to begin at `pollFromUs`. */
  scope(pollFromUs: number): FlightScope;
  /**
   * The poll succeeded. `serviceNowUs` is when, on the service's clock; what started at `unreadUs` or later is not
   * all known (Infinity: it is).
   */
  done(scope: FlightScope, serviceNowUs: number, unreadUs?: number): void;
  /** Flights that started up to here are known; 0 before the first review. */
  verifiedUs(): number;
  /** Whether a day was read back at that instant of the monotonic clock or later, and no daily reading is due. */
  isDoneSince(ms: number): boolean;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A Bird's polls are some minutes apart, and what failed is to be read within a day all the same. */
const WHOLE_EVERY_MS = DAY_MS - HOUR_MS;

export function createFlightReview(options: FlightReviewOptions): FlightReview {
  return new OneReview(options);
}

/** A class, since each Bird has one: a closure for each method would take more room than what it remembers. */
class OneReview implements FlightReview {
  readonly #options: FlightReviewOptions;
  #dayDueMs: number;
  #wholeDueMs: number;
  /** When the last poll succeeded; 0 before. */
  #serviceNowUs = 0;
  #verifiedUs = 0;

  constructor(options: FlightReviewOptions) {
    const { clock, random } = options;
    this.#options = options;
    this.#dayDueMs = clock.monotonicMs();
    // All Birds begin together, so each comes to it at random; soon, since lives may be short.
    this.#wholeDueMs = clock.monotonicMs() + random() * HOUR_MS;
  }

  verifiedUs(): number {
    return this.#verifiedUs;
  }

  isDoneSince(ms: number): boolean {
    const isReviewed = this.#verifiedUs > 0 && this.#dayDueMs - HOUR_MS >= ms;
    return isReviewed && this.#options.clock.monotonicMs() < this.#wholeDueMs;
  }

  scope(pollFromUs: number): FlightScope {
    if (this.#serviceNowUs === 0) return { fromUs: pollFromUs, wholeFromUs: undefined };
    const nowMs = this.#options.clock.monotonicMs();
    const isWhole = nowMs >= this.#wholeDueMs;
    const isDay = isWhole || nowMs >= this.#dayDueMs;
    return {
      fromUs: isDay ? Math.min(pollFromUs, this.#dayAgoUs(this.#serviceNowUs)) : pollFromUs,
      wholeFromUs: isWhole ? this.#keptSinceUs(this.#serviceNowUs) : undefined,
    };
  }

  done(
    { fromUs, wholeFromUs }: FlightScope,
    serviceNowUs: number,
    unreadUs = Number.POSITIVE_INFINITY,
  ): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#serviceNowUs = serviceNowUs;
    // What was proven before is not, once it turns out that something in it cannot be read.
    this.#verifiedUs = Math.min(this.#verifiedUs, unreadUs);
    if (wholeFromUs !== undefined) this.#wholeDueMs = nowMs + WHOLE_EVERY_MS;
    if (fromUs > this.#dayAgoUs(serviceNowUs)) return;
    this.#dayDueMs = nowMs + HOUR_MS;
    const provenUs = Math.min(serviceNowUs - this.#options.overlapUs(), unreadUs);
    this.#verifiedUs = Math.max(this.#verifiedUs, provenUs);
  }

  #keptSinceUs(nowUs: number): number {
    const { clock, retentionMs } = this.#options;
    return keptSinceUs(Math.max(nowUs, clock.nowUs()), retentionMs);
  }

  #dayAgoUs(nowUs: number): number {
    return Math.max(this.#options.firstFromUs(), this.#keptSinceUs(nowUs), nowUs - DAY_MS * 1000);
  }
}
