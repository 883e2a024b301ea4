/**
 * THE STORE ON POSTGRESQL, beside the one on SQLite and behind the same promise (`store.ts`).
 *
 * Two stores side by side, not one set of statements for both engines. What decided it: a statement of SQLite's rooms
 * is a call that returns, and what makes them fast is made of that (rows bound one by one into chunks, writes that are
 * held back until somebody could see them, numbers given in memory, hints that name an index); a statement here is a
 * round trip, and what makes it fast is fewer of them: a page of entries is one statement that also says what was new, a
 * claim is one, numbers come from the server because others write too. Of 180 statements about a third would be the same
 * text. To add a column costs a line in two schemas, two statements and two row types; a seam would save one of each and
 * make every line of the hot path wait for a promise. What is no SQL (what a row's text holds, how a record comes of
 * it, what people find it by) is shared, and one contract test holds both.
 *
 * SEVERAL PROCESSES AT ONCE. Every transaction is SERIALIZABLE: most rooms read, let the domain decide, and write back, and
 * some of what is decided spans rows (whose turn it is in a lane, which alerts wait to be routed), where nothing less
 * notices that two of them met. One of those is done once more then, from its beginning. What that level does not see:
 *
 * - What `INSERT … ON CONFLICT DO NOTHING` found there: whatever may be deleted meanwhile is written instead.
 * - That numbers are given before they are committed. Digests count up to the newest event: `PostgresDigests.arrivals`.
 * - How long one waits: a lock of a process that was stopped lasts until its transaction is ended (`SHARED_LIMITS`).
 *   Claims and removals of replicas pass over what is locked, and each process counts deliveries in rows of its own.
 *
 * Nothing that others change is remembered from one transaction to the next: only what a stream is one of, which never
 * changes, silences by their whole text, and where the retention goes on looking.
 *
 *   session.ts     a connection: its locks, what is lost and found, whether a commit took place
 *   lineage.ts     a server that lacks what it has confirmed
 *   postgres-wakes.ts  what replicas say to each other
 *   postgres-queue.ts  transactions in their order, several in one commit, once more where they met another's
 *   tables.ts      the schema in steps; migrate.ts runs those that are missing
 *   statements.ts  what rooms speak to; many rows go as one list a column
 *   watched/ alerted/ queued/ upkeep/   the rooms, as those of SQLite
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { isStoreFailure, NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import { createStoreClock } from '../../time/store-clock.ts';
import type { OwnershipStore } from '../ownership-store.ts';
import type { Attempted, OpenStore, Store, StoreSpace, Transaction, Turns } from '../store.ts';
import { PostgresAlerts } from './alerted/postgres-alerts.ts';
import { PostgresDigests } from './alerted/postgres-digests.ts';
import { PostgresGroups } from './alerted/postgres-groups.ts';
import { PostgresOverdue } from './alerted/postgres-overdue.ts';
import { createPostgresSilences } from './alerted/postgres-silences.ts';
import { createPostgresSuppressions } from './alerted/postgres-suppressions.ts';
import { migrate, refuseNewer } from './migrate.ts';
import type { PostgresPlace } from './postgres-client.ts';
import { isWorthAnotherTry } from './postgres-failure.ts';
import { createPostgresQueue, type PostgresQueue } from './postgres-queue.ts';
import { openPostgresWakes } from './postgres-wakes.ts';
import { PostgresCounts } from './queued/postgres-counts.ts';
import { createPostgresForward } from './queued/postgres-forward.ts';
import { PostgresOutbox } from './queued/postgres-outbox.ts';
import { createPostgresReceiverPace } from './queued/postgres-receiver-pace.ts';
import { Session } from './session.ts';
import type { Statements } from './statements.ts';
import { PostgresFaults } from './upkeep/postgres-faults.ts';
import { PostgresOwnership } from './upkeep/postgres-ownership.ts';
import { createPostgresTroubles } from './upkeep/postgres-troubles.ts';
import { PostgresUpkeep } from './upkeep/postgres-upkeep.ts';
import { createPostgresWrites } from './upkeep/postgres-writes.ts';
import { createPostgresAudits } from './watched/postgres-audits.ts';
import { PostgresBirds } from './watched/postgres-birds.ts';
import { PostgresEvents } from './watched/postgres-events.ts';
import { PostgresFlights } from './watched/postgres-flights.ts';
import { PostgresInventory } from './watched/postgres-inventory.ts';
import { PostgresStanding } from './watched/postgres-standing.ts';
import { PostgresStreams } from './watched/postgres-streams.ts';

interface PostgresStoreOptions {
  readonly place: PostgresPlace;
  readonly clock: Clock;
  /** Whether other processes may use the same schema at the same time: they agree on who does what (`ownership-store.ts`). */
  readonly isShared?: boolean;
}

