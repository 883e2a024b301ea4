/** What repositories use to run statements in the current transaction, with `$1`, `$2` … for values. */
import type { Sql, Value } from '../sql/sql.ts';

export type Statements = Pick<Sql, 'rows' | 'first' | 'run' | 'composed'>;

/**
 * Sends many rows as one parameter per column, so that any number takes one round trip: `given('id text, seq
 * bigint')` is `unnest($1::text[], $2::bigint[]) AS given (id, seq)`, to be run with `columnsOf(2, rows)`.
 */
export function given(columns: string): string {
  const all = columns.split(',').map((column) => column.trim().split(/\s+/));
  const lists = all.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ');
  return `unnest(${lists}) AS given (${all.map(([name]) => name).join(', ')})`;
}

/** The lists that `given` reads; `width` is the number of columns, needed if there are no rows. */
export function columnsOf(width: number, rows: readonly (readonly Value[])[]): Value[][] {
  return Array.from({ length: width }, (_, column) => rows.map((row) => row[column]!));
}
