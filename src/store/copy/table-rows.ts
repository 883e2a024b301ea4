/**
 * Defines a store's content as rows of tables, for copying it between engines and checking it.
 *
 * Why rows, rather than the repositories of a transaction: stored records refer to each other by numbers (an alert to
 * its events, a notification to both) that no repository exposes, and each repository would need a way to list and to
 * import everything. Tables and columns with the same name mean the same on each engine.
 */
import { DatabaseSync } from 'node:sqlite';
import type { Alert } from '../../domain/alert/alert.ts';
import { fromAlertBody } from '../sql/alerted/alerts.ts';
import type { Row, Sql, Value } from '../sql/sql.ts';
import { STEP_TABLE, STEPS, statementsOf } from '../versions/steps.ts';

export interface Table {
  readonly name: string;
  /** Without those that the database computes from others, and those that repeat a body on PostgreSQL. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** The columns of its primary key. */
  readonly key: readonly string[];
}

interface Side {
  /** The store as shown to people. */
  readonly shown: string;
  /** Reads a single snapshot, or writes a single transaction. */
  readonly sql: Sql;
  close(): Promise<void>;
}

/** A store that is read. */
export interface RowSource extends Side {
  /** The version of its tables. */
  readonly version: number;
  /** The last number given, by table, for tables whose rows are numbered; only where no row shows it. */
  lastNumbers(): Promise<ReadonlyMap<string, number>>;
}

/** A store that is being built from rows. Until `finish` there is none, and after `close` without it nothing is left. */
export interface RowTarget extends Side {
  /** Makes numbering continue where the source's does. */
  setLastNumbers(numbers: ReadonlyMap<string, number>): Promise<void>;
  /** Turns the target into an ordinary store. */
  finish(): Promise<void>;
}

/** How much of a table is held at a time: this many rows, or this many bytes. */
const MAX_ROWS = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;

const TYPES: ReadonlyMap<string, string> = new Map([
  ['INTEGER', 'bigint'],
  ['REAL', 'float8'],
  ['TEXT', 'text'],
  ['BLOB', 'bytea'],
]);

interface ColumnRow {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  /** Its position in the primary key, from 1; 0 if it is not part of it. */
  readonly pk: number;
}

/** The tables of this version, ordered by name, as SQLite tells them; without those of an engine's own. */
export function allTables(): Table[] {
  const model = new DatabaseSync(':memory:');
  try {
    model.exec(statementsOf({ engine: 'sqlite', done: [], steps: STEPS }));
    const rows = model
      .prepare(
        `SELECT "table".name AS "table", "column".name, "column".type, "column".pk
         FROM sqlite_schema AS "table" JOIN pragma_table_xinfo("table".name) AS "column"
         WHERE "table".type = 'table' AND "table".name NOT IN ('sqlite_sequence', '${STEP_TABLE}') AND hidden = 0
         ORDER BY "table".name, "column".cid`,
      )
      .all() as unknown as ColumnRow[];
    return [...Map.groupBy(rows, ({ table }) => table)].map(([name, columns]) => ({
      name,
      columns: columns.map((column) => ({ name: column.name, type: TYPES.get(column.type)! })),
      key: columns
        .filter(({ pk }) => pk > 0)
        .sort((one, other) => one.pk - other.pk)
        .map((column) => column.name),
    }));
  } finally {
    model.close();
  }
}

/** The rows ordered by key, some at a time: the database measures how many fit the limit; at least one. */
export async function* readRows(sql: Sql, { name, columns, key }: Table): AsyncIterable<readonly Row[]> {
  const keys = key.join(', ');
  const sizes = columns
    .filter(({ type }) => type === 'text' || type === 'bytea')
    .map((column) => `coalesce(octet_length(${column.name}), 0)`);
  const typeOf = (named: string) => columns.find((column) => column.name === named)!.type;
  const bounds = key.map((named, index) => `$${index + 1}::${typeOf(named)}`).join(', ');
  const page = (after: string) => `SELECT ${columns.map((_, index) => `c${index}`).join(', ')} FROM (
      SELECT ${columns.map((column, index) => `${column.name} AS c${index}`).join(', ')},
        sum(${['0', ...sizes].join(' + ')}) OVER so_far AS bytes, row_number() OVER so_far AS at
      FROM (SELECT * FROM ${name} ${after} ORDER BY ${keys} LIMIT ${MAX_ROWS}) AS page
      WINDOW so_far AS (ORDER BY ${keys} ROWS UNBOUNDED PRECEDING)) AS measured
    WHERE bytes <= ${MAX_BYTES} OR at = 1 ORDER BY at`;
  let after: Value[] = [];
  for (;;) {
    const text = page(after.length === 0 ? '' : `WHERE (${keys}) > (${bounds})`);
    const rows = (await sql.rows<object>(text, ...after)).map((row): Row => Object.values(row));
    const last = rows.at(-1);
    if (!last) return;
    yield rows;
    after = key.map((named) => last[columns.findIndex((column) => column.name === named)]!);
  }
}

/** Writes rows that `readRows` has read. */
export async function writeRows(sql: Sql, { name, columns }: Table, rows: readonly Row[]): Promise<void> {
  const repeatsBody = sql.engine === 'postgres' && name === 'alert';
  const all = repeatsBody ? [...columns, ...FROM_BODY] : columns;
  const body = columns.findIndex((column) => column.name === 'body');
  await sql.write(
    {
      columns: all.map((column) => `${column.name} ${column.type}`).join(', '),
      text: (given) =>
        `INSERT INTO ${name} (${all.map((column) => column.name).join(', ')}) SELECT * FROM ${given} WHERE true`,
    },
    repeatsBody ? rows.map((row) => [...row, ...valuesFromBody(String(row[body]))]) : rows,
  );
}

/** The columns of an alert that only PostgreSQL has: it cannot read all JSON that a body may hold. */
const FROM_BODY = [
  { name: 'labels', type: 'text' },
  { name: 'flight_id', type: 'text' },
  { name: 'flight_started_us', type: 'bigint' },
];

function valuesFromBody(body: string): Row {
  try {
    return fromAlertBody(JSON.parse(body) as Alert);
  } catch {
    // The row is set aside where it is read.
    return ['{}', '', 0];
  }
}
