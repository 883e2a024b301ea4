import type { Store, Transaction } from '../../src/store/store.ts';

/** Methods, by part of the transaction, that replace its own. */
export type ChangedRepositories = {
  readonly [Room in Exclude<keyof Transaction, 'attempt' | 'pause'>]?: Partial<Transaction[Room]>;
};

/**
 * The transaction with these methods replacing its own. The parts may be instances of classes, so a plain copy would
 * lack their methods.
 */
export function changed(tx: Transaction, repositories: ChangedRepositories): Transaction {
  const replaced = Object.entries(repositories).map(([name, methods]) => {
    const repository = tx[name as keyof ChangedRepositories];
    return [
      name,
      new Proxy(repository, { get: (_, method) => own(methods, method) ?? own(repository, method) }),
    ];
  });
  return { ...tx, ...Object.fromEntries(replaced) };
}

/** The store with such transactions. */
export function changedStore(store: Store, change: (tx: Transaction) => ChangedRepositories): Store {
  return { ...store, transaction: (work) => store.transaction((tx) => work(changed(tx, change(tx)))) };
}

/** Counts what is done in all, and the most of it between two pauses, which end a row. */
export function countInARow() {
  const done = { most: 0, all: 0 };
  let row = 0;
  return {
    done,
    count(more = 1) {
      row += more;
      done.all += more;
      done.most = Math.max(done.most, row);
    },
    async pause() {
      row = 0;
    },
  };
}

function own(repository: object, name: string | symbol): unknown {
  const method: unknown = Reflect.get(repository, name);
  return typeof method === 'function' ? method.bind(repository) : method;
}
