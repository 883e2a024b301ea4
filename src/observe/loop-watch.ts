import type { Clock } from '../time/clock.ts';

/**
 * Measures for how long nothing else could be done: a timer rings late by the turn of the event loop that kept it
 * waiting, or by the time for which the whole process stood still. A turn shorter than `TICK_MS` may go unseen, a
 * longer one counts for up to that much less than it took.
 */
interface LoopWatch {
  /** Milliseconds of the longest turn since this was last asked for, the present one included. */
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
      // What the present turn took until now is counted; only the rest of it is to come.
      dueMs = Math.max(dueMs, clock.monotonicMs());
      return longest;
    },
    stop: () => cancel(),
  };
}
