import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { NestwatchError } from '../../errors.ts';
import type { Store, Transaction } from '../store.ts';
import { createAlerts } from './alerts.ts';
import { createAudits } from './audits.ts';
import { type Connection, openConnection } from './connection.ts';
import { createDeliveryCounts } from './delivery-counts.ts';
import { createDigests } from './digests.ts';
import { createEvents } from './events.ts';
import { createFlights } from './flights.ts';
import { createForward } from './forward.ts';
import { createGroups } from './groups.ts';
import { createInventory } from './inventory.ts';
import { createKeys } from './keys.ts';
import { takeLock } from './lock.ts';
import { createOutbox } from './outbox.ts';
import { createOverdue } from './overdue.ts';
import { createPrune } from './prune.ts';
import { createQuarantine } from './quarantine.ts';
import { createTransactionQueue } from './queue.ts';
import { createReceiverPace } from './receiver-pace.ts';
import { prepareSchema } from './schema.ts';
import { createSetBack } from './set-back.ts';
import { createSilences } from './silences.ts';
import { createStreams } from './streams.ts';
import { createSuppressions } from './suppressions.ts';
import { createTold } from './told.ts';

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
  const told = createTold(connection, events, counts);
  // Nothing in memory takes long, and what runs on a virtual clock has no turns of the event loop to wait for.
  const turn = (): Promise<void> =>
    isInMemory ? Promise.resolve() : new Promise((resolve) => setImmediate(resolve));
  const tx: Transaction = {
    ...createInventory(connection, clock),
    ...streams,
    ...events,
    ...createAudits(connection),
    ...createFlights(connection),
    ...createOverdue(connection),
    ...createQuarantine(connection),
    ...createAlerts(connection, events),
    ...createGroups(connection),
    ...createSilences(connection),
    ...createSuppressions(connection, events),
    ...createForward(connection),
    ...createOutbox(connection, told, counts),
    alertsOfEvent: told.alertsOfEvent,
    notificationsOfEvent: told.notificationsOfEvent,
    ...createReceiverPace(connection),
    ...createSetBack(connection),
    ...createDigests(connection),
    ...createKeys(connection),
    pause: turn,
    ...createPrune(connection, counts),
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
