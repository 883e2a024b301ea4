/**
 * How long a Bird's stream may wait at the most, so that a wrong guess about it costs a bounded time: a multiple of
 * the interval that each stream of its feed would have if all of a feed were polled in turn, and the feeds as often as
 * the square-root law says. With intervals Tᵢ that are the same within a feed, Σ λᵢ·Tᵢ/2 is least where Tᵢ is in
 * proportion to √(cost/λᵢ).
 */

/** All streams of a feed, as averages. */
export interface FeedLoad {
  readonly streams: number;
  /** Requests of one poll. */
  readonly cost: number;
  /** Expected new entries of a stream per millisecond. */
  readonly ratePerMs: number;
}

/**
 * How many times the interval in turn. At 1.5 the mean delay is a few percent longer than it could be, whatever the
 * rates; at 1 nothing is left for where news is expected.
 */
const FAIR_WAIT = 1.5;

/**
 * The limit of each feed in milliseconds, at most `mostMs`, when so many requests per millisecond are theirs. Where
 * those do not do for `mostMs`, each feed has that.
 */
export function fairLimitsMs(
  feeds: readonly FeedLoad[],
  requestsPerMs: number,
  mostMs: number,
): readonly number[] {
  let leftPerMs = requestsPerMs;
  const atMost = new Set<FeedLoad>();
  for (;;) {
    const shared = feeds.filter((feed) => !atMost.has(feed));
    const total = shared.reduce(
      (sum, { streams, cost, ratePerMs }) => sum + streams * Math.sqrt(cost * ratePerMs),
      0,
    );
    const inTurnMs = ({ cost, ratePerMs }: FeedLoad) => (total / leftPerMs) * Math.sqrt(cost / ratePerMs);
    // Feeds that the law would let wait too long take more than their part, and leave less to the others.
    const slow = shared.filter((feed) => inTurnMs(feed) > mostMs);
    if (slow.length === 0) {
      return feeds.map((feed) => (atMost.has(feed) ? mostMs : Math.min(mostMs, FAIR_WAIT * inTurnMs(feed))));
    }
    for (const feed of slow) {
      atMost.add(feed);
      leftPerMs -= (feed.streams * feed.cost) / mostMs;
    }
    if (leftPerMs <= 0) return feeds.map(() => mostMs);
  }
}
