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
  const { clock, random, retentionMs } = options;
  let dayDueMs = clock.monotonicMs();
  // All Birds begin together, and lives may be short: at random each of them comes to it in good time.
  let wholeDueMs = clock.monotonicMs() + random() * DAY_MS;
  let serviceNowUs: number | undefined;
  let verifiedUs = 0;

  const oldestUs = (nowUs: number) =>
    Math.max(options.firstFromUs(), keptSinceUs(Math.max(nowUs, clock.nowUs()), retentionMs));
  const dayAgoUs = (nowUs: number) => Math.max(oldestUs(nowUs), nowUs - DAY_MS * 1000);

  return {
    verifiedUs: () => verifiedUs,
    scope(pollFromUs) {
      const nowMs = clock.monotonicMs();
      if (serviceNowUs === undefined) return { fromUs: pollFromUs, wholeFromUs: undefined };
      const isWhole = nowMs >= wholeDueMs;
      const isDay = isWhole || nowMs >= dayDueMs;
      return {
        fromUs: isDay ? Math.min(pollFromUs, dayAgoUs(serviceNowUs)) : pollFromUs,
        wholeFromUs: isWhole ? oldestUs(serviceNowUs) : undefined,
      };
    },
    done({ fromUs, wholeFromUs }, nowUs) {
      serviceNowUs = nowUs;
      if (wholeFromUs !== undefined) wholeDueMs = clock.monotonicMs() + DAY_MS;
      if (fromUs > dayAgoUs(nowUs)) return;
      dayDueMs = clock.monotonicMs() + HOUR_MS;
      verifiedUs = Math.max(verifiedUs, nowUs - options.overlapUs());
    },
  };
}
