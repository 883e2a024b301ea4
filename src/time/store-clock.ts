/**
 * The clock of a store that several replicas share, carried on here between two answers that say what it shows. All of
 * them date what they write by it, so that what one of them wrote comes due at the same instant for every other, however
 * wrong the clocks of their machines are.
 */
import type { Clock } from './clock.ts';

export interface StoreClock extends Clock {
  /** The store showed `storeUs` after this clock's `askedMs` and before now. */
  heard(storeUs: number, askedMs: number): void;
  /** By how many microseconds the machine's own clock is ahead of the store's; less than 0 where it is behind. */
  ownAheadUs(): number;
}

/** Shows what the machine's own clock shows until it has heard of the store's. */
export function createStoreClock(own: Clock): StoreClock {
  let base: { readonly us: number; readonly ms: number } | undefined;
  const nowUs = () => (base ? base.us + Math.round((own.monotonicMs() - base.ms) * 1000) : own.nowUs());
  return {
    nowUs,
    monotonicMs: own.monotonicMs,
    setTimer: own.setTimer,
    heard(storeUs, askedMs) {
      const ms = own.monotonicMs();
      // The store's clock shows no less now, and more by no more than the answer was under way.
      const mostUs = storeUs + Math.round((ms - askedMs) * 1000);
      const us = Math.min(Math.max(nowUs(), storeUs), mostUs);
      if (!base || us !== nowUs()) base = { us, ms };
    },
    ownAheadUs: () => own.nowUs() - nowUs(),
  };
}
