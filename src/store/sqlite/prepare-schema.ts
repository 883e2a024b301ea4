/** Makes a database ours: refuses what is not, sets it up, creates its tables. */
import { statSync } from 'node:fs';
import { NestwatchError } from '../../errors.ts';
import { notWhole } from '../copy/copy-mark.ts';
import type { Connection } from './connection.ts';
import { SCHEMA, SCHEMA_VERSION } from './schema.ts';

/** Earlier ones can damage a database that two programs have open (https://www.sqlite.org/wal.html#walresetbug). */
const OLDEST_SQLITE = '3.51.3';

/** Stores up to this size are checked whole at start, which takes up to a second. */
const MAX_CHECK_BYTES = 256 * 1024 * 1024;

/** Marks the file as ours: `nstw` in ASCII. */
export const APPLICATION_ID = 0x6e737477;

/** Marks a file that a store is being copied to: `nstc` in ASCII. */
export const COPYING_ID = 0x6e737463;

/** The mark of stores from before 0.1.0, which have other tables: `nest` in ASCII. */
const UNRELEASED_ID = 0x6e657374;

/**
 * Throws `store_newer` or `config_invalid` before anything is changed, `store_corrupt` for a store that fails its
 * check, and what SQLite reports.
 */
export function prepareSchema(connection: Connection, path: string): void {
  refuseOldSqlite(connection);
  const { version, isOurs } = refuseForeign(connection, path);
  configure(connection);
  if (isOurs && path !== ':memory:' && statSync(path).size <= MAX_CHECK_BYTES) check(connection, path);
  if (version === SCHEMA_VERSION) return;
  connection.exec(`
    BEGIN IMMEDIATE;
    ${SCHEMA}
    PRAGMA application_id = ${APPLICATION_ID};
    PRAGMA user_version = ${SCHEMA_VERSION};
    COMMIT;
  `);
}

/** What a statement is prepared by. */
interface Readable {
  prepare(sql: string): { get(): unknown };
}

/**
 * Throws `store_newer` for a store of a later version, `store_unfinished` for one that is not whole yet, and `config_invalid` for a database that is not ours or of a
 * version before the first one.
 */
export function refuseForeign(db: Readable, path: string): { version: number; isOurs: boolean } {
  const version = pragma(db, 'user_version');
  const applicationId = pragma(db, 'application_id');
  if (applicationId === UNRELEASED_ID) {
    throw new NestwatchError(
      'config_invalid',
      `The store ${path} is of a version before 0.1.0, which this one cannot read: ` +
        'move the file away, so that a new store begins, or name another file in store.url.',
    );
  }
  if (applicationId === COPYING_ID) throw notWhole(`The store ${path}`);
  const isOurs = applicationId === APPLICATION_ID;
  if (!isOurs && !isEmpty(db)) {
    throw new NestwatchError('config_invalid', `The database ${path} belongs to another program.`);
  }
  if (version > SCHEMA_VERSION) {
    throw new NestwatchError('store_newer', `The store ${path} was written by a newer nestwatch.`);
  }
  return { version, isOurs };
}

/**
 * - `synchronous = FULL`: a commit in WAL mode is then on the disk when it returns; it costs a tenth to a quarter.
 * - Pages of 8 KiB hold about twenty events: fewer pages a commit than at 4 KiB, and still small ones to rewrite.
 * - A checkpoint every 1000 pages (8 MiB) holds everything up for some 10 ms; rarer ones do so for longer.
 * - No `auto_vacuum`: what retention frees is used again, so the file stops growing by itself, and moving pages about
 *   to shrink it would slow down every commit.
 * - 4 MiB of pages in memory: with 8 neither inserts nor a storm took less processor time, and with 2 a few percent more.
 * - No memory mapping: a stray write or a torn file would damage the store or end the process.
 * - No foreign keys: each would be looked up for every row. What belongs together is written by one method.
 */
export function configure(db: { exec(sql: string): void }): void {
  db.exec(`
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 1000;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA foreign_keys = OFF;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -4096;
  `);
}

function refuseOldSqlite(connection: Connection): void {
  const { version } = connection.prepare<{ version: string }>('SELECT sqlite_version() AS version').get()!;
  if (isOlder(version, OLDEST_SQLITE)) {
    throw new NestwatchError(
      'store_failed',
      `This Node brings SQLite ${version}, which can damage a store: use a newer Node.`,
    );
  }
}

/** Compares versions such as 3.51.3 number by number. */
function isOlder(version: string, oldest: string): boolean {
  const numbers = version.split('.').map(Number);
  for (const [at, least] of oldest.split('.').map(Number).entries()) {
    const number = numbers[at] ?? 0;
    if (number !== least) return number < least;
  }
  return false;
}

export function isEmpty(db: Readable): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
}

export function pragma(db: Readable, name: 'user_version' | 'application_id'): number {
  return (db.prepare(`SELECT ${name} AS value FROM pragma_${name}`).get() as { value: number }).value;
}

function check(connection: Connection, path: string): void {
  const { quick_check: verdict } = connection
    .prepare<{ quick_check: string }>('PRAGMA quick_check(1)')
    .get()!;
  if (verdict !== 'ok') {
    throw new NestwatchError('store_corrupt', `The store ${path} is damaged: ${verdict}.`);
  }
}
