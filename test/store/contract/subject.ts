import type { Store, Transaction } from '../../../src/store/store.ts';

/** A store under the contract, fresh and empty. */
export interface Subject {
  readonly store: Store;
  /** Closes the store and opens the same data again. Absent where the data ends with the store. */
  readonly reopen?: () => Promise<Store>;
  /** Closes what is open and removes what is left. */
  close(): Promise<void>;
}

/** Runs work in a transaction of the test's own store. */
export type Run = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>;
