import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import type { Store, Transaction } from '../store.ts';
import { type Connection, openConnection } from './connection.ts';
import { takeLock } from './lock.ts';
import { prepareSchema } from './prepare-schema.ts';
import { createDeliveryCounts } from './tables/delivery-counts.ts';
import { createPrune } from './tables/prune.ts';
import { createAlerts } from './tables/sqlite-alerts.ts';
import { createAudits } from './tables/sqlite-audits.ts';
import { createClockRollback } from './tables/sqlite-clock-rollback.ts';
import { createDigests } from './tables/sqlite-digests.ts';
import { createEvents } from './tables/sqlite-events.ts';
import { createFlights } from './tables/sqlite-flights.ts';
import { createForward } from './tables/sqlite-forward.ts';
import { createGroups } from './tables/sqlite-groups.ts';
import { createInventory } from './tables/sqlite-inventory.ts';
import { createKeys } from './tables/sqlite-keys.ts';
import { createNotifiedEvents } from './tables/sqlite-notified.ts';
import { createOutbox } from './tables/sqlite-outbox.ts';
import { createOverdue } from './tables/sqlite-overdue.ts';
import { createQuarantine } from './tables/sqlite-quarantine.ts';
import { createReceiverPace } from './tables/sqlite-receiver-pace.ts';
import { createSilences } from './tables/sqlite-silences.ts';
import { createStreams } from './tables/sqlite-streams.ts';
import { createSuppressions } from './tables/sqlite-suppressions.ts';
import { createTransactionQueue } from './transaction-queue.ts';

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
    mkdirSync(dirname(path), { recursive: true });
    return join(realpathSync(dirname(path)), basename(path));
  } catch (error) {
    throw new NestwatchError('store_failed', `The directory of the store ${path} cannot be made or read.`, {
      cause: error,
    });
  }
}

function createStore(connection: Connection, clock: Clock, isInMemory: boolean, unlock: () => void): Store {
  const streams = createStreams(connection);
  const events = createEvents(connection, streams);
  const counts = createDeliveryCounts(connection);
  const notified = createNotifiedEvents(connection, events, counts);
  const judged = createOverdue(connection);
  // Nothing in memory takes long, and what runs on a virtual clock has no turns of the event loop to wait for.
  const turn = (): Promise<void> =>
    isInMemory ? Promise.resolve() : new Promise((resolve) => setImmediate(resolve));
  const tx: Transaction = {
    inventory: createInventory(connection, clock),
    streams: { ...streams, ...createQuarantine(connection) },
    events,
    audits: createAudits(connection),
    flights: { ...createFlights(connection), ...judged },
    overdue: judged,
    alerts: { ...createAlerts(connection, events), ofEvent: notified.ofEvent },
    groups: createGroups(connection),
    silences: createSilences(connection),
    suppressions: createSuppressions(connection, events),
    forwards: createForward(connection),
    outbox: {
      ...createOutbox(connection, notified, counts),
      notificationsOfEvent: notified.notificationsOfEvent,
    },
    receivers: createReceiverPace(connection),
    digests: createDigests(connection),
    upkeep: {
      ...createKeys(connection),
      ...createClockRollback(connection),
      ...createPrune(connection, counts),
    },
    pause: turn,
  };
  const queue = createTransactionQueue({
    connection,
    clock,
    // A commit to a disk is worth a turn of the event loop, in which answers that have arrived become transactions.
    gather: turn,
    rolledBack: streams.forget,
  });
  let closed: Promise<void> | undefined;

  return {
    transaction: (work) =>
      queue.run(async () => {
        events.forget();
        counts.forget();
        const result = await work(tx);
        counts.write();
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
