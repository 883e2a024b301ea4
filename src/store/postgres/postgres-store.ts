/**
 * THE STORE ON POSTGRESQL, beside the one on SQLite and with the same promise (`store.ts`).
 *
 * Why two engines need two ways to run statements: a statement in SQLite is a synchronous call, and its speed rests on
 * that (rows bound one by one in chunks, numbers assigned in memory, index hints). A statement here is a round trip, and
 * speed means fewer of them: a page of entries is one statement that also tells what was new, a claim is one, and numbers
 * come from the server because others write too. What the statements say is written once for both (`../sql/sql.ts`);
 * where one needs another plan or feature, its two texts stand side by side. One contract test covers both.
 *
 * SEVERAL PROCESSES AT ONCE. Every transaction is SERIALIZABLE: most repositories read, let the domain decide, and
 * write back. Some decisions span rows (whose turn it is in a lane, which alerts wait to be routed), and no weaker level
 * detects that two of them conflict. One of the two is then retried from its beginning. What that level does not
 * cover:
 *
 * - What `INSERT … ON CONFLICT DO NOTHING` found: rows that may be deleted meanwhile are written instead.
 * - Numbers are assigned before they are committed. Digests count up to the newest event: see
 *   `arrivals` in `../sql/alerted/digests.ts`.
 * - How long a transaction waits: the locks of a suspended process last until its transaction is ended
 *   (`SHARED_LIMITS`). Claims and removals of replicas skip locked rows, and each process counts deliveries in its
 *   own rows.
 *
 * Nothing that others can change is remembered between transactions. Remembered are only the kind of a stream, which
 * never changes, silences by their whole text, and where retention continues.
 *
 *   session.ts         a connection: its locks, how it is lost and restored, whether a commit took place, and a server
 *                      that lacks what it has confirmed
 *   postgres-wakes.ts  how replicas wake each other
 *   postgres-queue.ts  transactions in order, several in one commit, retried on conflicts
 *   migrate.ts         runs the steps of `../versions/steps.ts` that are missing, the first of which is in `../versions/tables.ts`
 *   postgres-sql.ts    what the repositories (`../sql`) run, after the writes held back that a statement could see
 */
import { setImmediate } from 'node:timers/promises';
import { NestwatchError } from '../../errors.ts';
import { type Clock, createStoreClock, sleep } from '../../time/clock.ts';
import { createRepositories, type StoreRepositories } from '../sql/repositories.ts';
import type { Statements } from '../sql/sql.ts';
import { createTransactions, type TransactionQueue } from '../sql/transactions.ts';
import type { OpenStore, Store, StoreSpace, Turns } from '../store.ts';
import type { Step, TableChange } from '../versions/steps.ts';
import { doneSteps, migrate } from './migrate.ts';
import type { PostgresPlace } from './postgres-client.ts';
import { isWorthAnotherTry } from './postgres-failure.ts';
import { createPostgresQueue } from './postgres-queue.ts';
import { PostgresSql } from './postgres-sql.ts';
import { openPostgresWakes } from './postgres-wakes.ts';
import { Session } from './session.ts';

interface PostgresStoreOptions {
  readonly place: PostgresPlace;
  readonly clock: Clock;
  /**
   * Whether other processes may use the same schema at the same time; they divide the work by leases
   * (`ownership-store.ts`).
   */
  readonly isShared?: boolean;
  /** Called before the tables of an existing store are changed. */
  readonly changing?: ((change: TableChange) => void) | undefined;
  /** Those of this version by default. */
  readonly steps?: readonly Step[] | undefined;
}

/** How long a closing store waits for the outcome of its last commit. */
const CLOSING_MS = 5_000;

/**
 * Opens the store. Throws `store_locked` while another process uses it and one of the two does not share it,
 * `store_newer`, `store_other`, `store_down` if the server does not answer or refuses, or `config_invalid` for a schema of another
 * program; in all these cases nothing is changed.
 */
