/**
 * THE STORE ON POSTGRESQL, beside the one on SQLite and with the same promise (`store.ts`).
 *
 * Why two stores side by side, rather than one set of statements for both engines: a statement in SQLite is a
 * synchronous call, and its speed rests on that (rows bound one by one in chunks, numbers assigned in memory, index
 * hints). A statement here is a round trip, and speed means fewer of them: a page of entries is one statement that
 * also tells what was new, a claim is one, and numbers come from the server because others write too. Of 180
 * statements about a third would have the same text. Adding a column costs a line in two schemas, two statements and
 * two row types; an abstraction would save one of each, and make every line of the hot path await a promise. What is
 * not SQL (what a row's text holds, how it becomes a record, how people find it, which writes are held back until
 * they could be seen, what is read ahead) is shared, and one contract test covers both.
 *
 * SEVERAL PROCESSES AT ONCE. Every transaction is SERIALIZABLE: most repositories read, let the domain decide, and
 * write back. Some decisions span rows (whose turn it is in a lane, which alerts wait to be routed), and no weaker level
 * detects that two of them conflict. One of the two is then retried from its beginning. What that level does not
 * cover:
 *
 * - What `INSERT … ON CONFLICT DO NOTHING` found: rows that may be deleted meanwhile are written instead.
 * - Numbers are assigned before they are committed. Digests count up to the newest event: see
 *   `PostgresDigests.arrivals`.
 * - How long a transaction waits: the locks of a suspended process last until its transaction is ended
 *   (`SHARED_LIMITS`). Claims and removals of replicas skip locked rows, and each process counts deliveries in its
 *   own rows.
 *
 * Nothing that others can change is remembered between transactions. Remembered are only the kind of a stream, which
 * never changes, silences by their whole text, and where retention continues.
 *
 *   session.ts         a connection: its locks, how it is lost and restored, whether a commit took place
 *   lineage.ts         a server that lacks what it has confirmed
 *   postgres-wakes.ts  how replicas wake each other
 *   prompt-store.ts    a server that falls silent while people wait for an answer
 *   postgres-queue.ts  transactions in order, several in one commit, retried on conflicts
 *   migrate.ts         runs the steps of `../versions/steps.ts` that are missing, the first of which is in tables.ts
 *   statements.ts      what repositories run; many rows are sent as one list per column. holding-statements.ts first
 *                      runs the writes held back that a statement could see
 *   watched/ alerted/ queued/ upkeep/   the repositories, as in SQLite
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { isStoreFailure, NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import { createStoreClock } from '../../time/store-clock.ts';
import type { FaultStore } from '../fault-store.ts';
import type { OwnershipStore } from '../ownership-store.ts';
import { createDigests } from '../sql/alerted/digests.ts';
import { SqlGroups } from '../sql/alerted/groups.ts';
import { createSilences } from '../sql/alerted/silences.ts';
import { createSuppressions } from '../sql/alerted/suppressions.ts';
import { DeliveryCounts } from '../sql/queued/delivery-counts.ts';
import { createForward } from '../sql/queued/forward.ts';
import { createReceiverPace } from '../sql/queued/receiver-pace.ts';
import { SqlOutbox } from '../sql/queued/sql-outbox.ts';
import { createFaults } from '../sql/upkeep/noted-faults.ts';
import { createTroubles } from '../sql/upkeep/troubles.ts';
import { createUpkeep } from '../sql/upkeep/upkeep.ts';
import { createWrites } from '../sql/upkeep/writes.ts';
import { createAudits } from '../sql/watched/audits.ts';
import { BirdStanding } from '../sql/watched/bird-standing.ts';
import { createFlights } from '../sql/watched/flights.ts';
import { createOverdue } from '../sql/watched/judged-times.ts';
import { createInventory } from '../sql/watched/nests-and-birds.ts';
import type { Attempted, OpenStore, Store, StoreSpace, Transaction, Turns } from '../store.ts';
import type { Step, TableChange } from '../versions/steps.ts';
import { PostgresAlerts } from './alerted/postgres-alerts.ts';
import { HoldingStatements } from './holding-statements.ts';
import { doneSteps, migrate } from './migrate.ts';
import type { PostgresPlace } from './postgres-client.ts';
import { isWorthAnotherTry } from './postgres-failure.ts';
import { createPostgresQueue, type PostgresQueue } from './postgres-queue.ts';
import { PostgresSql } from './postgres-sql.ts';
import { openPostgresWakes } from './postgres-wakes.ts';
import { createPromptStore } from './prompt-store.ts';
import { PostgresDeliveryPages } from './queued/postgres-delivery-pages.ts';
import { Session } from './session.ts';
import type { Statements } from './statements.ts';
import { PostgresOwnership } from './upkeep/postgres-ownership.ts';
import { PostgresBirds } from './watched/postgres-birds.ts';
import { PostgresEvents } from './watched/postgres-events.ts';
import { PostgresStreams } from './watched/postgres-streams.ts';

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
    const repositories = createRepositories(session, clock);
    forget = repositories.rolledBack;
    const inner = createStore(session, clock, repositories, isShared);
    const askedMs = clock.monotonicMs();
    if (isShared) storeClock.heard((await inner.transaction((tx) => tx.ownership.view())).nowUs, askedMs);
    await inner.transaction((tx) => tx.faults.checkRows(clock.nowUs(), 'what is in use'));
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
    await doneSteps(statements, schema, shown, { steps });
  };
}

/**
 * Opens a second connection to the same tables on first use, which does not wait for long transactions of this
 * process. Concurrent requests on it run one after another.
 */
