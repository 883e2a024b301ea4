import type { Alert } from '../../../domain/alert/alert.ts';
import type { ColumnValue, RowSource, Table, TableColumn, TableRow } from '../../copy/table-rows.ts';
import { fromAlertBody } from '../../sql/alerted/alerts.ts';
import { OWN_AFFAIRS } from '../../versions/tables.ts';
import { COPY_MARK } from '../migrate.ts';
import type { Statements } from '../statements.ts';
import { openSnapshot, type SnapshotOptions, shownPlace } from './postgres-snapshot.ts';

/** How much of a table is held at a time: this many rows, or this many bytes. */
const MAX_ROWS = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;

/** Opens a store on a server as the source of a copy. With `alone` it throws `store_locked` while a daemon uses it. */
export async function openPostgresSource(options: SnapshotOptions): Promise<RowSource> {
  const { session, version } = await openSnapshot(options);
  try {
    const tables = await tablesOf(session, options.place.schema);
    return {
      shown: shownPlace(options.place),
      version,
      tables,
      ...rowsOf(session),
      lastNumbers: () => lastNumbers(session, tables),
      close: () => session.close(),
    };
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** Reads rows; the same for a source and for a finished copy. */
export function rowsOf(statements: Statements): Pick<RowSource, 'count' | 'read'> {
  return {
    async count(table) {
      return (await statements.first<{ count: number }>(`SELECT count(*) AS count FROM ${table}`))!.count;
    },
    async *read(table, columns) {
      const key = table.key.map((name) => columns.indexOf(name));
      for (let after: TableRow | undefined; ; ) {
        const rows = await pageOf(statements, table, columns, after);
        if (rows.length === 0) return;
        yield rows;
        const last: TableRow = rows.at(-1)!;
        after = key.map((at) => last[at]!);
      }
    },
  };
}

/** Some rows: the server measures how many fit the limit; at least one. */
async function pageOf(
  statements: Statements,
  { name, columns: all, key }: Table,
  columns: readonly string[],
  after: TableRow | undefined,
): Promise<TableRow[]> {
  const wanted = columns.map((column) => all.find((one) => one.name === column)!);
  const keys = key.join(', ');
  const kinds = new Map(all.map((column) => [column.name, column.kind]));
  const bounds = key.map(
    (column, index) => `$${index + 1}::${kinds.get(column) === 'text' ? 'text' : 'bigint'}`,
  );
  const sizes = wanted
    .filter(({ kind }) => kind === 'text' || kind === 'blob')
    .map((column) => `coalesce(octet_length(${column.name}), 0)`);
  const rows = await statements.rows<object>(
    `SELECT ${wanted.map((_, index) => `c${index}`).join(', ')} FROM (
       SELECT ${wanted.map((column, index) => `${readAs(column)} AS c${index}`).join(', ')},
         sum(${['0', ...sizes].join(' + ')}) OVER so_far AS bytes, row_number() OVER so_far AS at
       FROM (SELECT * FROM ${name} ${after ? `WHERE (${keys}) > (${bounds.join(', ')})` : ''}
         ORDER BY ${keys} LIMIT ${MAX_ROWS}) AS page
       WINDOW so_far AS (ORDER BY ${keys} ROWS UNBOUNDED PRECEDING)) AS measured
     WHERE bytes <= ${MAX_BYTES} OR at = 1 ORDER BY at`,
    ...(after ?? []).map(parameterOf),
  );
  return rows.map((row) => Object.values(row).map((value, index) => columnValue(wanted[index]!, value)));
}

/** Integers come as texts, because JavaScript's numbers are exact only up to 2^53. */
function readAs({ name, kind }: TableColumn): string {
  return kind === 'integer' ? `${name}::text` : name;
}

function columnValue({ kind }: TableColumn, value: unknown): ColumnValue {
  if (kind !== 'integer' || value === null) return value as ColumnValue;
  return BigInt(String(value));
}

export function parameterOf(value: ColumnValue): string | number | Uint8Array | null {
  return typeof value === 'bigint' ? String(value) : value;
}

const KINDS: ReadonlyMap<string, TableColumn['kind']> = new Map([
  ['bigint', 'integer'],
  ['integer', 'integer'],
  ['double precision', 'real'],
  ['text', 'text'],
  ['bytea', 'blob'],
]);

export interface ServerColumn extends TableColumn {
  /** The server's name of the type. */
  readonly type: string;
  /** Whether a sequence supplies its numbers. */
  readonly isNumbered: boolean;
}

export interface ServerTable extends Table {
  readonly columns: readonly ServerColumn[];
}

interface ColumnRow {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly computed: boolean;
  readonly numbered: boolean;
  /** Its position in the primary key; null if it is not part of it. */
  readonly key: number | null;
}

/** The tables of a store, without those for the process's own use and the marks of a copy. */
export async function tablesOf(statements: Statements, schema: string): Promise<ServerTable[]> {
  const rows = await statements.rows<ColumnRow>(
    `SELECT relname::text AS table, attname::text AS name, atttypid::regtype::text AS type,
       attgenerated <> '' AS computed, attidentity <> '' AS numbered,
       array_position(indkey::integer[], attnum) AS key
     FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
       LEFT JOIN pg_index ON indrelid = pg_class.oid AND indisprimary
     WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind = 'r' AND relname <> ALL ($2::text[])
     ORDER BY relname::text COLLATE "C", attnum`,
    schema,
    [...OWN_AFFAIRS, COPY_MARK],
  );
  return [...Map.groupBy(rows, ({ table }) => table)].map(([name, columns]) => ({
    name,
    columns: columns.map((column) => ({
      name: column.name,
      kind: KINDS.get(column.type)!,
      type: column.type,
      isComputed: column.computed,
      isFromBody: FROM_BODY.get(name)?.columns.includes(column.name) ?? false,
      isNumbered: column.numbered,
    })),
    key: columns
      .filter(({ key }) => key !== null)
      .sort((one, other) => one.key! - other.key!)
      .map((column) => column.name),
  }));
}

/** The sequence that numbers the rows of a table, and the column that it fills; undefined if there is none. */
export function sequenceOf({ name, columns }: ServerTable): { column: string; sequence: string } | undefined {
  const column = columns.find(({ isNumbered }) => isNumbered)?.name;
  if (column === undefined) return undefined;
  return { column, sequence: `pg_get_serial_sequence('${name}', '${column}')::regclass` };
}

async function lastNumbers(
  statements: Statements,
  tables: readonly ServerTable[],
): Promise<ReadonlyMap<string, bigint>> {
  const numbers = new Map<string, bigint>();
  for (const table of tables) {
    const numbered = sequenceOf(table);
    if (!numbered) continue;
    const row = await statements.first<{ last: string | null }>(
      `SELECT pg_sequence_last_value(${numbered.sequence})::text AS last`,
    );
    if (row && row.last !== null) numbers.set(table.name, BigInt(row.last));
  }
  return numbers;
}

/**
 * Computes the columns that only PostgreSQL has: they repeat parts of their row's body, because the server cannot
 * read all JSON that a body may hold.
 */

interface FromBody {
  readonly columns: readonly string[];
  /** Reads the values of these columns. Throws for a body that nestwatch did not write. */
  readonly read: (body: string) => readonly (string | number | null)[];
  /** The values for an unreadable body, whose row is set aside when the store is opened. */
  readonly unreadable: readonly ColumnValue[];
}

export const FROM_BODY: ReadonlyMap<string, FromBody> = new Map([
  [
    'alert',
    {
      columns: ['labels', 'flight_id', 'flight_started_us'],
      read: (body) => fromAlertBody(JSON.parse(body) as Alert),
      unreadable: ['{}', '', 0n],
    },
  ],
]);

/** The values of the columns of `table` that repeat its body; none for a table without such columns. */
export function valuesFromBody(table: string, body: ColumnValue): readonly ColumnValue[] {
  const fromBody = FROM_BODY.get(table);
  if (!fromBody) return [];
  try {
    return fromBody.read(String(body)).map((value) => (typeof value === 'number' ? BigInt(value) : value));
  } catch {
    return fromBody.unreadable;
  }
}
