/** What can be done to the store's file as a whole, also while another process uses it: each reads one moment of it. */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { codeOf, NestwatchError } from '../../../errors.ts';
import { storeFailure } from '../failure.ts';
import { takeLock } from '../lock.ts';
import { refuseForeign } from '../prepare-schema.ts';
import { makePrivateFile } from '../private-files.ts';

/** What a check of the whole file found. */
export interface StoreReport {
  readonly path: string;
  readonly bytes: number;
  /** The version of its tables. */
  readonly schema: number;
  readonly events: number;
  /** Alerts that fire. */
  readonly firing: number;
  /** Deliveries that are not settled. */
  readonly pending: number;
  /** What is damaged, in SQLite's words; empty for nothing. */
  readonly damages: readonly string[];
}

/** Damages that are listed at the most. */
const LISTED_DAMAGES = 20;

const BUSY_TIMEOUT_MS = 5_000;

/**
 * Writes a copy of one moment of the store at `from` to the new file `to`, which others may not read. The copy is whole
 * once it has its name. With `alone` nobody else may use the store meanwhile, else `store_locked`.
 */
export function copyStoreFile(from: string, to: string, { alone }: { readonly alone: boolean }): void {
  if (existsSync(to)) throw new NestwatchError('usage', `${to} is there already: name a new file`);
  const unlock = alone ? takeLock(from) : () => {};
  const partial = `${to}.partial`;
  try {
    withDatabase(from, (db) => {
      rmSync(partial, { force: true });
      makePrivateFile(partial);
      if (!existsSync(partial)) throw new NestwatchError('store_failed', `${to} cannot be written`);
      db.prepare('VACUUM INTO ?').run(partial);
    });
    sync(partial);
    renameSync(partial, to);
    sync(dirname(to));
  } finally {
    rmSync(partial, { force: true });
    unlock();
  }
}

/** Reads every page and every index of the store. Throws what keeps it from being read at all. */
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
        "SELECT count(*) FROM delivery WHERE state IN ('pending', 'leased', 'retry', 'ambiguous')",
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
  if (!existsSync(path)) throw new NestwatchError('usage', `there is no store at ${path}`);
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

/** What was renamed survives a power failure only once its directory is on the disk as well. */
function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
