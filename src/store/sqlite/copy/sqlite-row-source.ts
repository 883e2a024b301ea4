import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { ColumnValue, RowSource, Table, TableColumn, TableRow } from '../../copy/table-rows.ts';
import { STEP_TABLE, versionOf } from '../../versions/steps.ts';
import { decodeText, encodeText } from '../connection.ts';
import { storeFailure } from '../failure.ts';
import { takeLock } from '../lock.ts';
import { refuseForeign } from '../prepare-schema.ts';
import { requireStoreFile } from '../private-files.ts';

/** How much of a table is held at a time: this many rows, or this many characters and bytes. */
const MAX_ROWS = 1_000;
const MAX_SIZE = 4 * 1024 * 1024;

const BUSY_TIMEOUT_MS = 5_000;

/**
 * The last numbers given: from `sqlite_sequence`, and the event numbers that digests remember though the events may
 * be gone.
 */
const LAST_NUMBERS = `SELECT name, seq FROM sqlite_sequence
  UNION ALL SELECT 'event', max(CASE WHEN json_valid(body) THEN body ->> '$.lastEvent' END) FROM digest`;

/** Opens the store in a file as the source of a copy. Throws `store_locked` while a daemon uses it. */
export function openSqliteSource(path: string): RowSource {
  requireStoreFile(path);
  const unlock = takeLock(path);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, readOnly: true });
    const { done } = refuseForeign(db, path);
    db.exec('BEGIN');
    return createSource(db, path, versionOf(done), unlock);
  } catch (error) {
    db?.close();
    unlock();
    throw storeFailure(error, path);
  }
}

function createSource(db: DatabaseSync, path: string, version: number, unlock: () => void): RowSource {
  return {
    shown: `sqlite:${path}`,
    version,
    tables: tablesOf(db),
    ...rowsOf(db, path),
    async lastNumbers() {
      const rows = db.prepare(LAST_NUMBERS);
      rows.setReadBigInts(true);
      const numbers = rows.all() as { name: string; seq: bigint | null }[];
      return new Map(numbers.flatMap(({ name, seq }) => (seq === null ? [] : [[name, seq]])));
    },
    async close() {
      db.close();
      unlock();
    },
  };
}

/** Reads rows of an open database; the same for a source and for a finished copy. */
export function rowsOf(db: DatabaseSync, path: string): Pick<RowSource, 'count' | 'read'> {
  return {
    async count(table) {
      return Number(Object.values(db.prepare(`SELECT count(*) FROM ${table}`).get()!)[0]);
    },
    async *read(table, columns) {
      try {
        yield* batchesOf(db, table, columns);
      } catch (error) {
        throw storeFailure(error, path);
      }
    },
  };
}

function* batchesOf(
  db: DatabaseSync,
  { name, key }: Table,
  columns: readonly string[],
): Iterable<readonly TableRow[]> {
  const statement = db.prepare(`SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${key.join(', ')}`);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  let batch: TableRow[] = [];
  let size = 0;
  for (const row of statement.iterate() as Iterable<unknown>) {
    const values = (row as ColumnValue[]).map(decoded);
    batch.push(values);
    for (const value of values) size += typeof value === 'string' || isBytes(value) ? value.length : 0;
    if (batch.length < MAX_ROWS && size < MAX_SIZE) continue;
    yield batch;
    batch = [];
    size = 0;
  }
  if (batch.length > 0) yield batch;
}

export function sqliteValue(value: ColumnValue): SQLInputValue {
  return typeof value === 'string' ? encodeText(value) : value;
}

function decoded(value: ColumnValue): ColumnValue {
  return typeof value === 'string' ? decodeText(value) : value;
}

function isBytes(value: ColumnValue): value is Uint8Array {
  return value instanceof Uint8Array;
}

interface ColumnRow {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly hidden: number;
  /** Its position in the primary key, from 1; 0 if it is not part of it. */
  readonly pk: number;
}

const KINDS: ReadonlyMap<string, TableColumn['kind']> = new Map([
  ['INTEGER', 'integer'],
  ['REAL', 'real'],
  ['TEXT', 'text'],
  ['BLOB', 'blob'],
]);

/** The tables of a store, without SQLite's own and the steps it has done. */
function tablesOf(db: DatabaseSync): Table[] {
  const rows = db
    .prepare(
      `SELECT "table".name AS "table", "column".name, "column".type, "column".hidden, "column".pk
       FROM sqlite_schema AS "table" JOIN pragma_table_xinfo("table".name) AS "column"
       WHERE "table".type = 'table' AND "table".name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND "table".name <> '${STEP_TABLE}'
       ORDER BY "table".name, "column".cid`,
    )
    .all() as unknown as ColumnRow[];
  return [...Map.groupBy(rows, ({ table }) => table)].map(([name, columns]) => ({
    name,
    columns: columns.map((column) => ({
      name: column.name,
      kind: KINDS.get(column.type)!,
      isComputed: column.hidden > 0,
      isFromBody: false,
    })),
    key: columns
      .filter(({ pk }) => pk > 0)
      .sort((one, other) => one.pk - other.pk)
      .map((column) => column.name),
  }));
}
