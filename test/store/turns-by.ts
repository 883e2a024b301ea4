import type { Store, Turns } from '../../src/store/store.ts';

/** Turns by a store's transactions, where it has no way of its own for them. */
export function turnsBy(store: Pick<Store, 'transaction'>): Turns {
  return {
    transaction: (work) => store.transaction(work),
    renew: (...of) => store.transaction((tx) => tx.ownership.renew(...of)),
    shown: () => store.transaction((tx) => tx.ownership.shown()),
  };
}
