/**
 * How far back the polls of one Bird's Flights look from time to time, since its Flights cannot be counted: once an
 * hour a poll begins a day back, which costs no further request, and once a day everything that failed or is still
 * active is read as well. A poll that begins a day back anyway, since no Flight started in that time, proves as much.
 */
import type { Clock, Random } from '../clock.ts';
import { keptSinceUs } from './kept-since.ts';

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
  /** The poll succeeded. `serviceNowUs` is when, on the service's clock. */
  done(scope: FlightScope, serviceNowUs: number): void;
  /** Flights that started up to here are known; 0 before the first review. */
  verifiedUs(): number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

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
    // All Birds begin together, and lives may be short: at random each of them comes to it in good time.
    this.#wholeDueMs = clock.monotonicMs() + random() * DAY_MS;
  }

  verifiedUs(): number {
    return this.#verifiedUs;
  }

  scope(pollFromUs: number): FlightScope {
    if (this.#serviceNowUs === 0) return { fromUs: pollFromUs, wholeFromUs: undefined };
    const nowMs = this.#options.clock.monotonicMs();
    const isWhole = nowMs >= this.#wholeDueMs;
    const isDay = isWhole || nowMs >= this.#dayDueMs;
    return {
      fromUs: isDay ? Math.min(pollFromUs, this.#dayAgoUs(this.#serviceNowUs)) : pollFromUs,
      wholeFromUs: isWhole ? this.#oldestUs(this.#serviceNowUs) : undefined,
    };
  }

  done({ fromUs, wholeFromUs }: FlightScope, serviceNowUs: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#serviceNowUs = serviceNowUs;
    if (wholeFromUs !== undefined) this.#wholeDueMs = nowMs + DAY_MS;
    if (fromUs > this.#dayAgoUs(serviceNowUs)) return;
    this.#dayDueMs = nowMs + HOUR_MS;
    this.#verifiedUs = Math.max(this.#verifiedUs, serviceNowUs - this.#options.overlapUs());
  }

  #oldestUs(nowUs: number): number {
    const { clock, retentionMs, firstFromUs } = this.#options;
    return Math.max(firstFromUs(), keptSinceUs(Math.max(nowUs, clock.nowUs()), retentionMs));
  }

  #dayAgoUs(nowUs: number): number {
    return Math.max(this.#oldestUs(nowUs), nowUs - DAY_MS * 1000);
  }
}
