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
  /** A poll begins, and is expected to take so many requests. `payer` is undefined for one of no account. */
  begin(payer: Account | undefined, expected: number): void;
  /** It took so many. Only now they pay off the debts of others: a payment could not be taken back from who owes nothing. */
  end(payer: Account | undefined, expected: number, requests: number): void;
}

/** What others have to use before these requests are no more than the account's share. */
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
