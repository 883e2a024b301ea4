/**
 * Learns the page size that the service accepts, for all paged streams of a region. The limit is undocumented, so it is
 * learned from refusals. A stream whose page is refused finds out which size is accepted, and uses it. Once a second
 * stream has found a smaller size too, the limit is the service's and applies to every stream. A single stream may be
 * refused because of its contents, and all of them may be refused for a while.
 *
 *   first size ──learned by one stream: for itself; by two: for all──► smaller ──accepted──► larger …► first size
 *                                                                       │    ▲
 *                                                                       └────┘ refused: waits twice as long
 */
import type { Clock } from '../../time/clock.ts';

export interface PageSize {
  size(): number;
  /** A larger size that the caller may try now; undefined if it is not time for that. */
  larger(): number | undefined;
  /** The caller has tried the larger size, and it was accepted or refused. */
  tried(larger: number, isTaken: boolean): void;
}

/** The size of all streams that have no smaller one of their own. */
export interface RegionPageSize extends PageSize {
  /**
   * The stream was given a page of this size, and refused a larger one both before and after. Returns the stream's
   * own size, to be used while it is smaller than the common one.
   */
  learn(size: number, stream: number): PageSize;
}

/** The time between two tries of a larger size. It doubles with each refusal. */
const FIRST_PAUSE_MS = 3_600_000;
/** The same for a stream's own size, which may only be due to a temporary failure. */
const FIRST_OWN_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 24 * 3_600_000;

/** Sizes never exceed `first`. */
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
      // No other stream tries it meanwhile, nor soon after if this try fails.
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
