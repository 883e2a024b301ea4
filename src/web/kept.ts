import type { Clock } from '../time/clock.ts';

/**
 * Shares one read among all who ask within `forMs`, even while it is in progress. After a failed read the previous
 * value stays.
 */
export function kept<T>(clock: Clock, forMs: number, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly untilMs: number; readonly value: Promise<T> } | undefined;
  let good: Promise<T> | undefined;
  return () => {
    // Measured on the monotonic clock: if the wall clock were set back, an answer would be cached for that much
    // longer.
    if (last && clock.monotonicMs() < last.untilMs) return last.value;
    const before = good;
    const value = read().then(
      (found) => {
        good = value;
        return found;
      },
      (error: unknown) => {
        last = undefined;
        if (before) return before;
        throw error;
      },
    );
    last = { untilMs: clock.monotonicMs() + forMs, value };
    return value;
  };
}
