/**
 * Follows the clock of a store that several replicas share. Between two answers of the store it runs on the local
 * monotonic clock. All replicas date what they write by it, so that something written by one of them comes due at the
 * same instant for all, even if the clocks of their machines are wrong.
 */
import type { Clock } from './clock.ts';

export interface StoreClock extends Clock {
  /** The store's clock read `storeUs` at some time after `askedMs` (monotonic) and before now. */
  heard(storeUs: number, askedMs: number): void;
  /** By how many microseconds the machine's own clock is ahead of the store's; negative when it is behind. */
  ownAheadUs(): number;
}

/** Shows the machine's own clock until it has heard from the store. */
export function createStoreClock(own: Clock): StoreClock {
  let base: { readonly us: number; readonly ms: number } | undefined;
  const nowUs = () => (base ? base.us + Math.round((own.monotonicMs() - base.ms) * 1000) : own.nowUs());
  return {
    nowUs,
    monotonicMs: own.monotonicMs,
    setTimer: own.setTimer,
    heard(storeUs, askedMs) {
      const ms = own.monotonicMs();
      // The store's clock is now at least `storeUs`, and later by no more than the request took.
      const mostUs = storeUs + Math.round((ms - askedMs) * 1000);
      const us = Math.min(Math.max(nowUs(), storeUs), mostUs);
      if (!base || us !== nowUs()) base = { us, ms };
    },
    ownAheadUs: () => own.nowUs() - nowUs(),
  };
}
