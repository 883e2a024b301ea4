/**
 * One SQLite connection with what the rest of this room relies on:
 *
 * - Text survives exactly. SQLite keeps UTF-8, which cannot hold half of a surrogate pair; such text is kept as JSON
 *   that begins with a quotation mark, and so is text that begins with one itself.
 * - Failures are translated once, here.
 * - A transaction in which a statement failed is over: SQLite may have rolled it back by itself, and what came next
 *   would be committed alone. Every later statement of it throws the same failure. So none has to be taken back by itself:
 *   `INSERT OR FAIL` spares SQLite a copy of each page that an insert of many rows changes.
 * - A statement is planned once. SQLite looks at the value of a bare `LIMIT ?` while it plans, and plans anew for each
 *   value that is bound: that cost several times what the statement itself does. It cannot look into a sum.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { storeFailure } from './failure.ts';
import { HeldWrites } from './held-writes.ts';
import { makePrivateFile } from './private-files.ts';

export type Value = string | number | null | Uint8Array;

export interface Statement<Row> {
  all(...values: Value[]): Row[];
  get(...values: Value[]): Row | undefined;
  /** Returns the number of rows that it changed. */
  run(...values: Value[]): number;
}

export interface Connection {
  /**
   * `Row` names the columns with what they hold; the caller vouches for it. The statement is planned when it first
   * runs: a store has hundreds, of which most runs need few.
   */
  prepare<Row = unknown>(sql: string): Statement<Row>;
  /** Runs statements without results, outside of the rule on failed transactions. */
  exec(sql: string): void;
  /** What rooms hold back until a statement of this connection could see it. */
  readonly held: HeldWrites;
  isTransaction(): boolean;
  /** The first failure of a statement since `forget`. */
  failure(): unknown;
  forget(): void;
  close(): void;
}

/** How long to wait for another program that writes to the store, say an `sqlite3` shell; nothing else runs then. */
const BUSY_TIMEOUT_MS = 250;

export function openConnection(path: string): Connection {
  function translated<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      throw storeFailure(error, path);
    }
  }

  if (path !== ':memory:') makePrivateFile(path);
  const db = translated(() => new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, defensive: true }));
  const held = new HeldWrites();
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
        before();
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

/** A list of texts as one parameter, to be read by `json_each`. */
export function textList(texts: readonly string[]): string {
  return JSON.stringify(texts.map(encodeText));
}

/** A text as it is kept; for one that stands in a list in JSON. */
export function encodeText(text: string): string {
  return text.startsWith('"') || !text.isWellFormed() ? JSON.stringify(text) : text;
}

export function decodeText(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    // Another program wrote it: it is what it is.
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
