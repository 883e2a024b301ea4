/**
 * Limits how many requests use the store and the stages at the same time. Transactions run in the order in which they
 * were requested, so without this limit the watch would wait behind thousands of requests.
 */
import { LIMITS } from '../limits.ts';

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
