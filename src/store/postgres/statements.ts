/** What rooms speak to: statements of the transaction under way, with `$1`, `$2` … for their values. */

export type Value = string | number | boolean | null | Uint8Array;
/** A list goes as one parameter: `unnest($1::text[])`, `= ANY($1::bigint[])`. */
export type Parameter = Value | readonly Value[];

export interface Statements {
  /**
   * The rows of a statement; `Row` names the columns with what they hold; the caller vouches for it. A statement is planned once for each text: texts that
   * are put together from conditions go to `composed`.
   */
  rows<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row[]>;
  first<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row | undefined>;
  /** Returns how many rows it changed. */
  run(sql: string, ...parameters: readonly Parameter[]): Promise<number>;
  /** The rows of a statement whose text is another each time. */
  composed<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row[]>;
}

/**
 * Many rows as one parameter a column, so that however many there are, they take one round trip: `given('id text, seq
 * bigint')` is `unnest($1::text[], $2::bigint[]) AS given (id, seq)`, to be run with `columnsOf(rows)`. With `at`, each
 * row has its position, from 1 on.
 */
export function given(columns: string, { from = 1, at = false } = {}): string {
  const all = named(columns);
  const lists = all.map(({ type }, index) => `$${from + index}::${type}[]`).join(', ');
  const names = all.map(({ name }) => name).join(', ');
  return at
    ? `unnest(${lists}) WITH ORDINALITY AS given (${names}, at)`
    : `unnest(${lists}) AS given (${names})`;
}

/** The lists that `given` reads; `width` is the number of columns, which no rows do not tell. */
export function columnsOf(width: number, rows: readonly (readonly Value[])[]): Value[][] {
  return Array.from({ length: width }, (_, column) => rows.map((row) => row[column]!));
}

/**
 * A statement that writes many rows, each in the place of the one with the same key. No two of them may have the same
 * key: `lastOfEach`.
 */
export function upsert(table: string, columns: string, key: string): string {
  const names = named(columns).map(({ name }) => name);
  const keys = key.split(', ');
  const others = names.filter((name) => !keys.includes(name)).map((name) => `${name} = excluded.${name}`);
  return `INSERT INTO ${table} (${names.join(', ')}) SELECT * FROM ${given(columns)}
    ON CONFLICT (${key}) DO UPDATE SET ${others.join(', ')}`;
}

/** Of those with the same key the last one, in the order of the keys' first. */
export function lastOfEach<T>(all: readonly T[], keyOf: (one: T) => string): T[] {
  return [...new Map(all.map((one) => [keyOf(one), one])).values()];
}

function named(columns: string): { readonly name: string; readonly type: string }[] {
  return columns.split(',').map((column) => {
    const [name = '', type = ''] = column.trim().split(/\s+/);
    return { name, type };
  });
}
