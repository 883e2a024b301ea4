import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { availableMemory } from 'node:process';
import type { Clock } from '../../time/clock.ts';
import { createRepositories } from '../sql/repositories.ts';
import { createTransactions } from '../sql/transactions.ts';
import type { Store, StoreSpace } from '../store.ts';
import type { Step } from '../versions/steps.ts';
import { type Connection, openConnection, SqliteSql } from './connection.ts';
import { takeLock } from './lock.ts';
import { prepareSchema } from './prepare-schema.ts';
import { trueName } from './private-files.ts';
import { createTransactionQueue, type LockPatience, whenFree } from './transaction-queue.ts';

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
    const connection = await whenFree(() => openPrepared(file, steps), patience);
    return createStore(connection, clock, file, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

function openPrepared(file: string, steps: readonly Step[] | undefined): Connection {
  const connection = openConnection(file);
  try {
    prepareSchema(connection, file, steps);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

const DATABASE_BYTES = 'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size';

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
  connection.define('now_us', () => BigInt(clock.nowUs()));
  const repositories = createRepositories(new SqliteSql(connection, turn), clock, () => 0);
  const queue = createTransactionQueue({
    connection,
    clock,
    // A commit to disk is worth one turn of the event loop, in which answers that have arrived become transactions.
    gather: turn,
    rolledBack: repositories.rolledBack,
  });
  let closed: Promise<void> | undefined;

  return {
    transaction: createTransactions({
      repositories,
      connected: connection,
      isOver: () => !connection.isTransaction(),
      queue,
      pause: turn,
    }),
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
