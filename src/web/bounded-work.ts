/**
 * Bounds the work that requests cause, so that the watch does not wait behind thousands of them: a gate before the store,
 * pauses while alerts are compared with matchers, and answers that all who ask within a second share.
 */
import { setImmediate } from 'node:timers/promises';
import { LIMITS } from '../limits.ts';
import type { Report } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import { refuse } from './requests/query.ts';

/** Runs work as soon as there is room. Rejects with `BusyError` if too much is waiting. Must not be nested. */
export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * One in progress and one that is next. More would gain nothing, since the store runs one transaction after another.
 */
const AT_ONCE = 2;

export class BusyError extends Error {
  override readonly name = 'BusyError';
}

/** `reached` is called for each refused request. */
export function createGate(reached: () => void): Gate {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (work) => {
    if (running >= AT_ONCE) {
      if (waiting.length >= LIMITS.waiting_requests.most) {
        reached();
        throw new BusyError('Too many requests wait already: ask again in a moment.');
      }
      // The finished work passes its place on.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

/** After this time other work gets a turn. */
const TURN_MS = 20;

/**
 * The items that match, in their order. Other work runs in between. Throws `usage` if the evaluation exceeds its time
 * limit.
 */
export async function select<T>(
  items: readonly T[],
  fits: (item: T) => boolean,
  { clock, report }: { readonly clock: Clock; readonly report: Report },
): Promise<T[]> {
  const found: T[] = [];
  let spentMs = 0;
  let turnMs = clock.monotonicMs();
  for (const item of items) {
    if (fits(item)) found.push(item);
    const lastedMs = clock.monotonicMs() - turnMs;
    if (spentMs + lastedMs > LIMITS.matching_ms.most) {
      report({ what: 'limit_reached', limit: 'matching_ms' });
      throw refuse('these matchers take too long with the alerts that fire: use simpler regular expressions');
    }
    if (lastedMs < TURN_MS) continue;
    await setImmediate();
    spentMs += lastedMs;
    turnMs = clock.monotonicMs();
  }
  return found;
}

/**
 * Shares one read among all who ask within `forMs`, even while it is in progress. After a failed read the previous
 * value stays as long; without one, the next who asks reads again.
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
        if (before) return before;
        if (last?.value === value) last = undefined;
        throw error;
      },
    );
    last = { untilMs: clock.monotonicMs() + forMs, value };
    return value;
  };
}
