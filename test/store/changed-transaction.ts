import type { Transaction } from '../../src/store/store.ts';

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

function own(repository: object, name: string | symbol): unknown {
  const method: unknown = Reflect.get(repository, name);
  return typeof method === 'function' ? method.bind(repository) : method;
}
