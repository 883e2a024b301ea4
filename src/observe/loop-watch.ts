import type { Clock } from '../time/clock.ts';

/**
 * Measures how long the event loop was blocked. A timer fires late by the length of the turn that delayed it, or by
 * the time for which the whole process was suspended. A turn shorter than `TICK_MS` may go unnoticed; a longer one
 * may be measured up to that much too short.
 */
interface LoopWatch {
  /** The longest turn since the last call, in milliseconds, including the current one. */
  longestTurnMs(): number;
  stop(): void;
}

const TICK_MS = 20;

export function createLoopWatch(clock: Clock): LoopWatch {
  let longestMs = 0;
  let dueMs = 0;
  let cancel = () => {};

  function look(): void {
    longestMs = Math.max(longestMs, clock.monotonicMs() - dueMs);
  }

  function wait(): void {
    dueMs = clock.monotonicMs() + TICK_MS;
    cancel = clock.setTimer(TICK_MS, () => {
      look();
      wait();
    });
  }

  wait();
  return {
    longestTurnMs() {
      look();
      const longest = longestMs;
      longestMs = 0;
      // The current turn counts up to now; only its remainder belongs to the next reading.
      dueMs = Math.max(dueMs, clock.monotonicMs());
      return longest;
    },
    stop: () => cancel(),
  };
}
