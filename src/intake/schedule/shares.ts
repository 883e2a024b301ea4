/** Divides the requests: among regular streams by shares, and among the feeds of Birds by how long each may wait. */

export interface Account {
  /** Between 0 and 1. */
  readonly share: number;
  debt: number;
}

/**
 * Divides requests into shares. An account that used more than its share is in debt, and the requests of all others
 * pay the debt off. Unused shares are not saved up. So a stream that waits for its share gets it within a bounded
 * time, and never more than its share while others wait.
 */
export class Shares {
  readonly #accounts = new Set<Account>();

  open(share: number): Account {
    const account = { share, debt: 0 };
    this.#accounts.add(account);
    return account;
  }

  close(account: Account): void {
    this.#accounts.delete(account);
  }

  /** A poll begins and is expected to take this many requests. `payer` is undefined if it has no account. */
  begin(payer: Account | undefined, expected: number): void {
    if (payer && this.#accounts.has(payer)) payer.debt += owed(payer, expected);
  }

  /**
   * The poll took this many requests. They pay off the debts of other accounts only now, because a payment could not
   * be undone for an account without debt.
   */
  end(payer: Account | undefined, expected: number, requests: number): void {
    for (const account of this.#accounts) {
      const change = account === payer ? owed(payer, requests - expected) : -requests;
      account.debt = Math.max(0, account.debt + change);
    }
  }
}

/** How many requests others have to use before these are no more than the account's share. */
function owed({ share }: Account, requests: number): number {
  return (requests * (1 - share)) / share;
}

// Computes the longest wait of the streams in each feed, so that a wrong guess about one costs a bounded time. It is
// a multiple of the interval that the feed's streams would have if they were polled in turn, with the requests
// divided among the feeds by the square-root law: if all streams of a feed have the same interval Tᵢ, Σ λᵢ·Tᵢ/2 is
// least if Tᵢ is proportional to √(cost/λᵢ).

/** All streams of a feed, as averages. */
interface FeedLoad {
  readonly streams: number;
  /** The requests of one poll. */
  readonly cost: number;
  /** The expected new entries of a stream per millisecond. */
  readonly ratePerMs: number;
}

/**
 * The multiple of that interval. At 1.5 the mean delay is at most a few percent longer than possible, whatever the
 * rates are. At 1 nothing would be left for streams where new entries are expected.
 */
const FAIR_WAIT = 1.5;

interface FairLimit {
  readonly limitMs: number;
  /** Whether so few entries are expected that by the law it would be polled even more rarely. */
  readonly isQuiet: boolean;
}

/**
 * The limit of each feed, at most `mostMs`, if the feeds get `requestsPerMs`. If these requests are too few for
 * `mostMs`, each feed gets `mostMs`.
 */
export function fairLimits(
  feeds: readonly FeedLoad[],
  requestsPerMs: number,
  mostMs: number,
): readonly FairLimit[] {
  let leftPerMs = requestsPerMs;
  const atMost = new Set<FeedLoad>();
  for (;;) {
    const shared = feeds.filter((feed) => !atMost.has(feed));
    const total = shared.reduce(
      (sum, { streams, cost, ratePerMs }) => sum + streams * Math.sqrt(cost * ratePerMs),
      0,
    );
    const inTurnMs = ({ cost, ratePerMs }: FeedLoad) => (total / leftPerMs) * Math.sqrt(cost / ratePerMs);
    // Feeds whose limit would be too long get more than the law gives them, which leaves less to the others.
    const slow = shared.filter((feed) => inTurnMs(feed) > mostMs);
    if (slow.length === 0) {
      return feeds.map((feed) => {
        const isQuiet = atMost.has(feed);
        return { isQuiet, limitMs: isQuiet ? mostMs : Math.min(mostMs, FAIR_WAIT * inTurnMs(feed)) };
      });
    }
    for (const feed of slow) {
      atMost.add(feed);
      leftPerMs -= (feed.streams * feed.cost) / mostMs;
    }
    if (leftPerMs <= 0) return feeds.map(() => ({ isQuiet: false, limitMs: mostMs }));
  }
}
