/**
 * How many entries a page is asked for, one size for all paged streams of a region. What the service takes is not
 * documented, so its refusals teach it: a stream that is refused a page finds out by itself which size is taken, and
 * only where two streams have found out the same kind of thing is it the service's limit, and every stream's size.
 * For one stream alone may be refused for what is in it, and all of them for a while.
 *
 *   first size ──learn, by two streams──► smaller ──tried, taken──► larger …► first size
 *                                          │    ▲
 *                                          └────┘ tried, refused: the next try is twice as far off
 */
import type { Clock } from '../clock.ts';

export interface PageSize {
  size(): number;
  /** A larger size that the caller may try now; undefined while it is not time for that. */
  larger(): number | undefined;
  /** What came of it. */
  tried(larger: number, isTaken: boolean): void;
  /** The stream was given a page of this size and refused a larger one, before and after. */
  learn(size: number, stream: number): void;
}

/** Between two tries of a larger size, doubling with each that is refused. */
const FIRST_PAUSE_MS = 3_600_000;
const LONGEST_PAUSE_MS = 24 * 3_600_000;

/** `first` is never exceeded. */
export function createPageSize(first: number, clock: Clock): PageSize {
  let now = first;
  let found: { readonly size: number; readonly stream: number } | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  let tryAtMs = 0;

  return {
    size: () => now,
    larger() {
      const nowMs = clock.monotonicMs();
      if (now === first || nowMs < tryAtMs) return undefined;
      // Nobody else tries it meanwhile, nor soon if this try comes to nothing.
      tryAtMs = nowMs + pauseMs;
      return Math.min(first, 2 * now);
    },
    tried(larger, isTaken) {
      if (isTaken) {
        now = Math.max(now, larger);
        tryAtMs = 0;
      } else {
        pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs);
        tryAtMs = clock.monotonicMs() + pauseMs;
      }
    },
    learn(size, stream) {
      if (size >= now) return;
      if (!found || found.stream === stream) {
        found = { size, stream };
        return;
      }
      now = Math.min(now, Math.max(size, found.size));
      found = undefined;
      tryAtMs = clock.monotonicMs() + pauseMs;
    },
  };
}
