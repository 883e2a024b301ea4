import { type Clock, systemClock } from '../../../src/time/clock.ts';

/** The machine's clock, on which a span of time can be skipped: whatever waits has then waited that much longer. */
export function createSkippingClock(): Clock & { skip(ms: number): void } {
  const clock = systemClock();
  const waiting = new Set<{ readonly dueMs: number; readonly wake: () => void; cancel: () => void }>();
  let skippedMs = 0;
  const monotonicMs = () => clock.monotonicMs() + skippedMs;
  return {
    nowUs: () => clock.nowUs() + skippedMs * 1000,
    monotonicMs,
    setTimer(ms, wake) {
      const one = {
        dueMs: monotonicMs() + ms,
        wake: () => {
          waiting.delete(one);
          wake();
        },
        cancel: () => {},
      };
      one.cancel = clock.setTimer(ms, one.wake);
      waiting.add(one);
      return () => {
        waiting.delete(one);
        one.cancel();
      };
    },
    skip(ms) {
      skippedMs += ms;
      for (const one of waiting) {
        one.cancel();
        one.cancel = clock.setTimer(one.dueMs - monotonicMs(), one.wake);
      }
    },
  };
}
