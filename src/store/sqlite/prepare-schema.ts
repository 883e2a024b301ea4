/** Prepares a database as a store: refuses foreign ones, configures it, and creates its tables. */
import { statSync } from 'node:fs';
import { NestwatchError } from '../../errors.ts';
import { notWhole } from '../copy/copy-mark.ts';
import type { Connection } from './connection.ts';
import { SCHEMA, SCHEMA_VERSION } from './schema.ts';

/** Earlier versions can damage a database that two programs have open (https://www.sqlite.org/wal.html#walresetbug). */
const OLDEST_SQLITE = '3.51.3';

/** Stores up to this size are checked completely at start, which takes up to a second. */
const MAX_CHECK_BYTES = 256 * 1024 * 1024;

/** The application id of our files: `nstw` in ASCII. */
export const APPLICATION_ID = 0x6e737477;

/** The application id of a file that a store is being copied to: `nstc` in ASCII. */
export const COPYING_ID = 0x6e737463;

/** The application id of stores from before 0.1.0, which have other tables: `nest` in ASCII. */
const UNRELEASED_ID = 0x6e657374;

/**
 * Throws `store_newer` or `config_invalid` before anything is changed, `store_corrupt` for a store that fails its
 * check, and whatever SQLite reports.
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

/** Anything that can prepare a statement. */
interface Readable {
  prepare(sql: string): { get(): unknown };
}

/**
 * Throws `store_newer` for a store of a later version, `store_unfinished` for an incomplete copy, and
 * `config_invalid` for a foreign database or one from before the first version.
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
 * - `synchronous = FULL`: in WAL mode a commit is then on the disk when it returns; this costs a tenth to a quarter.
 * - Pages of 8 KiB hold about twenty events: fewer pages per commit than with 4 KiB, and still cheap to rewrite.
 * - A checkpoint every 1000 pages (8 MiB) blocks everything for about 10 ms; rarer ones block for longer.
 * - No `auto_vacuum`: space freed by retention is reused, so the file stops growing by itself, and moving pages to
 *   shrink it would slow down every commit.
 * - A page cache of 4 MiB: with 8, neither inserts nor a storm took less processor time; with 2, a few percent more.
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
