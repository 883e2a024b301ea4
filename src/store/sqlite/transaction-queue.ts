/**
 * Queues all transactions, and commits those that wait at the same moment durably together.
 *
 *   waiting → running → held → settled
 *
 * A transaction *waits* until the previous one has run. Those that run while others wait share one `BEGIN … COMMIT`,
 * a batch. All but the first have their own savepoint, so that a failing one rolls back only itself. A successful one
 * is *held* until the batch is committed; only then does its promise resolve. If the commit fails, or SQLite rolls
 * the batch back by itself, everything held is rejected and nothing of it remains.
 *
 * Another program may hold the lock for writing: Litestream at a checkpoint, an `sqlite3` shell, `VACUUM`. All wait for
 * it, while the event loop goes on. After a while whoever waits is rejected with `store_down`, as by a server that is
 * away, and then everybody at once until the lock is free, so that nobody mistakes silence for health.
 */
import { NestwatchError } from '../../errors.ts';
import { type Clock, type Patience, sleep, waitToOpen } from '../../time/clock.ts';
import type { Job, TransactionQueue } from '../sql/transactions.ts';
import { type Connection, isBusy, isFatal } from './connection.ts';

/** The limits of a batch: more would gain little and delay its first transaction. */
const MAX_BATCH = 64;
const MAX_BATCH_MS = 50;

/** How long another program may hold the lock before anybody is rejected: longer than a usual checkpoint. */
const PATIENCE_MS = 2_000;
/** How often the lock is tried meanwhile; a try takes microseconds. */
const LOCK_RETRY_MS = 20;

interface QueueOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  /** Resolves when transactions that are about to be queued have been queued. */
  readonly gather: () => Promise<void>;
  /** Called when something written was rolled back, so that nothing remembered of it is used. */
  readonly rolledBack: () => void;
}

export function createTransactionQueue({
  connection,
  clock,
  gather,
  rolledBack,
}: QueueOptions): TransactionQueue {
  const waiting: Job[] = [];
  let working: Promise<void> | undefined;
  let draining = false;
  let broken: { readonly error: unknown } | undefined;
  /** Since when another program has held the lock, as far as this one has tried. */
  let lockedMs: number | undefined;

  async function workOff(): Promise<void> {
    while (waiting.length > 0) {
      await gather();
      await runBatch();
    }
    working = undefined;
  }

  async function runBatch(): Promise<void> {
    const held: { readonly job: Job; readonly value: unknown }[] = [];
    const takeBack = (error: unknown) => {
      if (isFatal(error)) broken = { error };
      rollBack();
      for (const { job } of held) job.reject(error);
    };

    if (broken) return waiting.shift()!.reject(broken.error);
    try {
      connection.exec('BEGIN IMMEDIATE');
      lockedMs = undefined;
    } catch (error) {
      if (!isBusy(error)) return waiting.shift()!.reject(error);
      lockedMs ??= clock.monotonicMs();
      if (clock.monotonicMs() - lockedMs < PATIENCE_MS) return sleep(clock, LOCK_RETRY_MS);
      for (const job of waiting.splice(0)) job.reject(error);
      return;
    }
    const startedMs = clock.monotonicMs();
    do {
      const job = waiting.shift()!;
      const shared = held.length > 0;
      try {
        if (shared) connection.exec('SAVEPOINT one');
        connection.forget();
        const value = await job.work();
        if (connection.failure() !== undefined) throw connection.failure();
        if (shared) connection.exec('RELEASE one');
        held.push({ job, value });
      } catch (error) {
        job.reject(error);
        const failure = connection.failure() ?? error;
        // SQLite rolls back the whole batch by itself when the disk is full or fails.
        if (!shared || isFatal(failure) || !connection.isTransaction()) return takeBack(failure);
        try {
          connection.exec('ROLLBACK TO one; RELEASE one');
          rolledBack();
        } catch (worse) {
          return takeBack(worse);
        }
      }
    } while (waiting.length > 0 && held.length < MAX_BATCH && clock.monotonicMs() - startedMs < MAX_BATCH_MS);

    try {
      connection.exec('COMMIT');
    } catch (error) {
      return takeBack(error);
    }
    for (const { job, value } of held) job.resolve(value);
  }

  function rollBack(): void {
    rolledBack();
    if (!connection.isTransaction()) return;
    try {
      connection.exec('ROLLBACK');
    } catch (error) {
      broken = { error };
    }
  }

  return {
    run<T>(work: () => Promise<T>): Promise<T> {
      if (draining) return Promise.reject(new NestwatchError('cancelled', 'The store is closed.'));
      return new Promise<T>((resolve, reject) => {
        waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
        working ??= workOff();
      });
    },
    async drain() {
      draining = true;
      await working;
    },
  };
}

/** How a program that has locked the store is waited for: ten seconds by default. */
export type LockPatience = Omit<Patience, 'patienceMs'> & { readonly patienceMs?: number | undefined };

const LOCK_PATIENCE_MS = 10_000;

/** Calls `open` again until no other program has locked the store, or throws what it threw last. */
export function whenFree<T>(
  open: () => T | Promise<T>,
  { patienceMs = LOCK_PATIENCE_MS, ...patience }: LockPatience,
): Promise<T> {
  return waitToOpen(open, isBusy, LOCK_RETRY_MS, { ...patience, patienceMs });
}
