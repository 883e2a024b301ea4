/**
 * Our clock may be set back, by a person or after a start with a wrong one. Alerts, groups and deliveries wait for
 * instants on it, and would wait so much longer: those instants are set back as well. When it is set forward they merely come
 * early.
 */

import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';

/** Less is how clocks are kept in time. */
const LEAST_STEP_US = 5_000_000;

/**
 * The function looks for such a step since it last looked, at first since the store was last written; it resolves to
 * whether there was one. What the store refuses is tried again the next time.
 */
export function createClockRollback(store: Store, clock: Clock): () => Promise<boolean> {
  let last: { readonly wallUs: number; readonly monotonicMs: number } | undefined;

  return async () => {
    const before = last;
    const present = { wallUs: clock.nowUs(), monotonicMs: clock.monotonicMs() };
    const expectedUs = before
      ? before.wallUs + (present.monotonicMs - before.monotonicMs) * 1000
      : await store.transaction((tx) => tx.upkeep.newestInstantUs());
    const backUs = Math.round(expectedUs - present.wallUs);
    const isBack = backUs >= LEAST_STEP_US;
    if (isBack) {
      await store.transaction((tx) => tx.upkeep.rollBackClock(backUs, present.wallUs, () => tx.pause()));
    }
    last = present;
    return isBack;
  };
}
