import type { Connection, Statement, Value } from './connection.ts';

/** Rows per statement. With powers of two, any number of rows takes few statements, and each is prepared once. */
const SIZES = [128, 64, 32, 16, 8, 4, 2, 1] as const;

/**
 * Prepares statements that write many rows at once, at a third of the cost of single ones. `sql` receives the text of
 * the rows, `(?, …), (?, …)`, for as many rows as a chunk has; `fill` appends the values of one row. Returns how many
 * rows changed.
 */
export function prepareChunks(
  connection: Connection,
  columns: number,
  sql: (rows: string) => string,
): (rowCount: number, fill: (row: number, values: Value[]) => void) => number {
  const each = eachChunk(connection, columns, sql);
  return (rowCount, fill) => {
    let changed = 0;
    each(rowCount, fill, (statement, values) => {
      changed += statement.run(...values);
    });
    return changed;
  };
}

/** Calls `use` with the statement and the values of each chunk. */
export function eachChunk(connection: Connection, columns: number, sql: (rows: string) => string) {
  const row = `(${Array(columns).fill('?').join(', ')})`;
  const statements = new Map<number, Statement<unknown>>();
  for (const size of SIZES) {
    statements.set(size, connection.prepare(sql(Array(size).fill(row).join(', '))));
  }
  return (
    rowCount: number,
    fill: (row: number, values: Value[]) => void,
    use: (statement: Statement<unknown>, values: Value[]) => void,
  ) => {
    let next = 0;
    for (const size of SIZES) {
      for (; rowCount - next >= size; next += size) {
        const values: Value[] = [];
        for (let index = next; index < next + size; index += 1) fill(index, values);
        use(statements.get(size)!, values);
      }
    }
  };
}
