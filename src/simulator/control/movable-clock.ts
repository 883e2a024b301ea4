import type { Clock } from '../../time/clock.ts';

/** A clock whose wall time can be set; timers and durations are those of the clock below. */
export interface MovableClock extends Clock {
  moveTo(us: number): void;
}

export function createMovableClock(clock: Clock): MovableClock {
  let aheadUs = 0;
  return {
    ...clock,
    nowUs: () => clock.nowUs() + aheadUs,
    moveTo(us) {
      aheadUs = us - clock.nowUs();
    },
  };
}
