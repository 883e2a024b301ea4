import type { Store } from '../../../src/store/store.ts';

/** A fresh and empty store under the contract. */
export interface Subject {
  readonly store: Store;
  /** Closes the store and opens the same data again. Absent if the data is lost when the store closes. */
  readonly reopen?: () => Promise<Store>;
  /** Closes what is open and removes what is left. */
  close(): Promise<void>;
}
