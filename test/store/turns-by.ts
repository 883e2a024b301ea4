import type { Store, Turns } from '../../src/store/store.ts';

/** Processes turns in transactions of a store that has no other way for them. */
export function turnsBy(store: Pick<Store, 'transaction'>): Turns {
  return {
    transaction: (work) => store.transaction(work),
    renew: (...of) => store.transaction((tx) => tx.ownership.renew(...of)),
    shown: () => store.transaction((tx) => tx.ownership.shown()),
  };
}
