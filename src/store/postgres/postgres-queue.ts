/**
 * Queues all transactions, and commits those that wait at the same moment durably together.
 *
 *   waiting → running → held → settled
 *
 * As in the queue of SQLite, the transactions that run while others wait share one `BEGIN … COMMIT`, a batch. All but
 * the first have their own savepoint, and no promise resolves before the batch is committed. What a server changes:
 *
 * - Others may write. A batch sees what was committed when it began, so transactions queued later wait for the next
 *   one: a silence that was just created at one replica is known to whichever is asked next. A batch that conflicts
 *   with others is rolled back and retried in the same order. A long one might conflict each time, so after a few
 *   attempts it runs while the other processes' transactions wait.
 * - The connection may break. Then nothing of the batch has happened, and all of it is rejected with `store_down`. If
 *   it broke during the commit, `Session.commit` finds out whether the commit took place. Transactions that wait
 *   behind such a commit have not begun, and are rejected as well while the server is away, so that nobody mistakes
 *   silence for health.
 */
import { NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import type { Job, TransactionQueue } from '../sql/transactions.ts';
import { endsStatementAlone, isWorthAnotherTry } from './postgres-failure.ts';
import type { Session } from './session.ts';

/** The limits of a batch: more would gain little and delay its first transaction. */
const MAX_BATCH = 64;
const MAX_BATCH_MS = 50;
/** How often a batch that conflicts with others is run. */
const MAX_TRIES = 20;
/** After this many attempts each transaction is a batch of its own: shorter ones conflict less. */
const TRIES_TOGETHER = 2;
/** After this many attempts the other processes wait meanwhile. */
const TRIES_BESIDE_OTHERS = 4;

const BEGIN = 'BEGIN ISOLATION LEVEL SERIALIZABLE';
/** A transaction that begins with a table lock sees everything that was committed before it got the lock. */
const BESIDE_OTHERS = `${BEGIN}; LOCK TABLE server IN ROW SHARE MODE`;
const WITHOUT_OTHERS = `${BEGIN}; LOCK TABLE server IN EXCLUSIVE MODE`;

interface Done {
  readonly job: Job;
  readonly value: unknown;
}

interface QueueOptions {
  readonly session: Session;
  readonly clock: Clock;
  /**
   * Whether other processes have such queues on the same tables, so that one may need the tables for itself for a
   * transaction.
   */
  readonly isShared: boolean;
  /** Called when something written was rolled back, so that nothing remembered of it is used. */
  readonly rolledBack: () => void;
}

export function createPostgresQueue({
  session,
  clock,
  isShared,
  rolledBack,
}: QueueOptions): TransactionQueue {
  const waiting: Job[] = [];
  let working: Promise<void> | undefined;
  let draining = false;

  async function workOff(): Promise<void> {
    let tries = 0;
    while (waiting.length > 0) {
      // A commit is worth one turn of the event loop, in which answers that have arrived become transactions.
      await new Promise((resolve) => setImmediate(resolve));
      const unlucky = await runBatch(tries);
      tries = unlucky.length > 0 ? tries + 1 : 0;
      waiting.unshift(...unlucky);
    }
    working = undefined;
  }

  /** Runs the waiting transactions. Returns them in their order if the whole batch should be retried. */
  async function runBatch(tries: number): Promise<Job[]> {
    const held: Done[] = [];
    const mayTryAgain = tries + 1 < MAX_TRIES;
    let most = tries < TRIES_TOGETHER ? MAX_BATCH : 1;
    try {
      await session.ready();
      // Those queued later may know of something that another process commits after this one has begun.
      if (isShared) most = Math.min(most, waiting.length);
      session.forget();
      await session.exec(!isShared ? BEGIN : tries < TRIES_BESIDE_OTHERS ? BESIDE_OTHERS : WITHOUT_OTHERS);
    } catch (error) {
      // The transaction may have begun and only lack the lock; without a rollback the next statement would fail.
      await session.exec('ROLLBACK').catch(() => {});
      // The transactions behind it try by themselves: the server may be back by then.
      waiting.shift()!.reject(error);
      return [];
    }
    const again = await runWaiting(held, mayTryAgain, most);
    if (again) return again;
    if (held.length === 0) return [];
    try {
      if (await session.commit(rejectWaiting)) for (const { job, value } of held) job.resolve(value);
      else
        rejectAll(
          held,
          new NestwatchError('store_down', 'The connection broke before the commit took place.'),
        );
      return [];
    } catch (error) {
      await takeBack();
      if (mayTryAgain && isWorthAnotherTry(error)) return held.map(({ job }) => job);
      rejectAll(held, error);
      return [];
    }
  }

  /** Fills `held`. Returns the transactions to retry; an empty list if the batch was rolled back for good. */
  async function runWaiting(held: Done[], mayTryAgain: boolean, most: number): Promise<Job[] | undefined> {
    const startedMs = clock.monotonicMs();
    let taken = 0;
    do {
      const job = waiting.shift()!;
      taken += 1;
      const isFirst = held.length === 0;
      try {
        if (!isFirst) await session.exec('SAVEPOINT one');
        session.forget();
        const value = await job.work();
        if (session.failure() !== undefined) throw session.failure();
        if (!isFirst) await session.exec('RELEASE one');
        held.push({ job, value });
      } catch (error) {
        const failure = session.failure() ?? error;
        if (mayTryAgain && isWorthAnotherTry(failure)) {
          await takeBack();
          return [...held.map((one) => one.job), job];
        }
        job.reject(error);
        if (await isTakenBackAlone(isFirst, failure)) continue;
        await takeBack();
        rejectAll(held, failure);
        return [];
      }
    } while (waiting.length > 0 && taken < most && clock.monotonicMs() - startedMs < MAX_BATCH_MS);
    return undefined;
  }

  /** Rolls back the last transaction; false if the whole batch must be rolled back. */
  async function isTakenBackAlone(isFirst: boolean, failure: unknown): Promise<boolean> {
    const isOfStore = failure instanceof NestwatchError && failure.code.startsWith('store_');
    if (isFirst || (isOfStore && !endsStatementAlone(failure))) return false;
    try {
      await session.exec('ROLLBACK TO one; RELEASE one');
      rolledBack();
      return true;
    } catch {
      return false;
    }
  }

  async function takeBack(): Promise<void> {
    rolledBack();
    // If the connection is lost, so is the transaction.
    await session.exec('ROLLBACK').catch(() => {});
  }

  function rejectWaiting(error: unknown): void {
    for (const job of waiting.splice(0)) job.reject(error);
  }

  function rejectAll(held: readonly Done[], error: unknown): void {
    for (const { job } of held) job.reject(error);
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
