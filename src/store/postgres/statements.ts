/** What repositories use to run statements in the current transaction, with `$1`, `$2` … for values. */
import type { Parameter, Value } from '../sql/sql.ts';

export interface Statements {
  /**
   * The rows of a statement. `Row` describes the columns; the caller vouches for it. Each text is planned once, so
   * texts that are composed of conditions go to `composed`.
   */
  rows<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row[]>;
  first<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row | undefined>;
  /** Returns how many rows changed. */
  run(sql: string, ...parameters: readonly Parameter[]): Promise<number>;
  /** The rows of a statement whose text varies. */
  composed<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row[]>;
}

/**
 * Sends many rows as one parameter per column, so that any number takes one round trip: `given('id text, seq
 * bigint')` is `unnest($1::text[], $2::bigint[]) AS given (id, seq)`, to be run with `columnsOf(2, rows)`. With `at`,
 * each row has its position, from 1.
 */
export function given(columns: string, { from = 1, at = false } = {}): string {
  const all = named(columns);
  const lists = all.map(({ type }, index) => `$${from + index}::${type}[]`).join(', ');
  const names = all.map(({ name }) => name).join(', ');
  return at
    ? `unnest(${lists}) WITH ORDINALITY AS given (${names}, at)`
    : `unnest(${lists}) AS given (${names})`;
}

/** The lists that `given` reads; `width` is the number of columns, needed if there are no rows. */
export function columnsOf(width: number, rows: readonly (readonly Value[])[]): Value[][] {
  return Array.from({ length: width }, (_, column) => rows.map((row) => row[column]!));
}

/**
 * A statement that writes many rows, replacing those with the same key. No two of the rows may have the same key; see
 * `lastOfEach`.
 */
export function upsert(table: string, columns: string, key: string): string {
  const names = named(columns).map(({ name }) => name);
  const keys = key.split(', ');
  const others = names.filter((name) => !keys.includes(name)).map((name) => `${name} = excluded.${name}`);
  return `INSERT INTO ${table} (${names.join(', ')}) SELECT * FROM ${given(columns)}
    ON CONFLICT (${key}) DO UPDATE SET ${others.join(', ')}`;
}

function named(columns: string): { readonly name: string; readonly type: string }[] {
  return columns.split(',').map((column) => {
    const [name = '', type = ''] = column.trim().split(/\s+/);
    return { name, type };
  });
}