function openTurns({ place, clock, steps }: PostgresStoreOptions): Turns & Pick<Store, 'close'> {
  const again = checkTables(place, steps);
  const session = new Session({ place, clock, isShared: true, prepare: again, again });
  const repositories = createRepositories(session, clock);
  const { transaction, close } = createStore(session, clock, repositories, false);
  let last: Promise<unknown> = Promise.resolve();
  function inTurn<T>(ask: () => Promise<T>): Promise<T> {
    const answered = last.then(ask);
    last = answered.catch(() => {});
    return answered;
  }
  /** A single statement is a transaction by itself. */
  async function alone<T>(ask: (ownership: OwnershipStore) => Promise<T>): Promise<T> {
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

function createStore(session: Session, clock: Clock, repositories: Repositories, isShared: boolean): Store {
  const mend = createRowMending(repositories.all.faults, clock);
  const tx: Transaction = {
    ...repositories.all,
    async attempt(part) {
      const first = await attempt(session, repositories, part);
      return first.ok || !(await mend(first.error)) ? first : attempt(session, repositories, part);
    },
    // Much work may follow on what was read, so the event loop turns between two statements.
    pause: () => turnOfEventLoop(),
  };
  const queue = createPostgresQueue({ session, clock, isShared, rolledBack: repositories.rolledBack });
  let closed: Promise<void> | undefined;

  const run = <T>(work: (tx: Transaction) => Promise<T>) =>
    queue.run(async () => {
      repositories.begin();
      const result = await work(tx);
      await repositories.end();
      return result;
    });

  async function close(): Promise<void> {
    // A commit with an unknown outcome must not keep the process from ending.
    const giveUp = clock.setTimer(CLOSING_MS, () => session.giveUp());
    await queue.drain();
    giveUp();
    await session.close();
  }

  return {
    async transaction(work) {
      try {
        return await run(work);
      } catch (error) {
        if (!isSuspicious(error) || !(await run(() => mend(error)).catch(() => false))) throw error;
        return run(work);
      }
    },
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
function createSpace(session: Session, run: PostgresQueue['run'], clock: Clock): Store['space'] {
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

/** How often at most rows are checked because of a failure. */
const MENDED_EVERY_MS = 60_000;

/** An unforeseen failure may come from a row that was damaged from outside. */
function isSuspicious(error: unknown): boolean {
  return !(error instanceof NestwatchError);
}

/** After an unforeseen failure: sets damaged rows aside, and returns whether there were any. */
function createRowMending(faults: FaultStore, clock: Clock): (error: unknown) => Promise<boolean> {
  let lastMs = Number.NEGATIVE_INFINITY;
  return async (error) => {
    if (!isSuspicious(error) || clock.monotonicMs() - lastMs < MENDED_EVERY_MS) return false;
    lastMs = clock.monotonicMs();
    return (await faults.checkRows(clock.nowUs(), 'what is in use')).length > 0;
  };
}

/** Runs a part of a transaction in its own savepoint. */
async function attempt<T>(
  session: Session,
  repositories: Repositories,
  part: () => Promise<T>,
): Promise<Attempted<T>> {
  // Writes held back so far belong to the transaction: they must not be rolled back with the part.
  await repositories.end();
  await session.exec('SAVEPOINT part');
  try {
    const value = await part();
    if (session.failure() !== undefined) throw session.failure();
    await repositories.end();
    await session.exec('RELEASE part');
    return { ok: true, value };
  } catch (error) {
    const failure = session.failure() ?? error;
    // A conflict that a retry of the whole transaction may resolve is not a failure of the part.
    if (isStoreFailure(failure) || isWorthAnotherTry(failure)) throw failure;
    await session.exec('ROLLBACK TO part; RELEASE part');
    session.forget();
    repositories.rolledBack();
    return { ok: false, error: failure };
  }
}

interface Repositories {
  readonly all: Omit<Transaction, 'attempt' | 'pause'>;
  /** Begins a transaction. Discards what was remembered of the previous one, which may have been rolled back. */
  begin(): void;
  /** Ends the transaction's work: writes what the repositories hold back until its end. */
  end(): Promise<void>;
  /** Called when something that was written was rolled back. */
  rolledBack(): void;
}

function createRepositories(session: Session, clock: Clock): Repositories {
  const statements = new HoldingStatements(session);
  const sql = new PostgresSql(statements, statements);
  const streams = new PostgresStreams(statements, sql);
  const events = new PostgresEvents(statements, streams);
  const counts = new DeliveryCounts(sql, () => session.slot);
  const standing = new BirdStanding(sql);
  const groups = new SqlGroups(sql);
  const begin = () => {
    events.forget();
    counts.forget();
    standing.forget();
    groups.forget();
    statements.forgetHeld();
  };
  return {
    all: {
      inventory: createInventory(sql, clock),
      streams,
      events,
      flights: createFlights(sql, standing),
      audits: createAudits(sql),
      birds: new PostgresBirds(statements, events),
      overdue: createOverdue(sql),
      alerts: new PostgresAlerts(statements, events, standing, groups),
      groups,
      silences: createSilences(sql),
      suppressions: createSuppressions(sql, events),
      digests: createDigests(sql),
      forwards: createForward(sql),
      receivers: createReceiverPace(sql),
      outbox: new SqlOutbox(sql, events, counts, new PostgresDeliveryPages(statements, events)),
      ownership: new PostgresOwnership(statements),
      faults: createFaults(sql),
      troubles: createTroubles(sql, counts),
      writes: createWrites(sql),
      upkeep: createUpkeep(sql, counts),
    },
    begin,
    async end() {
      await sql.writeHeld();
      await counts.write();
      await standing.write();
    },
    rolledBack() {
      begin();
      streams.forget();
    },
  };
}