/** How long a store that is closed waits to hear what became of its last commit. */
const CLOSING_MS = 5_000;

/**
 * Opens the store. Throws `store_locked` while another process uses it and one of the two does not share it,
 * `store_newer`, `store_down` where the server does not answer or refuses, or `config_invalid` for a schema of another
 * program; nothing is changed then.
 */
export async function openPostgresStore({
  place,
  clock: own,
  isShared = false,
}: PostgresStoreOptions): Promise<OpenStore> {
  const storeClock = createStoreClock(own);
  const clock = isShared ? storeClock : own;
  let forget = () => {};
  const session: Session = new Session({
    place,
    clock,
    isShared,
    connected: () => forget(),
    prepare: (statements, alone) =>
      migrate({ statements, exec: (sql) => session.exec(sql), ...place, alone }),
    again: (statements) => refuseNewer(statements, place.schema, place.shown),
  });
  try {
    await session.ready();
    const rooms = createRooms(session, clock);
    forget = rooms.rolledBack;
    const inner = createStore(session, clock, rooms, isShared);
    const askedMs = clock.monotonicMs();
    if (isShared) storeClock.heard((await inner.transaction((tx) => tx.ownership.view())).nowUs, askedMs);
    await inner.transaction((tx) => tx.faults.checkRows(clock.nowUs(), 'what is in use'));
    if (!isShared) return { store: inner, sharing: undefined };
    const turns = openTurns({ place, clock });
    const wakes = await openPostgresWakes({ place, clock });
    const close = () => Promise.all([inner.close(), turns.close(), wakes.close()]).then(() => {});
    return { store: { ...inner, close }, sharing: { wakes, turns, storeClock } };
  } catch (error) {
    await session.close();
    throw error;
  }
}

/**
 * The same tables on a second connection, which opens at the first use, and waits for no process's long transaction. What
 * is asked for there at the same time goes one after another.
 */
function openTurns({ place, clock }: PostgresStoreOptions): Turns & Pick<Store, 'close'> {
  const again = (statements: Statements) => refuseNewer(statements, place.schema, place.shown);
  const session = new Session({ place, clock, isShared: true, prepare: again, again });
  const rooms = createRooms(session, clock);
  const { transaction, close } = createStore(session, clock, rooms, false);
  let last: Promise<unknown> = Promise.resolve();
  function inTurn<T>(ask: () => Promise<T>): Promise<T> {
    const answered = last.then(ask);
    last = answered.catch(() => {});
    return answered;
  }
  /** What is one statement is a transaction by itself. */
  async function alone<T>(ask: (ownership: OwnershipStore) => Promise<T>): Promise<T> {
    await session.ready();
    session.forget();
    try {
      return await ask(rooms.all.ownership);
    } catch (error) {
      // A newer replica has just changed the tables.
      if (!isWorthAnotherTry(error)) throw error;
      session.forget();
      return ask(rooms.all.ownership);
    }
  }
  return {
    transaction: (work) => inTurn(() => transaction(work)),
    renew: (...of) => inTurn(() => alone((ownership) => ownership.renew(...of))),
    shown: () => inTurn(() => alone((ownership) => ownership.shown())),
    close,
  };
}

