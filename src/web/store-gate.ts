/**
 * Lets few requests at once ask the store and the stages. Transactions take turns in the order in which they were asked
 * for: without this the watch would wait behind everything that thousands of requests ask.
 */
import { LIMITS } from '../limits.ts';

/** Runs work as soon as there is room; rejects with `BusyError` where too much waits already. It must not be nested. */
export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/** One that is under way and one that is next: more would gain nothing, since the store does one after another. */
const AT_ONCE = 2;

export class BusyError extends Error {
  override readonly name = 'BusyError';
}

/** `reached` is called for each that is refused. */
export function createGate(reached: () => void): Gate {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (work) => {
    if (running >= AT_ONCE) {
      if (waiting.length >= LIMITS.waiting_requests.most) {
        reached();
        throw new BusyError('Too many requests wait already: ask again in a moment.');
      }
      // Who leaves hands its place on.
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