export async function openPostgresStore({
  place,
  clock: own,
  isShared = false,
  changing,
  steps,
}: PostgresStoreOptions): Promise<OpenStore> {
  const storeClock = createStoreClock(own);
  const clock = isShared ? storeClock : own;
  let forget = () => {};
  const session: Session = new Session({
    place,
    clock,
    isShared,
    connected: () => forget(),
    prepare: async (statements, alone) => {
      await migrate({ statements, exec: (sql) => session.exec(sql), ...place, alone, changing, steps });
    },
    again: checkTables(place, steps),
  });
  try {
    await session.ready();
    const repositories = repositoriesOf(session, clock);
    forget = repositories.rolledBack;
    const inner = createStore(session, clock, repositories, isShared);
    const askedMs = clock.monotonicMs();
    if (isShared) storeClock.heard((await inner.transaction((tx) => tx.ownership.view())).nowUs, askedMs);
    if (!isShared) return { store: inner, sharing: undefined };
    const turns = openTurns({ place, clock, steps });
    const wakes = await openPostgresWakes({ place, clock });
    const close = () => Promise.all([inner.close(), turns.close(), wakes.close()]).then(() => {});
    const prompt = createPromptStore(inner, turns, clock);
    return { store: { ...inner, close }, sharing: { wakes, turns, prompt, storeClock } };
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** Brings a store to the newest version of the tables, or makes a new one. Throws as `openPostgresStore` does. */
export async function migratePostgresStore({
  place,
  clock,
  changing,
  steps,
}: Omit<PostgresStoreOptions, 'isShared'>): Promise<TableChange> {
  let change: TableChange | undefined;
  const session: Session = new Session({
    ...{ place, clock, isShared: true },
    async prepare(statements, alone) {
      change = await migrate({
        statements,
        exec: (sql) => session.exec(sql),
        ...place,
        alone,
        changing,
        steps,
      });
    },
  });
  try {
    await session.ready();
    return change!;
  } finally {
    await session.close();
  }
}

function checkTables({ schema, shown }: PostgresPlace, steps: PostgresStoreOptions['steps']) {
  return async (statements: Statements) => {
    await doneSteps(statements, schema, shown, steps);
  };
}

/**
 * Opens a second connection to the same tables on first use, which does not wait for long transactions of this
 * process. Concurrent requests on it run one after another.
 */
function openTurns({ place, clock, steps }: PostgresStoreOptions): Turns & Pick<Store, 'close'> {
  const again = checkTables(place, steps);
  const session = new Session({ place, clock, isShared: true, prepare: again, again });
  const repositories = repositoriesOf(session, clock);
  const { transaction, close } = createStore(session, clock, repositories, false);
  let last: Promise<unknown> = Promise.resolve();
  function inTurn<T>(ask: () => Promise<T>): Promise<T> {
    const answered = last.then(ask);
    last = answered.catch(() => {});
    return answered;
  }
  /** A single statement is a transaction by itself. */
  async function alone<T>(ask: (ownership: StoreRepositories['all']['ownership']) => Promise<T>): Promise<T> {
    await session.ready();
    session.forget();
    try {
      return await ask(repositories.all.ownership);
    } catch (error) {
      // A newer replica has just changed the tables.
      if (!isWorthAnotherTry(error)) throw error;
      session.forget();
      return ask(repositories.all.ownership);
    }
  }
  return {
    transaction: (work) => inTurn(() => transaction(work)),
    renew: (...of) => inTurn(() => alone((ownership) => ownership.renew(...of))),
    shown: () => inTurn(() => alone((ownership) => ownership.shown())),
    close,
  };
}

function createStore(
  session: Session,
  clock: Clock,
  repositories: StoreRepositories,
  isShared: boolean,
): Store {
  const queue = createPostgresQueue({ session, clock, isShared, rolledBack: repositories.rolledBack });
  let closed: Promise<void> | undefined;

  async function close(): Promise<void> {
    // A commit with an unknown outcome must not keep the process from ending.
    const giveUp = clock.setTimer(CLOSING_MS, () => session.giveUp());
    await queue.drain();
    giveUp();
    await session.close();
  }

  return {
    transaction: createTransactions({
      repositories,
      connected: session,
      // A conflict that a retry of the whole transaction may resolve is not a failure of the part.
      isOver: isWorthAnotherTry,
      queue,
      // Much work may follow on what was read, so the event loop turns between two statements.
      pause: () => setImmediate(),
    }),
    space: createSpace(session, queue.run, clock),
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** How often the size is queried. */
const SPACE_EVERY_MS = 60_000;

const BYTES = `SELECT sum(pg_total_relation_size(oid))::bigint AS bytes FROM pg_class
  WHERE relnamespace = to_regnamespace(current_schema()) AND relkind = 'r'`;

/** The tables' size when last queried. The server's disk cannot be seen from here. */
function createSpace(session: Session, run: TransactionQueue['run'], clock: Clock): Store['space'] {
  let space: StoreSpace | undefined;
  let askedMs = Number.NEGATIVE_INFINITY;
  async function ask(): Promise<void> {
    const row = await session.first<{ bytes: number }>(BYTES);
    space = { used: row!.bytes, free: undefined, whole: 0 };
  }
  return () => {
    if (clock.monotonicMs() - askedMs >= SPACE_EVERY_MS) {
      askedMs = clock.monotonicMs();
      // Whoever writes to the store gets the error.
      run(ask).catch(() => {});
    }
    return space;
  };
}

function repositoriesOf(session: Session, clock: Clock): StoreRepositories {
  return createRepositories(new PostgresSql(session), clock, () => session.slot);
}

// The prompt store: a view of a store on a server for those who wait for an answer, such as people and scrapes. If the server falls
// silent, their transactions fail with `store_down` within `LOOK_MS + ANSWER_MS`, while the watch itself waits until
// the connection is known to be lost.
//
// A slow statement is no silence, since a server that is there answers a question on another connection meanwhile.
// One that has not answered such a question is not asked another one: until it answers, everybody is refused at once.

/** How long a transaction may take before the server is asked whether it is there. */
const LOOK_MS = 1_000;
/** How long it may take to answer that. */
const ANSWER_MS = 1_500;

function createPromptStore(store: Store, turns: Turns, clock: Clock): Store {
  /** The question that the server has not answered yet. */
  let question: { readonly askedMs: number; readonly answered: Promise<unknown> } | undefined;

  function ask(): NonNullable<typeof question> {
    const answered = turns.shown().then(
      () => undefined,
      (error: unknown) => error,
    );
    const asked = { askedMs: clock.monotonicMs(), answered };
    question = asked;
    void answered.then(() => {
      if (question === asked) question = undefined;
    });
    return asked;
  }

  /** Resolves to why the server cannot be used, or to undefined if it answers. */
  async function obstacle(signal: AbortSignal): Promise<unknown> {
    const { askedMs, answered } = question ?? ask();
    const late = sleep(clock, askedMs + ANSWER_MS - clock.monotonicMs(), signal).then(async () => {
      // If this process stood still, an answer may have arrived that was not read yet.
      await setImmediate();
      await setImmediate();
      return new NestwatchError('store_down', 'The server of the store does not answer.');
    });
    return Promise.race([answered, late]);
  }

  return {
    async transaction<T>(work: Parameters<typeof store.transaction<T>>[0]): Promise<T> {
      if (question && clock.monotonicMs() - question.askedMs >= ANSWER_MS) {
        const found = await obstacle(AbortSignal.abort());
        if (found !== undefined) throw found;
      }
      let refusal: unknown;
      let isWorkDone = false;
      const refuse = () => {
        if (refusal !== undefined) throw refusal;
      };
      const ending = new AbortController();
      const answer = store
        .transaction(async (tx) => {
          isWorkDone = false;
          refuse();
          const value = await work(tx);
          // Whoever was refused is told the truth: nothing is committed.
          refuse();
          isWorkDone = true;
          return value;
        })
        .finally(() => ending.abort());
      const silence = (async () => {
        for (;;) {
          await sleep(clock, LOOK_MS, ending.signal);
          if (ending.signal.aborted) return answer;
          const found = await obstacle(ending.signal);
          // From now on only the commit itself tells whether it takes place.
          if (found === undefined || isWorkDone) continue;
          refusal = found;
          throw found;
        }
      })();
      answer.catch(() => {});
      return Promise.race([answer, silence]);
    },
    space: () => store.space(),
    close: () => store.close(),
  };
}