function createStore(session: Session, clock: Clock, rooms: Rooms, isShared: boolean): Store {
  const mend = createRowMending(rooms.all.faults, clock);
  const tx: Transaction = {
    ...rooms.all,
    async attempt(part) {
      const first = await attempt(session, rooms, part);
      return first.ok || !(await mend(first.error)) ? first : attempt(session, rooms, part);
    },
    // Between two statements much may be asked of what was read.
    pause: () => turnOfEventLoop(),
  };
  const queue = createPostgresQueue({ session, clock, isShared, rolledBack: rooms.rolledBack });
  let closed: Promise<void> | undefined;

  const run = <T>(work: (tx: Transaction) => Promise<T>) =>
    queue.run(async () => {
      rooms.begin();
      const result = await work(tx);
      await rooms.end();
      return result;
    });

  async function close(): Promise<void> {
    // A commit of which nobody knows whether it took place must not keep the process from ending.
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

/** How often is asked what the store takes. */
const SPACE_EVERY_MS = 60_000;

const BYTES = `SELECT sum(pg_total_relation_size(oid))::bigint AS bytes FROM pg_class
  WHERE relnamespace = to_regnamespace(current_schema()) AND relkind = 'r'`;

/** What the tables took when they were last asked; the disk of the server cannot be seen from here. */
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
      // Who writes to it hears what is wrong.
      run(ask).catch(() => {});
    }
    return space;
  };
}

/** At the most so often rows are looked through because of a failure. */
const MENDED_EVERY_MS = 60_000;

/** What nobody foresaw may come from a row that was broken from outside. */
function isSuspicious(error: unknown): boolean {
  return !(error instanceof NestwatchError);
}

/** After a failure that nobody foresaw: sets broken rows aside, and says whether there were any. */
function createRowMending(faults: PostgresFaults, clock: Clock): (error: unknown) => Promise<boolean> {
  let lastMs = Number.NEGATIVE_INFINITY;
  return async (error) => {
    if (!isSuspicious(error) || clock.monotonicMs() - lastMs < MENDED_EVERY_MS) return false;
    lastMs = clock.monotonicMs();
    return (await faults.checkRows(clock.nowUs(), 'what is in use')).length > 0;
  };
}

/** Does a part of a transaction in a savepoint of its own. */
async function attempt<T>(session: Session, rooms: Rooms, part: () => Promise<T>): Promise<Attempted<T>> {
  // What the rooms hold back until the end was done before: it must not go with the part.
  await rooms.end();
  await session.exec('SAVEPOINT part');
  try {
    const value = await part();
    if (session.failure() !== undefined) throw session.failure();
    await rooms.end();
    await session.exec('RELEASE part');
    return { ok: true, value };
  } catch (error) {
    const failure = session.failure() ?? error;
    // What goes well when the whole of the transaction is done once more is no failure of the part.
    if (isStoreFailure(failure) || isWorthAnotherTry(failure)) throw failure;
    await session.exec('ROLLBACK TO part; RELEASE part');
    session.forget();
    rooms.rolledBack();
    return { ok: false, error: failure };
  }
}

interface Rooms {
  readonly all: Omit<Transaction, 'attempt' | 'pause' | 'faults'> & { readonly faults: PostgresFaults };
  /** A transaction begins: nothing of the one before, which may have been taken back, is remembered. */
  begin(): void;
  /** Its work is done: what the rooms write at its end is written. */
  end(): Promise<void>;
  /** Something that was written was taken back. */
  rolledBack(): void;
}

function createRooms(session: Session, clock: Clock): Rooms {
  const streams = new PostgresStreams(session);
  const events = new PostgresEvents(session, streams);
  const counts = new PostgresCounts(session, () => session.slot);
  const standing = new PostgresStanding(session);
  const begin = () => {
    events.forget();
    counts.forget();
    standing.forget();
  };
  return {
    all: {
      inventory: new PostgresInventory(session, clock),
      streams,
      events,
      flights: new PostgresFlights(session, standing),
      audits: createPostgresAudits(session),
      birds: new PostgresBirds(session, events),
      overdue: new PostgresOverdue(session),
      alerts: new PostgresAlerts(session, events, standing),
      groups: new PostgresGroups(session),
      silences: createPostgresSilences(session),
      suppressions: createPostgresSuppressions(session, events),
      digests: new PostgresDigests(session),
      forwards: createPostgresForward(session),
      receivers: createPostgresReceiverPace(session),
      outbox: new PostgresOutbox(session, events, counts),
      ownership: new PostgresOwnership(session),
      faults: new PostgresFaults(session),
      troubles: createPostgresTroubles(session, counts),
      writes: createPostgresWrites(session),
      upkeep: new PostgresUpkeep(session, counts),
    },
    begin,
    async end() {
      await counts.write();
      await standing.write();
    },
    rolledBack() {
      begin();
      streams.forget();
    },
  };
}
