/**
 * Divides requests into shares. An account that used more than its share is in debt, and the requests of all others
 * pay the debt off. Unused shares are not saved up. So a stream that waits for its share gets it within a bounded
 * time, and never more than its share while others wait.
 */
export interface Account {
  /** Between 0 and 1. */
  readonly share: number;
  debt: number;
}

export interface Shares {
  open(share: number): Account;
  close(account: Account): void;
  /** A poll begins and is expected to take this many requests. `payer` is undefined if it has no account. */
  begin(payer: Account | undefined, expected: number): void;
  /**
   * The poll took this many requests. They pay off the debts of other accounts only now, because a payment could not
   * be undone for an account without debt.
   */
  end(payer: Account | undefined, expected: number, requests: number): void;
}

/** How many requests others have to use before these are no more than the account's share. */
function owed({ share }: Account, requests: number): number {
  return (requests * (1 - share)) / share;
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
    begin(payer, expected) {
      if (payer && accounts.has(payer)) payer.debt += owed(payer, expected);
    },
    end(payer, expected, requests) {
      for (const account of accounts) {
        const change = account === payer ? owed(payer, requests - expected) : -requests;
        account.debt = Math.max(0, account.debt + change);
      }
    },
  };
}
