/**
 * How many entries a page is asked for, one size for all paged streams of a region. What the service takes is not
 * documented, so its refusals teach it: a stream that is refused a page finds out by itself which size is taken, and
 * keeps to that. Only where two streams have found out the same kind of thing is it the service's limit, and every
 * stream's size. For one stream alone may be refused for what is in it, and all of them for a while.
 *
 *   first size ──learn, by one stream: its own; by two: of all──► smaller ──tried, taken──► larger …► first size
 *                                                                  │    ▲
 *                                                                  └────┘ tried, refused: the next try is twice as far off
 */
import type { Clock } from '../../time/clock.ts';

export interface PageSize {
  size(): number;
  /** A larger size that the caller may try now; undefined while it is not time for that. */
  larger(): number | undefined;
  /** The caller has tried the larger size, and it was taken or refused. */
  tried(larger: number, isTaken: boolean): void;
}

/** The size of all streams, as long as they have no smaller one of their own. */
export interface RegionPageSize extends PageSize {
  /**
   * The stream was given a page of this size and refused a larger one, before and after. Returns a size of its own,
   * to be used for as long as it is smaller than that of all.
   */
  learn(size: number, stream: number): PageSize;
}

/** Between two tries of a larger size, doubling with each that is refused. */
const FIRST_PAUSE_MS = 3_600_000;
/** The same of one stream's own size: it may have met no more than a fault. */
const FIRST_OWN_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 24 * 3_600_000;

/** `first` is never exceeded. */
export function createPageSize(first: number, clock: Clock): RegionPageSize {
  const shared = createSize(first, FIRST_PAUSE_MS, clock);
  let found: { readonly size: number; readonly stream: number } | undefined;

  function learnForAll(size: number, stream: number): void {
    if (size >= shared.size()) return;
    if (!found || found.stream === stream) {
      found = { size, stream };
      return;
    }
    shared.shrink(Math.max(size, found.size));
    found = undefined;
  }

  return {
    ...shared,
    learn(size, stream) {
      learnForAll(size, stream);
      const own = createSize(first, FIRST_OWN_PAUSE_MS, clock);
      own.shrink(size);
      return own;
    },
  };
}

function createSize(
  first: number,
  firstPauseMs: number,
  clock: Clock,
): PageSize & { shrink(size: number): void } {
  let now = first;
  let pauseMs = firstPauseMs;
  let tryAtMs = 0;

  return {
    size: () => now,
    larger() {
      const nowMs = clock.monotonicMs();
      if (now === first || nowMs < tryAtMs) return undefined;
      // No other stream tries it meanwhile, nor soon if this try comes to nothing.
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
    shrink(size) {
      now = size;
      tryAtMs = clock.monotonicMs() + pauseMs;
    },
  };
}
