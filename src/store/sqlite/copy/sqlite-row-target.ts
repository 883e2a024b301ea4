import { existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { NestwatchError } from '../../../errors.ts';
import {
  COPY_MARK,
  MARK_TABLE,
  ORIGIN,
  originOf,
  originText,
  progressOf,
  progressText,
} from '../../copy/copy-mark.ts';
import type { RowTarget, Table } from '../../copy/table-rows.ts';
import { STEPS, statementsOf } from '../../versions/steps.ts';
import { storeFailure } from '../failure.ts';
import { takeLock } from '../lock.ts';
import { APPLICATION_ID, COPYING_ID, configure, isEmpty, pragma } from '../prepare-schema.ts';
import { makePrivateFile, syncFile, trueName } from '../private-files.ts';
import { rowsOf, sqliteValue, tablesOf } from './sqlite-row-source.ts';

const TABLES = statementsOf({ engine: 'sqlite', done: [], steps: STEPS });

/** For indexes, whose order differs from that of the rows written. */
const CACHE_KIB = 65_536;

const PUT_MARK = `INSERT INTO ${COPY_MARK} (name, body) VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body`;

/**
 * Opens a file to copy into: a new one, or one that an earlier copy has begun. Throws `usage` for any other, and
 * `store_locked` while it is in use.
 */
export function openSqliteTarget(path: string): RowTarget {
  const file = trueName(path);
  const unlock = takeLock(file);
  try {
    return createTarget(file, openUnfinished(file), unlock);
  } catch (error) {
    unlock();
    throw storeFailure(error, file);
  }
}

function openUnfinished(file: string): DatabaseSync | undefined {
  if (!existsSync(file)) {
    if (!existsSync(`${file}-wal`)) return undefined;
    throw new NestwatchError(
      'usage',
      `${file}-wal belongs to a store that was there: move it to where that one is now`,
    );
  }
  const db = new DatabaseSync(file);
  try {
    if (pragma(db, 'application_id') === COPYING_ID) {
      settleIn(db);
      return db;
    }
    if (!isEmpty(db)) throw new NestwatchError('usage', `${file} is there already: name a new file`);
    db.close();
    return undefined;
  } catch (error) {
    if (db.isOpen) db.close();
    throw error;
  }
}

function createTarget(file: string, opened: DatabaseSync | undefined, unlock: () => void): RowTarget {
  let db = opened;
  const open = (): DatabaseSync => {
    if (!db) throw new Error('A copy must begin before it goes on.');
    return db;
  };
  async function translated<T>(work: () => T): Promise<T> {
    try {
      return work();
    } catch (error) {
      if (db?.isTransaction) db.exec('ROLLBACK');
      throw storeFailure(error, file);
    }
  }
  const tables = emptyTables();
  return {
    shown: `sqlite:${file}`,
    version: STEPS.length,
    tables,
    count: (table) => rowsOf(open(), file).count(table),
    read: (table, columns, after) => rowsOf(open(), file).read(table, columns, after),
    begun: () =>
      translated(() => {
        const mark = db && marksOf(db).get(ORIGIN);
        return mark === undefined ? undefined : originOf(mark);
      }),
    begin: (origin) =>
      translated(() => {
        db?.close();
        for (const ending of ['', '-wal', '-shm']) rmSync(`${file}${ending}`, { force: true });
        makePrivateFile(file);
        db = new DatabaseSync(file);
        settleIn(db);
        db.exec(`BEGIN IMMEDIATE; ${TABLES} ${MARK_TABLE} STRICT, WITHOUT ROWID`);
        run(db, PUT_MARK, ORIGIN, originText(origin));
        db.exec(`PRAGMA application_id = ${COPYING_ID}; PRAGMA user_version = ${STEPS.length}; COMMIT`);
        syncFile(dirname(file));
      }),
    progress: () =>
      translated(() => {
        const marks = marksOf(open());
        marks.delete(ORIGIN);
        return new Map([...marks].map(([table, body]) => [table, progressOf(body)]));
      }),
    write: ({ name }, columns, rows, progress) =>
      translated(() => {
        const insert = open().prepare(
          `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
        );
        insert.setReadBigInts(true);
        open().exec('BEGIN IMMEDIATE');
        for (const row of rows) insert.run(...row.map(sqliteValue));
        run(open(), PUT_MARK, name, progressText(progress));
        open().exec('COMMIT');
      }),
    setLastNumbers: (numbers) => translated(() => setLastNumbers(open(), numbers)),
    finish: () =>
      translated(() => {
        open().exec(
          `BEGIN IMMEDIATE; DROP TABLE ${COPY_MARK}; PRAGMA application_id = ${APPLICATION_ID}; COMMIT`,
        );
      }),
    async close() {
      db?.close();
      unlock();
    },
  };
}

function settleIn(db: DatabaseSync): void {
  configure(db);
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
}

function marksOf(db: DatabaseSync): Map<string, string> {
  const rows = db.prepare(`SELECT name, body FROM ${COPY_MARK}`).all() as { name: string; body: string }[];
  return new Map(rows.map(({ name, body }) => [name, body]));
}

/** The tables that the copy will have. */
function emptyTables(): Table[] {
  const db = new DatabaseSync(':memory:');
  try {
    db.exec(TABLES);
    return tablesOf(db);
  } finally {
    db.close();
  }
}

/** For tables whose numbers are never reused; for others the repositories find out the last number. */
function setLastNumbers(db: DatabaseSync, numbers: ReadonlyMap<string, bigint>): void {
  const never = db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'`)
    .all() as { name: string }[];
  for (const { name } of never) {
    const last = numbers.get(name);
    if (last === undefined) continue;
    const changes = run(db, 'UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?', last, name);
    if (changes === 0n) run(db, 'INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', name, last);
  }
}

/**
 * Numbers are read as `bigint`: otherwise the statement after the insert of a row with a large number throws because
 * of it.
 */
function run(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): bigint {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return BigInt(statement.run(...values).changes);
}
