/**
 * Judges whether a Nest or region uses up what an objective allows it to fail, by two windows of the Site Reliability
 * Workbook (chapter 5): an hour at 14.4 times the pace that would last, and three days at three times. Where few Flights
 * fly a single failure is a large share, so a window also needs a least number of failures.
 */
import type { Burning } from '../alert/fact.ts';

interface Target {
  /** The share that must succeed, above 0 and below 1. */
  readonly success: number;
  readonly overMs: number;
  readonly leastFailures: number;
}

/** How Flights ended in a half hour that begins at `sinceUs`, and the deadlines that were missed in it, if they count. */
interface Ends {
  readonly sinceUs: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly missed?: number;
}

const MINUTE_US = 60_000_000;
const HALF_HOUR_US = 30 * MINUTE_US;
const HOUR_US = 60 * MINUTE_US;

/** `recentUs`: without a failure in that time it no longer burns. */
const PACES = [
  { level: 'critical', windowUs: HOUR_US, recentUs: HALF_HOUR_US, times: 14.4 },
  { level: 'warning', windowUs: 72 * HOUR_US, recentUs: 6 * HOUR_US, times: 3 },
] as const;

/** The longest time that decides whether it burns, microseconds. */
export const LONGEST_WINDOW_US = 72 * HOUR_US;

/** How fast it burns; undefined if it does not. `ends`: of the last three days, by half hour. */
export function burning(
  { success, leastFailures }: Target,
  ends: readonly Ends[],
  nowUs: number,
): Burning | undefined {
  for (const { level, windowUs, recentUs, times } of PACES) {
    const { succeeded, failed, missed } = sumSince(ends, nowUs - windowUs);
    const flights = succeeded + failed;
    // Beyond 1 no share would be enough.
    const share = Math.min(1, times * (1 - success));
    const recent = sumSince(ends, nowUs - recentUs);
    const isRecent = recent.failed + recent.missed > 0;
    if (isRecent && failed + missed >= leastFailures && (failed + missed) / (flights + missed) >= share)
      return { level, failed, flights, missed, windowUs };
  }
  return undefined;
}

/** What the objective allows in its time, how much of that is used, and when it is used up at this pace. */
export function allowance({ success, overMs }: Target, ends: readonly Ends[], burn: Burning, nowUs: number) {
  const { succeeded, failed, missed } = sumSince(ends, nowUs - overMs * 1000);
  const used = failed + missed;
  const allowed = allowedFailures(success, succeeded + used);
  const left = allowed - used;
  return {
    allowed,
    used,
    usedUpAtUs: left <= 0 ? nowUs : nowUs + (left * burn.windowUs) / (burn.failed + burn.missed),
  };
}

/** How many of these Flights may fail. A tenth of ten is one, although 1 - 0.9 is a little less than a tenth. */
export function allowedFailures(success: number, flights: number): number {
  return Math.floor(flights * (1 - success) + 1e-9);
}

/** Half hours count in full if they end later. */
function sumSince(ends: readonly Ends[], sinceUs: number) {
  const sum = { succeeded: 0, failed: 0, missed: 0 };
  for (const one of ends) {
    if (one.sinceUs + HALF_HOUR_US <= sinceUs) continue;
    sum.succeeded += one.succeeded ?? 0;
    sum.failed += one.failed ?? 0;
    sum.missed += one.missed ?? 0;
  }
  return sum;
}
