import { codeOf } from '../errors.ts';
import type { Lease } from '../store/ownership-store.ts';
import type { Store } from '../store/store.ts';

/**
 * The store for the owner of a duty: every transaction presents the lease first. If the lease was lost, nothing of the
 * transaction is committed, `lost` is called, and the transaction rejects with `lease_lost`.
 */
export function fencedStore(store: Store, lease: Lease, lost: () => void): Store {
  return {
    async transaction(work) {
      try {
        return await store.transaction(async (tx) => {
          await tx.ownership.check(lease);
          return work(tx);
        });
      } catch (error) {
        if (codeOf(error) === 'lease_lost') lost();
        throw error;
      }
    },
    space: () => store.space(),
    close: () => store.close(),
  };
}
