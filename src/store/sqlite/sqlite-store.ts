import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import type { Store, Transaction } from '../store.ts';
import { SqliteAlerts } from './alerted/sqlite-alerts.ts';
import { SqliteDigests } from './alerted/sqlite-digests.ts';
import { SqliteGroups } from './alerted/sqlite-groups.ts';
import { SqliteOverdue } from './alerted/sqlite-overdue.ts';
import { createSilences } from './alerted/sqlite-silences.ts';
import { createSuppressions } from './alerted/sqlite-suppressions.ts';
import { type Connection, openConnection } from './connection.ts';
import { takeLock } from './lock.ts';
import { prepareSchema } from './prepare-schema.ts';
import { makePrivateDirectory } from './private-files.ts';
import { createDeliveryCounts } from './queued/delivery-counts.ts';
import { NotifiedEvents } from './queued/notified-events.ts';
import { createForward } from './queued/sqlite-forward.ts';
import { SqliteOutbox } from './queued/sqlite-outbox.ts';
import { createReceiverPace } from './queued/sqlite-receiver-pace.ts';
import { createTransactionQueue } from './transaction-queue.ts';
import { SqliteUpkeep } from './upkeep/sqlite-upkeep.ts';
import { createAudits } from './watched/sqlite-audits.ts';
import { SqliteEvents } from './watched/sqlite-events.ts';
import { SqliteFlights } from './watched/sqlite-flights.ts';
import { SqliteInventory } from './watched/sqlite-inventory.ts';
import { SqliteStreams } from './watched/sqlite-streams.ts';

export interface SqliteStoreOptions {
  /** A file, created with its directory where it is missing, or `:memory:` for trials. */
  readonly path: string;
  readonly clock: Clock;
}

/**
 * Opens the embedded store. Throws `store_locked`, `store_newer`, `store_corrupt`, `store_failed`, `disk_full`, or
 * `config_invalid` for a database of another program; nothing is damaged then.
 */
export async function openSqliteStore({ path, clock }: SqliteStoreOptions): Promise<Store> {
  const file = path === ':memory:' ? path : trueName(path);
  const unlock = path === ':memory:' ? () => {} : takeLock(file);
  let connection: Connection | undefined;
  try {
    connection = openConnection(file);
    prepareSchema(connection, file);
    return createStore(connection, clock, path === ':memory:', unlock);
  } catch (error) {
    connection?.close();
    unlock();
    throw error;
  }
}

/** The file's own name, so that two ways to name it meet at one lock. */
function trueName(path: string): string {
  try {
    if (existsSync(path)) return realpathSync(path);
    makePrivateDirectory(dirname(path));
    return join(realpathSync(dirname(path)), basename(path));
  } catch (error) {
    throw new NestwatchError('store_failed', `The directory of the store ${path} cannot be made or read.`, {
      cause: error,
    });
  }
}

function createStore(connection: Connection, clock: Clock, isInMemory: boolean, unlock: () => void): Store {
  // Nothing in memory takes long, and what runs on a virtual clock has no turns of the event loop to wait for.
  const turn = (): Promise<void> =>
    isInMemory ? Promise.resolve() : new Promise((resolve) => setImmediate(resolve));
  const rooms = createRooms(connection, clock);
  const tx: Transaction = { ...rooms.all, pause: turn };
  const queue = createTransactionQueue({
    connection,
    clock,
    // A commit to a disk is worth a turn of the event loop, in which answers that have arrived become transactions.
    gather: turn,
    rolledBack: rooms.rolledBack,
  });
  let closed: Promise<void> | undefined;

  return {
    transaction: (work) =>
      queue.run(async () => {
        rooms.begin();
        const result = await work(tx);
        rooms.end();
        return result;
      }),
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

interface Rooms {
  readonly all: Omit<Transaction, 'pause'>;
  /** A transaction begins: nothing of the one before, which may have been taken back, is remembered. */
  begin(): void;
  /** Its work is done: what the rooms write at its end is written. */
  end(): void;
  /** Something that was written was taken back. */
  rolledBack(): void;
}

function createRooms(connection: Connection, clock: Clock): Rooms {
  const streams = new SqliteStreams(connection);
  const events = new SqliteEvents(connection, streams);
  const counts = createDeliveryCounts(connection);
  return {
    all: {
      inventory: new SqliteInventory(connection, clock),
      streams,
      events,
      flights: new SqliteFlights(connection),
      audits: createAudits(connection),
      overdue: new SqliteOverdue(connection),
      alerts: new SqliteAlerts(connection, events),
      groups: new SqliteGroups(connection),
      silences: createSilences(connection),
      suppressions: createSuppressions(connection, events),
      digests: new SqliteDigests(connection),
      forwards: createForward(connection),
      receivers: createReceiverPace(connection),
      outbox: new SqliteOutbox(connection, new NotifiedEvents(connection, events, counts), counts),
      upkeep: new SqliteUpkeep(connection, counts),
    },
    begin() {
      events.forget();
      counts.forget();
    },
    end: () => counts.write(),
    rolledBack: () => streams.forget(),
  };
}
