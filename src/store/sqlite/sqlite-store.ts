import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { availableMemory } from 'node:process';
import { isStoreFailure, NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import type { FaultStore } from '../fault-store.ts';
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
import type { Attempted, Store, StoreSpace, Transaction } from '../store.ts';
import type { Step } from '../versions/steps.ts';
import { SqliteAlerts } from './alerted/sqlite-alerts.ts';
import { type Connection, openConnection } from './connection.ts';
import { takeLock } from './lock.ts';
import { prepareSchema } from './prepare-schema.ts';
import { trueName } from './private-files.ts';
import { DeliveryPages } from './queued/delivery-pages.ts';
import { SqliteSql } from './sqlite-sql.ts';
import { createTransactionQueue } from './transaction-queue.ts';
import { SqliteOwnership } from './upkeep/sqlite-ownership.ts';
import { SqliteBirds } from './watched/sqlite-birds.ts';
import { SqliteEvents } from './watched/sqlite-events.ts';
import { SqliteStreams } from './watched/sqlite-streams.ts';
import { type LockPatience, whenFree } from './when-free.ts';

interface SqliteStoreOptions extends LockPatience {
  /** A file, created with its directory if missing, or `:memory:` for trials. */
  readonly path: string;
  /** Those of this version by default. */
  readonly steps?: readonly Step[] | undefined;
}

/**
 * Opens the embedded store. Throws `store_locked` while another nestwatch uses it, `store_down` if another program
 * keeps it locked for `patienceMs`, `store_newer`, `store_other`, `store_corrupt`, `store_failed`, `disk_full`, or
 * `config_invalid` for a database of another program; in all these cases nothing is damaged.
 */
export async function openSqliteStore({ path, steps, ...patience }: SqliteStoreOptions): Promise<Store> {
  const { clock } = patience;
  const file = path === ':memory:' ? path : trueName(path);
  const unlock = path === ':memory:' ? () => {} : takeLock(file);
  try {
    const connection = await whenFree(() => openPrepared(file, clock, steps), patience);
    return createStore(connection, clock, file, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

async function openPrepared(
  file: string,
  clock: Clock,
  steps: readonly Step[] | undefined,
): Promise<Connection> {
  const connection = openConnection(file);
  try {
    prepareSchema(connection, file, steps);
    // Checked before any repository reads, so that every row they read is valid.
    connection.exec('BEGIN IMMEDIATE');
    // Nothing else is running yet that this could delay.
    await createFaults(new SqliteSql(connection, async () => {})).checkRows(
      clock.nowUs(),
      isSmall(connection) ? 'all' : 'what is in use',
    );
    connection.exec('COMMIT');
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Stores up to this size are checked row by row at start, which takes up to a second. */
const MAX_WHOLE_BYTES = 256 * 1024 * 1024;

const DATABASE_BYTES = 'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size';

function isSmall(connection: Connection): boolean {
  return connection.prepare<{ bytes: number }>(DATABASE_BYTES).get()!.bytes <= MAX_WHOLE_BYTES;
}

/** The system reads several files to determine free memory, so the result is cached. */
const MEMORY_KNOWN_MS = 3_600_000;

/**
 * Measures the database with SQLite's additional files, and the space available to non-root users on its file system.
 */
function createSpace(connection: Connection, file: string, clock: Clock): () => StoreSpace | undefined {
  const database = connection.prepare<{ bytes: number }>(DATABASE_BYTES);
  let memory = { free: 0, lookedAtMs: Number.NEGATIVE_INFINITY };
  function freeMemory(): number {
    const nowMs = clock.monotonicMs();
    if (nowMs - memory.lookedAtMs >= MEMORY_KNOWN_MS) memory = { free: availableMemory(), lookedAtMs: nowMs };
    return memory.free;
  }
  return () => {
    try {
      if (file === ':memory:') return { used: database.get()!.bytes, free: freeMemory(), whole: 0 };
      const sizes = ['', '-wal', '-shm'].map(
        (suffix) => statSync(`${file}${suffix}`, { throwIfNoEntry: false })?.size ?? 0,
      );
      const { bavail, blocks, bsize } = statfsSync(dirname(file));
      return {
        used: sizes.reduce((sum, size) => sum + size, 0),
        free: bavail * bsize,
        whole: blocks * bsize,
      };
    } catch {
      // Whoever writes to the store gets the error.
      return undefined;
    }
  };
}

function createStore(connection: Connection, clock: Clock, file: string, unlock: () => void): Store {
  const isInMemory = file === ':memory:';
  // In memory nothing takes long, and code on a virtual clock must not wait for turns of the event loop.
  const turn = (): Promise<void> =>
    isInMemory ? Promise.resolve() : new Promise((resolve) => setImmediate(resolve));
  const repositories = createRepositories(connection, clock, turn);
  const mend = createRowMending(repositories.all.faults, clock);
  const tx: Transaction = {
    ...repositories.all,
    async attempt(part) {
      const first = await attempt(connection, repositories, part);
      return first.ok || !(await mend(first.error)) ? first : attempt(connection, repositories, part);
    },
    pause: turn,
  };
  const queue = createTransactionQueue({
    connection,
    clock,
    // A commit to disk is worth one turn of the event loop, in which answers that have arrived become transactions.
    gather: turn,
    rolledBack: repositories.rolledBack,
  });
  let closed: Promise<void> | undefined;

  const run = <T>(work: (tx: Transaction) => Promise<T>) =>
    queue.run(async () => {
      repositories.begin();
      const result = await work(tx);
      await repositories.end();
      return result;
    });

  return {
    async transaction(work) {
      try {
        return await run(work);
      } catch (error) {
        if (!isSuspicious(error) || !(await run(() => mend(error)).catch(() => false))) throw error;
        return run(work);
      }
    },
    space: createSpace(connection, file, clock),
    close() {
      closed ??= queue.drain().finally(() => {
        try {
          connection.close();
        } finally {
          unlock();
        }
      });
      return closed;
    },
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
  connection: Connection,
  repositories: Repositories,
  part: () => Promise<T>,
): Promise<Attempted<T>> {
  // Writes held back so far belong to the transaction: they must not be rolled back with the part.
  await repositories.end();
  connection.exec('SAVEPOINT part');
  try {
    const value = await part();
    if (connection.failure() !== undefined) throw connection.failure();
    await repositories.end();
    connection.exec('RELEASE part');
    return { ok: true, value };
  } catch (error) {
    const failure = connection.failure() ?? error;
    if (isStoreFailure(failure) || !connection.isTransaction()) throw failure;
    connection.exec('ROLLBACK TO part; RELEASE part');
    connection.forget();
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

/** `notified_event` may still contain the number of a deleted notification. */
const LAST_NOTIFICATION = `SELECT coalesce(max(seq), 0) AS seq FROM (
  SELECT max(seq) AS seq FROM notification UNION ALL SELECT max(notification) FROM notified_event)`;

function createRepositories(connection: Connection, clock: Clock, turn: () => Promise<void>): Repositories {
  const sql = new SqliteSql(connection, turn);
  const streams = new SqliteStreams(connection, sql);
  const events = new SqliteEvents(connection, streams);
  const counts = new DeliveryCounts(sql, () => 0);
  const standing = new BirdStanding(sql);
  const groups = new SqlGroups(sql);
  const digests = createDigests(sql);
  const faults = createFaults(sql);
  return {
    all: {
      inventory: createInventory(sql, clock),
      streams,
      events,
      flights: createFlights(sql, standing),
      audits: createAudits(sql),
      birds: new SqliteBirds(connection, events),
      overdue: createOverdue(sql),
      alerts: new SqliteAlerts(connection, events, standing, groups, turn),
      groups,
      silences: createSilences(sql),
      suppressions: createSuppressions(sql, events),
      digests,
      forwards: createForward(sql),
      receivers: createReceiverPace(sql),
      outbox: new SqlOutbox(
        sql,
        {
          numbersOf: async (all) => all.map((one) => events.numberOf(one)),
          numberOfKey: (key) => events.numberOfKey(key),
        },
        counts,
        new DeliveryPages(connection, events),
        connection.prepare<{ seq: number }>(LAST_NOTIFICATION).get()!.seq,
      ),
      ownership: new SqliteOwnership(connection, clock),
      faults,
      troubles: createTroubles(sql, counts),
      writes: createWrites(sql),
      upkeep: createUpkeep(sql, counts),
    },
    begin() {
      events.forget();
      counts.forget();
      standing.forget();
      groups.forget();
      connection.held.forget();
    },
    async end() {
      await sql.writeHeld();
      await counts.write();
      await standing.write();
    },
    rolledBack() {
      streams.forget();
      events.forget();
      counts.forget();
      standing.forget();
      groups.forget();
      connection.held.forget();
    },
  };
}
