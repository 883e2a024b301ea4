import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { RowTarget } from '../../copy/table-rows.ts';
import { STEPS, statementsOf } from '../../versions/steps.ts';
import { storeFailure } from '../failure.ts';
import { takeLock } from '../lock.ts';
import { makePartial, namePartial, removePartial } from '../partial-file.ts';
import { APPLICATION_ID, configure } from '../prepare-schema.ts';
import { trueName } from '../private-files.ts';
import { rowsOf, sqliteValue } from './sqlite-row-source.ts';

/** For indexes, whose order differs from that of the rows written. */
const CACHE_KIB = 65_536;

/**
 * Opens a new file to copy into, which gets its name when it is whole. Throws `usage` if there is a file already, and
 * `store_locked` while a daemon is about to make one.
 */
export function openSqliteTarget(path: string): RowTarget {
  const file = trueName(path);
  const unlock = takeLock(file);
  try {
    const partial = makePartial(file);
    const db = new DatabaseSync(partial);
    configure(db);
    // Nothing needs to be durable before the file gets its name.
    db.exec(`PRAGMA synchronous = OFF; PRAGMA cache_size = -${CACHE_KIB}; BEGIN IMMEDIATE;
      ${statementsOf({ engine: 'sqlite', done: [], steps: STEPS })}
      PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${STEPS.length}; COMMIT`);
    return createTarget(db, file, unlock);
  } catch (error) {
    removePartial(file);
    unlock();
    throw storeFailure(error, file);
  }
}

function createTarget(db: DatabaseSync, file: string, unlock: () => void): RowTarget {
  async function translated(work: () => void): Promise<void> {
    try {
      work();
    } catch (error) {
      throw storeFailure(error, file);
    }
  }
  return {
    shown: `sqlite:${file}`,
    read: rowsOf(db, file).read,
    write: ({ name }, columns, rows) =>
      translated(() => {
        const insert = db.prepare(
          `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
        );
        insert.setReadBigInts(true);
        db.exec('BEGIN IMMEDIATE');
        for (const row of rows) insert.run(...row.map(sqliteValue));
        db.exec('COMMIT');
      }),
    setLastNumbers: (numbers) => translated(() => setLastNumbers(db, numbers)),
    finish: () =>
      translated(() => {
        db.close();
        namePartial(file);
      }),
    async close() {
      if (db.isOpen) db.close();
      removePartial(file);
      unlock();
    },
  };
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
