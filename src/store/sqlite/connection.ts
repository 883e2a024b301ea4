/**
 * Opens an SQLite connection with the properties that the rest of this folder relies on:
 *
 * - Text is kept exactly. SQLite stores UTF-8, which cannot hold half of a surrogate pair. Such text is stored as
 *   JSON, which begins with a quotation mark; so is text that itself begins with one.
 * - Failures are translated once, here.
 * - A transaction in which a statement failed is over: SQLite may already have rolled it back, and later statements
 *   would be committed on their own. So every later statement of it throws the same failure. Therefore no single
 *   statement has to be rolled back, and `INSERT OR FAIL` spares SQLite a copy of each page that an insert of many
 *   rows changes.
 * - Each statement is planned once. SQLite takes the value of a bare `LIMIT ?` into the plan and plans again for each
 *   new value, which costs several times the statement itself. It cannot do that with a sum.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { HeldWrites } from '../rows/held-writes.ts';
import { storeFailure } from './failure.ts';
import { makePrivateFile } from './private-files.ts';

export type Value = string | number | null | Uint8Array;

export interface Statement<Row> {
  all(...values: Value[]): Row[];
  get(...values: Value[]): Row | undefined;
  /** Returns the number of rows changed. */
  run(...values: Value[]): number;
}

export interface Connection {
  /**
   * Prepares a statement. `Row` describes the columns; the caller vouches for it. Planning waits until the first run:
   * a store has hundreds of statements, and most processes need few.
   */
  prepare<Row = unknown>(sql: string): Statement<Row>;
  /** Runs statements without results, exempt from the rule about failed transactions. */
  exec(sql: string): void;
  /** Defines a function for statements, whose result differs from call to call. */
  define(name: string, result: () => bigint): void;
  /** Writes that repositories hold back until a statement of this connection could see them. */
  readonly held: HeldWrites<() => void>;
  isTransaction(): boolean;
  /** The first failure of a statement since `forget`. */
  failure(): unknown;
  forget(): void;
  close(): void;
}

/** With `readOnly` the file is not written to, and SQLite waits five seconds for a program that has locked it. */
export function openConnection(path: string, { readOnly = false } = {}): Connection {
  function translated<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      throw storeFailure(error, path);
    }
  }

  if (path !== ':memory:' && !readOnly) makePrivateFile(path);
  // SQLite would wait for another program's lock in the middle of a call, and nothing else would run meanwhile. So
  // whoever needs the lock waits for it: see `transaction-queue.ts` and `when-free.ts`.
  const timeout = readOnly ? 5_000 : 0;
  const db = translated(() => new DatabaseSync(path, { timeout, readOnly, defensive: true }));
  const held = new HeldWrites<() => void>();
  let failed: { readonly error: unknown } | undefined;

  function guarded<T>(call: () => T): T {
    if (failed) throw failed.error;
    try {
      return call();
    } catch (error) {
      failed = { error: storeFailure(error, path) };
      throw failed.error;
    }
  }

  return {
    prepare<Row>(sql: string): Statement<Row> {
      let prepared: StatementSync | undefined;
      const before = held.before(sql);
      const statement = () => {
        for (const write of before()) write();
        prepared ??= db.prepare(withoutCopies(plannedOnce(sql)));
        return prepared;
      };
      return {
        all: (...values) =>
          guarded(() =>
            statement()
              .all(...inputs(values))
              .map((row) => decoded(row) as Row),
          ),
        get: (...values) =>
          guarded(() => {
            const row = statement().get(...inputs(values));
            return row && (decoded(row) as Row);
          }),
        run: (...values) => guarded(() => Number(statement().run(...inputs(values)).changes)),
      };
    },
    define: (name, result) => db.function(name, result),
    held,
    exec: (sql) => translated(() => db.exec(sql)),
    isTransaction: () => db.isTransaction,
    failure: () => failed?.error,
    forget() {
      failed = undefined;
    },
    close: () => translated(() => db.close()),
  };
}

function plannedOnce(sql: string): string {
  return sql.replaceAll(/\bLIMIT (\?\d*)/g, 'LIMIT $1 + 0');
}

function withoutCopies(sql: string): string {
  return sql.replace(/\bINSERT INTO\b/, 'INSERT OR FAIL INTO');
}

/** A list of texts as one parameter for `json_each`. */
export function textList(texts: readonly string[]): string {
  return JSON.stringify(texts.map(encodeText));
}

/** A text as it is stored; also for texts in a JSON list. */
export function encodeText(text: string): string {
  return text.startsWith('"') || !text.isWellFormed() ? JSON.stringify(text) : text;
}

export function decodeText(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    // Another program wrote it; it is returned as it is.
    return text;
  }
}

function inputs(values: Value[]): SQLInputValue[] {
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    if (typeof value === 'string') values[index] = encodeText(value);
  }
  return values;
}

function decoded(row: Record<string, unknown>): Record<string, unknown> {
  for (const column in row) {
    const value = row[column];
    if (typeof value === 'string') row[column] = decodeText(value);
  }
  return row;
}
