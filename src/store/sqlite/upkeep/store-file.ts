/** Copies and checks the store's file as a whole, even while another process uses it; each reads a snapshot of it. */
import { DatabaseSync } from 'node:sqlite';
import { codeOf, type NestwatchError } from '../../../errors.ts';
import { LISTED_DAMAGES, type StoreReport } from '../../store.ts';
import { STEPS, type Step, type TableChange, versionOf } from '../../versions/steps.ts';
import { isBusy, openConnection, storeFailure } from '../connection.ts';
import { takeLock } from '../lock.ts';
import { prepareSchema, refuseForeign } from '../prepare-schema.ts';
import { requireStoreFile, trueName, vacuumInto } from '../private-files.ts';

const BUSY_TIMEOUT_MS = 5_000;

/** How long a change of the tables waits for a program that has locked the store, as a start does. */
const LOCK_TIMEOUT_MS = 120_000;

/** Copies a snapshot of the store at `from` to the new file `to`, which only its owner may read. */
export function copyStoreFile(from: string, to: string): void {
  withDatabase(from, (db) => vacuumInto(db, to));
}

/**
 * Brings the tables in a file to the newest version, while no daemon uses it. Throws `usage` if there is no file, and as
 * opening the store does.
 */
export function migrateStoreFile(path: string, steps?: readonly Step[]): TableChange {
  requireStoreFile(path);
  const file = trueName(path);
  const unlock = takeLock(file);
  try {
    const connection = openConnection(file);
    try {
      // Nothing else runs in this process that waiting in SQLite could delay.
      connection.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
      return prepareSchema(connection, file, steps);
    } finally {
      connection.close();
    }
  } finally {
    unlock();
  }
}

/**
 * The change that opening the file would make to its tables; undefined for none, or if the file cannot be used: opening
 * it says why. Throws `store_down`, without waiting, while another program has locked the file.
 */
export function pendingChange(path: string, steps: readonly Step[] = STEPS): TableChange | undefined {
  try {
    const from = withDatabase(path, (db) => versionOf(refuseForeign(db, path, steps).done), 0);
    return from > 0 && from < steps.length ? { from, to: steps.length } : undefined;
  } catch (error) {
    if (isBusy(error)) throw error;
    return undefined;
  }
}

/** Reads every page and every index of the store. Throws if it cannot be read at all. */
export function checkStoreFile(path: string): StoreReport {
  return withDatabase(path, (db) => {
    const damages = damagesOf(db, path);
    const count = (sql: string) =>
      damages.length > 0 ? 0 : Number(Object.values(db.prepare(sql).get()!)[0]);
    return {
      path,
      bytes: count('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size'),
      schema: count('PRAGMA user_version'),
      events: count('SELECT count(*) FROM event'),
      firing: count("SELECT count(*) FROM alert WHERE state = 'firing'"),
      pending: count(
        `SELECT count(*) FROM delivery WHERE state IN ('pending', 'leased', 'retry', 'ambiguous')`,
      ),
      damages,
    };
  });
}

function damagesOf(db: DatabaseSync, path: string): string[] {
  try {
    const rows = db.prepare(`PRAGMA integrity_check(${LISTED_DAMAGES})`).all();
    return rows.map((row) => String(Object.values(row)[0])).filter((verdict) => verdict !== 'ok');
  } catch (error) {
    const failure = storeFailure(error, path);
    if (codeOf(failure) !== 'store_corrupt') throw failure;
    return [(failure as NestwatchError).message];
  }
}

function withDatabase<T>(path: string, work: (db: DatabaseSync) => T, timeout = BUSY_TIMEOUT_MS): T {
  requireStoreFile(path);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout, readOnly: true });
    refuseForeign(db, path);
    return work(db);
  } catch (error) {
    throw storeFailure(error, path);
  } finally {
    db?.close();
  }
}
