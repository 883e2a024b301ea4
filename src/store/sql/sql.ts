/**
 * What a repository runs that is written once for both engines. Its texts are PostgreSQL's, with `$1`, `$2` … for
 * values; the adapter of SQLite (`../sqlite/connection.ts`) rewrites the few things that differ. Where a plan or a
 * feature differs, a repository asks for `engine` and has two texts, side by side.
 */

export type Value = string | number | boolean | null | Uint8Array;
/** The server's clock, not that of any replica; on SQLite, where nobody else writes, that of the process. */
export const NOW_US = {
  sqlite: 'now_us()',
  postgres: '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint',
};

export type Row = readonly Value[];
/** A list is sent as one parameter: `= ANY($1::text[])`. On SQLite it may consist of rows, for `json_each($1)`. */
export type Parameter = Value | readonly Value[] | readonly Row[];

/** A statement that reads or writes many rows, which its text finds in the table `given`. */
export interface RowStatement {
  /** `key text, next_us bigint` */
  readonly columns: string;
  readonly text: (given: string) => string;
}

/** What a repository has held back. */
export interface HeldRows {
  readonly statement: RowStatement;
  readonly rows: readonly Row[];
  /** The error if not every row is written. */
  readonly missing?: string;
  /** Called with the rows that the statement returns, before the next of `HeldRows` is asked for. */
  readonly returned?: (rows: readonly unknown[]) => void;
}

export interface Sql {
  readonly engine: 'sqlite' | 'postgres';
  /** The rows of a statement. `R` describes the columns; the caller vouches for it. */
  rows<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R[]>;
  first<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R | undefined>;
  /** The rows of a statement whose text varies, so that nothing is kept of it. */
  composed<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R[]>;
  /** Returns how many rows changed. */
  run(sql: string, ...parameters: readonly Parameter[]): Promise<number>;
  /** Writes these rows, of which no two may have the same key (`lastOfEach`). Returns how many changed. */
  write(statement: RowStatement, rows: readonly Row[]): Promise<number>;
  /** The rows that such a statement returns. */
  returning<R>(statement: RowStatement, rows: readonly Row[]): Promise<R[]>;
  /**
   * Registers what a repository may hold back: `write` takes all of it. The repository calls the returned function when
   * it holds something.
   */
  hold(held: Held<() => Iterable<HeldRows>>): () => void;
  /** Writes everything that repositories hold back. */
  writeHeld(): Promise<void>;
  /** Discards everything that repositories hold back, because the transaction was rolled back. */
  forgetHeld(): void;
  /** Lets other work run. */
  pause(): Promise<void>;
}

/** What only runs statements, in the current transaction. */
export type Statements = Pick<Sql, 'rows' | 'first' | 'run' | 'composed'>;

/** A statement that writes rows, replacing those with the same key. */
export function upsertRows(table: string, columns: string, key: string): RowStatement {
  const names = namesOf(columns);
  const others = names.filter((name) => !key.split(', ').includes(name));
  // Without the condition, SQLite takes `ON` for that of a join.
  return {
    columns,
    text: (given) => `INSERT INTO ${table} (${names.join(', ')}) SELECT * FROM ${given} WHERE true
      ON CONFLICT (${key}) DO UPDATE SET ${others.map((name) => `${name} = excluded.${name}`).join(', ')}`,
  };
}

export function namesOf(columns: string): string[] {
  return columns.split(',').map((column) => column.trim().split(/\s+/)[0]!);
}

/** For each key the last item, in the order in which the keys first occur. */
export function lastOfEach<T>(all: readonly T[], keyOf: (one: T) => string): readonly T[] {
  const last = new Map<string, T>();
  for (const one of all) last.set(keyOf(one), one);
  return last.size === all.length ? all : [...last.values()];
}

/**
 * Numbers for new rows, never given before: SQLite would use that of a deleted row again, to which other rows may still
 * refer. Numbers used by a transaction that was rolled back are skipped. `newest` reads the greatest ever given, as
 * `last`. Resolves to the first of `count` consecutive numbers; to 1 on a server, which numbers rows by itself.
 */
export function createNumbering(sql: Sql, newest: string): (count: number) => Promise<number> {
  let last: number | undefined;
  return async (count) => {
    if (sql.engine === 'postgres') return 1;
    if (last === undefined) {
      const found = await sql.first<{ last: number | null }>(newest);
      last ??= found!.last ?? 0;
    }
    last += count;
    return last - count + 1;
  };
}

/**
 * Holds back writes within a transaction, so that many rows take few statements, and a row that changes twice is
 * written once. This is invisible: held writes are executed before any statement that could see them, and before the
 * transaction or a part of it ends.
 */

/** What a repository holds back, and when it must be written. */
export interface Held<Write> {
  /** The tables it writes: any statement that reads or writes one of them comes after it. */
  readonly writes: readonly string[];
  /** The tables it reads while it is written: any statement that writes one of them comes after it. */
  readonly reads: readonly string[];
  /** Writes everything held, of which there may be nothing. */
  readonly write: Write;
  /** Discards everything held, because the transaction was rolled back. */
  readonly forget: () => void;
}

/** In the text of a statement whose caller looks itself at what is held, so that it needs not be written before. */
export const BESIDE_HELD = '/* BESIDE HELD */';

const NOTHING: readonly never[] = [];

/** `Write` is what a store calls to write what a repository holds: a statement in SQLite, a request to a server. */
export class HeldWrites<Write> {
  readonly #all: Held<Write>[] = [];
  /** Those that hold something. */
  readonly #waiting = new Set<Held<Write>>();

  /** Registers what a repository may hold back. The repository calls the returned function when it holds something. */
  add(held: Held<Write>): () => void {
    this.#all.push(held);
    return () => this.#waiting.add(held);
  }

  /** Returns a function to call before each run of this statement: it takes what must be written first. */
  before(sql: string): () => Iterable<Write> {
    let concerned: readonly Held<Write>[] | undefined;
    return () => {
      if (this.#waiting.size === 0) return NOTHING;
      // Computed late, since repositories register after others have prepared their statements.
      concerned ??= sql.includes(BESIDE_HELD) ? [] : this.#concernedBy(sql);
      return this.#take(concerned);
    };
  }

  #concernedBy(sql: string): readonly Held<Write>[] {
    const names = new Set(sql.match(/\w+/g));
    const written = new Set(
      [...sql.matchAll(/\b(?:INTO|UPDATE|DELETE FROM)\s+(\w+)/g)].map(([, table = '']) => table),
    );
    return this.#all.filter(
      ({ writes, reads }) =>
        writes.some((table) => names.has(table)) || reads.some((table) => written.has(table)),
    );
  }

  /** Takes everything that is held. */
  all(): Iterable<Write> {
    return this.#take(this.#waiting);
  }

  *#take(some: Iterable<Held<Write>>): Iterable<Write> {
    for (const held of some) {
      // Removed first, so that its own statements do not trigger it again.
      if (this.#waiting.delete(held)) yield held.write;
    }
  }

  forget(): void {
    for (const { forget } of this.#waiting) forget();
    this.#waiting.clear();
  }
}
