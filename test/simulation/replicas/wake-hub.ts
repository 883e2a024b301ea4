/** How replicas wake each other: late, and not always. */
import type { Wakes, WakeUp } from '../../../src/store/store.ts';
import type { Clock, Random } from '../../../src/time/clock.ts';

export interface WakeHub {
  /** For one life; `isCut` while it neither hears others nor is heard. */
  of(clock: Clock, isCut: () => boolean): Wakes;
}

const UNDER_WAY_MS = 20;

export function createWakeHub(random: Random, lost: number): WakeHub {
  const ears = new Set<{ hear(what: WakeUp): void }>();
  return {
    of(clock, isCut) {
      const own = { hear: (_: WakeUp) => {} };
      return {
        ring(what) {
          if (isCut()) return;
          for (const ear of ears) if (ear !== own && random() >= lost) ear.hear(what);
        },
        listen(heard) {
          own.hear = (what) => {
            clock.setTimer(UNDER_WAY_MS, () => {
              if (!isCut()) heard(what);
            });
          };
          ears.add(own);
          return () => ears.delete(own);
        },
      };
    },
  };
}
