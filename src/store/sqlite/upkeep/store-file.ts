/** Copies and checks the store's file as a whole, even while another process uses it; each reads a snapshot of it. */
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { codeOf, NestwatchError } from '../../../errors.ts';
import { LISTED_DAMAGES, type StoreReport } from '../../upkeep-store.ts';
import { storeFailure } from '../failure.ts';
import { findObstacle, whyNotWritten } from '../file-obstacle.ts';
import { refuseForeign } from '../prepare-schema.ts';
import { requireStoreFile, syncFile } from '../private-files.ts';

const BUSY_TIMEOUT_MS = 5_000;

/**
 * Copies a snapshot of the store at `from` to the new file `to`, which only its owner may read. The file gets its
 * name only once the copy is complete.
 */
export function copyStoreFile(from: string, to: string): void {
  withDatabase(from, (db) => {
    const partial = makePartial(to);
    try {
      db.prepare('VACUUM INTO ?').run(partial);
      syncFile(partial);
      namePartial(to);
    } finally {
      removePartial(to);
    }
  });
}

/**
 * Creates the file that holds a copy until it is complete. Throws `usage` unless `to` names a new file, and
 * `store_failed` if no file can be made there.
 */
export function makePartial(to: string): string {
  if (to === '') throw new NestwatchError('usage', 'name a new file for the backup');
  if (existsSync(to)) throw new NestwatchError('usage', `${to} is there already: name a new file`);
  const partial = partialOf(to);
  try {
    removePartial(to);
    closeSync(openSync(partial, 'wx', 0o600));
    return partial;
  } catch (cause) {
    const directory = dirname(to);
    const why = existsSync(directory)
      ? whyNotWritten(cause, to)
      : (findObstacle(to) ?? `there is no directory ${directory}`);
    throw new NestwatchError('store_failed', `The backup ${to} cannot be written: ${why}.`, { cause });
  }
}

/** Gives a complete copy its name. */
export function namePartial(to: string): void {
  renameSync(partialOf(to), to);
  syncFile(dirname(to));
}

/** Removes an incomplete copy, if there is one. */
export function removePartial(to: string): void {
  for (const ending of ['', '-wal', '-shm', '.lock']) rmSync(`${partialOf(to)}${ending}`, { force: true });
}

function partialOf(to: string): string {
  return `${to}.partial`;
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

function withDatabase<T>(path: string, work: (db: DatabaseSync) => T): T {
  requireStoreFile(path);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, readOnly: true });
    refuseForeign(db, path);
    return work(db);
  } catch (error) {
    throw storeFailure(error, path);
  } finally {
    db?.close();
  }
}
