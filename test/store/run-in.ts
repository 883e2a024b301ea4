import type { Repositories } from '../../src/store/sql/repositories.ts';
import type { Store, Transaction } from '../../src/store/store.ts';

/** Runs work in a transaction of the test's store; `run.alerts.find('a')` is a transaction of this call alone. */
export type Run = (<T>(work: (tx: Transaction) => Promise<T>) => Promise<T>) & Repositories;

type Method = (...given: readonly unknown[]) => Promise<unknown>;
type Repository = Readonly<Record<string, Method>>;

/** `store` is asked for at each call, because tests open it again. */
export function runIn(store: () => Pick<Store, 'transaction'>): Run {
  const run = <T>(work: (tx: Transaction) => Promise<T>) => store().transaction(work);
  const alone = (name: string) => (_: object, method: string) => {
    return (...given: readonly unknown[]) =>
      run((tx) => (tx as unknown as Record<string, Repository>)[name]![method]!(...given));
  };
  return new Proxy(run, { get: (_, name: string) => new Proxy({}, { get: alone(name) }) }) as unknown as Run;
}
