/**
 * Shares of the requests. An account that used more than its share owes the rest, and the requests of all others pay
 * that debt off; no account saves up. So a stream that waits for its share gets it within a bounded time, and never
 * more than its share while others wait.
 */
export interface Account {
  /** Between 0 and 1. */
  readonly share: number;
  debt: number;
}

export interface Shares {
  open(share: number): Account;
  close(account: Account): void;
  /** Counts requests. `payer` is undefined for those of no account; `requests` is negative where too many were counted. */
  charge(payer: Account | undefined, requests: number): void;
}

export function createShares(): Shares {
  const accounts = new Set<Account>();
  return {
    open(share) {
      const account = { share, debt: 0 };
      accounts.add(account);
      return account;
    },
    close(account) {
      accounts.delete(account);
    },
    charge(payer, requests) {
      for (const account of accounts) {
        const change = account === payer ? (requests * (1 - account.share)) / account.share : -requests;
        account.debt = Math.max(0, account.debt + change);
      }
    },
  };
}
