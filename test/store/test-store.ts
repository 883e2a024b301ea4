/** Stores as tests use them: `alerts.find('a')` is a transaction of this call alone. */
import { expect, onTestFinished } from 'vitest';
import type { ErrorCode } from '../../src/errors.ts';
import type { Repositories } from '../../src/store/sql/repositories.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store, Transaction } from '../../src/store/store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

/** Runs work in a transaction, as in `run(async (tx) => …)`, or a call in one of its own, as in `run.alerts.find('a')`. */
export type Run = (<T>(work: (tx: Transaction) => Promise<T>) => Promise<T>) & Repositories;

export type TestStore = Store & Repositories;

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

export function testStore(store: Store): TestStore {
  const run = runIn(() => store);
  const get = (own: Store, name: string) => Reflect.get(name in own ? own : run, name) as unknown;
  return new Proxy(store, { get }) as TestStore;
}

/** An error with this code, and this message. */
export const failure = (code: ErrorCode, message: unknown) => ({
  code,
  message: message instanceof RegExp ? expect.stringMatching(message) : message,
});

/** An empty store in memory, which closes when the test that opens it has ended. */
export async function openMemory(clock = createVirtualClock()): Promise<TestStore> {
  const store = await openSqliteStore({ path: ':memory:', clock });
  onTestFinished(() => store.close());
  return testStore(store);
}

const AGAIN = Symbol('again');

/** The same store if each transaction conflicts with another's: its work runs again, and nothing of the first run remains. */
export function runTwice(store: Store): TestStore {
  const transaction: Store['transaction'] = async (work) => {
    const first = store.transaction(async (tx) => {
      await work(tx);
      throw AGAIN;
    });
    await first.catch((error: unknown) => {
      if (error !== AGAIN) throw error;
    });
    return store.transaction(work);
  };
  return testStore({ ...store, transaction });
}
