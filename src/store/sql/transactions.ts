import { isStoreFailure } from '../../errors.ts';
import type { Attempted, Store, Transaction } from '../store.ts';
import type { StoreRepositories } from './repositories.ts';

/** What transactions ask of their connection. */
interface Connected {
  /** Runs statements without results, exempt from the rule about failed transactions. */
  exec(sql: string): Promise<void> | void;
  /** The first failure of a statement since `forget`. */
  failure(): unknown;
  forget(): void;
}

/** Runs transactions one after the other, in the order in which they were asked for. */
export interface TransactionQueue {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Refuses new work, and resolves when what is queued has settled. */
  drain(): Promise<void>;
}

/** What waits in such a queue. */
export interface Job {
  work(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface TransactionOptions {
  readonly repositories: StoreRepositories;
  readonly connected: Connected;
  /** Whether the whole transaction is over after this failure, and not only the part in which it occurred. */
  readonly isOver: (failure: unknown) => boolean;
  readonly queue: Pick<TransactionQueue, 'run'>;
  readonly pause: () => Promise<void>;
}

export function createTransactions(options: TransactionOptions): Store['transaction'] {
  const { repositories, queue, pause } = options;
  const tx: Transaction = { ...repositories.all, attempt: (part) => attempt(options, part), pause };
  return (work) =>
    queue.run(async () => {
      repositories.begin();
      const result = await work(tx);
      await repositories.end();
      return result;
    });
}

/** Runs a part of a transaction in its own savepoint. */
async function attempt<T>(
  { connected, repositories, isOver }: TransactionOptions,
  part: () => Promise<T>,
): Promise<Attempted<T>> {
  // Writes held back so far belong to the transaction: they must not be rolled back with the part.
  await repositories.end();
  await connected.exec('SAVEPOINT part');
  try {
    const value = await part();
    if (connected.failure() !== undefined) throw connected.failure();
    await repositories.end();
    await connected.exec('RELEASE part');
    return { ok: true, value };
  } catch (error) {
    const failure = connected.failure() ?? error;
    if (isStoreFailure(failure) || isOver(failure)) throw failure;
    await connected.exec('ROLLBACK TO part; RELEASE part');
    connected.forget();
    repositories.rolledBack();
    return { ok: false, error: failure };
  }
}
