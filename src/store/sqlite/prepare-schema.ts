/** Prepares a database as a store: refuses foreign ones, configures it, and creates its tables. */
import { rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { NestwatchError } from '../../errors.ts';
import {
  bare,
  type DoneStep,
  otherTables,
  refuseSteps,
  STEP_TABLE,
  STEPS,
  type Step,
  statementsOf,
  type TableChange,
  versionOf,
} from '../versions/steps.ts';
import type { Connection } from './connection.ts';
import { vacuumInto } from './private-files.ts';

/** Earlier versions can damage a database that two programs have open (https://www.sqlite.org/wal.html#walresetbug). */
const OLDEST_SQLITE = '3.51.3';

/** Stores up to this size are checked completely at start, which takes up to a second. */
const MAX_CHECK_BYTES = 256 * 1024 * 1024;

/** The application id of our files: `nstw` in ASCII. */
export const APPLICATION_ID = 0x6e737477;

/** The application id of stores from before 0.1.0, which have other tables: `nest` in ASCII. */
const UNRELEASED_ID = 0x6e657374;

/**
 * Throws `store_newer`, `store_other` or `config_invalid` before anything is changed, `store_corrupt` for a store that
 * fails its check, and whatever SQLite reports. Copies the file first if it changes the tables of an existing store.
 */
export function prepareSchema(connection: Connection, path: string, steps = STEPS): TableChange {
  refuseOldSqlite(connection);
  const { done, isOurs } = refuseForeign(connection, path, steps);
  configure(connection);
  // Whoever waits for another program's lock must not check the whole file at each attempt.
  connection.exec('BEGIN IMMEDIATE; ROLLBACK');
  if (isOurs && path !== ':memory:' && statSync(path).size <= MAX_CHECK_BYTES) check(connection, path);
  const from = versionOf(done);
  const to = Math.max(from, steps.length);
  const isChanged = from > 0 && to > from;
  const copy = isChanged && path !== ':memory:' ? copyOf(path, from) : undefined;
  if (copy !== undefined) {
    // One that was made before is of an earlier day, or of a start that was interrupted.
    rmSync(copy, { force: true });
    vacuumInto(connection, copy);
  }
  const statements = statementsOf({ engine: 'sqlite', done, steps });
  if (statements === '') return { from, to };
  connection.exec(`
    BEGIN IMMEDIATE;
    ${statements}
    PRAGMA application_id = ${APPLICATION_ID};
    PRAGMA user_version = ${to};
    COMMIT;
  `);
  return { from, to, ...(copy !== undefined && { copy }) };
}

/** Where the file is copied to before its tables of this version are changed. */
function copyOf(path: string, version: number): string {
  return `${path}.version-${version}`;
}

/** Anything that can prepare a statement. */
interface Readable {
  prepare(sql: string): { get(): unknown; all(): unknown[] };
}

/**
 * Throws `store_newer` for a store that a later version has changed, `store_other` for one of another build,
 * and `config_invalid` for a foreign database or one from before the first version.
 */
export function refuseForeign(
  db: Readable,
  path: string,
  steps = STEPS,
): { readonly done: readonly DoneStep[]; readonly isOurs: boolean } {
  const applicationId = pragma(db, 'application_id');
  if (applicationId === UNRELEASED_ID) {
    throw new NestwatchError(
      'config_invalid',
      `The store ${path} is of a version before 0.1.0, which this one cannot read: ` +
        'move the file away, so that a new store begins, or name another file in store.url.',
    );
  }
  const isOurs = applicationId === APPLICATION_ID;
  if (!isOurs && !isEmpty(db)) {
    throw new NestwatchError('config_invalid', `The database ${path} belongs to another program.`);
  }
  const what = `The store ${path}`;
  const done = doneSteps(db);
  refuseSteps({ engine: 'sqlite', what, done, steps });
  const [first] = done;
  if (first?.digest === null && !hasTables(db, steps.slice(0, first.step)))
    throw otherTables(what, first.step, first.version);
  return { done, isOurs };
}

/** The steps that the store has done. Before they were stored, there was only the number of the last one. */
function doneSteps(db: Readable): readonly DoneStep[] {
  const step = pragma(db, 'user_version');
  if (db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = '${STEP_TABLE}'`).get() === undefined) {
    return step === 0 ? [] : [{ step, version: '0.1.0', oldest: step, digest: null }];
  }
  return db
    .prepare(`SELECT step, version, oldest, digest FROM ${STEP_TABLE} ORDER BY step`)
    .all() as DoneStep[];
}

/** Whether the database has at least the tables and indexes that these steps make. */
function hasTables(db: Readable, steps: readonly Step[]): boolean {
  const model = new DatabaseSync(':memory:');
  try {
    model.exec(statementsOf({ engine: 'sqlite', done: [], steps }));
    const found = new Set(madeBy(db));
    return madeBy(model).every((sql) => found.has(sql) || sql.includes(STEP_TABLE));
  } finally {
    model.close();
  }
}

function madeBy(db: Readable): string[] {
  const rows = db.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').all() as { sql: string }[];
  return rows.map(({ sql }) => bare(sql));
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

function isEmpty(db: Readable): boolean {
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
