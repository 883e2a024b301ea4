/** Notices that the wall clock was set, by comparing it with the clock that never jumps. */
import type { Clock } from './clock.ts';

export interface ClockReading {
  readonly wallUs: number;
  readonly monotonicMs: number;
}

/** Smaller steps are ordinary clock synchronization. */
export const LEAST_STEP_US = 5_000_000;

export function readClock(clock: Clock): ClockReading {
  return { wallUs: clock.nowUs(), monotonicMs: clock.monotonicMs() };
}

/**
 * How far the wall clock was set ahead between two readings, in microseconds; negative if it was set back. A machine
 * that was suspended counts as a clock that was set ahead.
 */
export function aheadOf(last: ClockReading, present: ClockReading): number {
  return Math.round(present.wallUs - last.wallUs - (present.monotonicMs - last.monotonicMs) * 1000);
}
