/**
 * One queue for all transactions, and one durable commit for those that wait at the same moment.
 *
 *   waiting → running → held → settled
 *
 * As in the queue of SQLite: the transactions that run while others wait share one `BEGIN … COMMIT`, a batch, each but
 * the first in a savepoint of its own, and nobody hears of theirs before the batch is committed. What a server makes
 * different:
 *
 * - Others may write: a batch that stood in their way is rolled back and runs once more, in the same order. What is long
 *   might stand in somebody's way each time: after a few tries it runs while none of the others has begun anything.
 * - The connection may break. Then nothing of the batch has happened, and all of it is rejected with `store_down`;
 *   unless it broke during the commit: `Session.commit` says whether that took place. What waits behind such a commit has
 *   not begun, and is rejected as well as long as the server is away: nobody is to take silence for health.
 */
import { NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import { endsStatementAlone, isWorthAnotherTry } from './postgres-failure.ts';
import type { Session } from './session.ts';

/** What shares one commit: more would gain little and make the first one wait. */
const MAX_BATCH = 64;
const MAX_BATCH_MS = 50;
/** So often a batch is run that stands in others' way. */
const MAX_TRIES = 20;
/** After so many tries each transaction is a batch by itself: what is shorter meets fewer others. */
const TRIES_TOGETHER = 2;
/** After so many the other processes wait meanwhile. */
const TRIES_BESIDE_OTHERS = 4;

const BEGIN = 'BEGIN ISOLATION LEVEL SERIALIZABLE';
/** Who locks a table before anything else sees what was committed until the lock was theirs. */
const BESIDE_OTHERS = `${BEGIN}; LOCK TABLE server IN ROW SHARE MODE`;
const WITHOUT_OTHERS = `${BEGIN}; LOCK TABLE server IN EXCLUSIVE MODE`;

export interface PostgresQueue {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Refuses new work and resolves when what is queued has settled. */
  drain(): Promise<void>;
}

interface Job {
  work(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Done {
  readonly job: Job;
  readonly value: unknown;
}

interface QueueOptions {
  readonly session: Session;
  readonly clock: Clock;
  /** Whether other processes have such a queue on the same tables, and each may have them to itself for a transaction. */
  readonly isShared: boolean;
  /** Called when something written was taken back: what was remembered of it is void. */
  readonly rolledBack: () => void;
}

export function createPostgresQueue({ session, clock, isShared, rolledBack }: QueueOptions): PostgresQueue {
  const waiting: Job[] = [];
  let working: Promise<void> | undefined;
  let draining = false;

  async function workOff(): Promise<void> {
    let tries = 0;
    while (waiting.length > 0) {
      // A commit is worth a turn of the event loop, in which answers that have arrived become transactions.
      await new Promise((resolve) => setImmediate(resolve));
      const unlucky = await runBatch(tries);
      tries = unlucky.length > 0 ? tries + 1 : 0;
      waiting.unshift(...unlucky);
    }
    working = undefined;
  }

  /** Runs those that wait; returns them again, in their order, where the whole batch is worth another try. */
  async function runBatch(tries: number): Promise<Job[]> {
    const held: Done[] = [];
    const mayTryAgain = tries + 1 < MAX_TRIES;
    const most = tries < TRIES_TOGETHER ? MAX_BATCH : 1;
    try {
      await session.ready();
      session.forget();
      await session.exec(!isShared ? BEGIN : tries < TRIES_BESIDE_OTHERS ? BESIDE_OTHERS : WITHOUT_OTHERS);
    } catch (error) {
      // It may have begun, and lack only the lock: what comes next on the connection would be refused with it.
      await session.exec('ROLLBACK').catch(() => {});
      // Those behind it ask for themselves: the server may be back by then.
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

  /** Fills `held`. Returns those that are to run once more; an empty list where the batch was taken back for good. */
  async function runWaiting(held: Done[], mayTryAgain: boolean, most: number): Promise<Job[] | undefined> {
    const startedMs = clock.monotonicMs();
    do {
      const job = waiting.shift()!;
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
    } while (waiting.length > 0 && held.length < most && clock.monotonicMs() - startedMs < MAX_BATCH_MS);
    return undefined;
  }

  /** Takes back what the last one did; false where the whole batch has to go with it. */
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
    // Where the connection is lost, so is the transaction.
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
