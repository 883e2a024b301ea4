/**
 * Opens an SQLite connection with the properties that the rest of this folder relies on:
 *
 * - Text is kept exactly (`../sql/stored-text.ts`).
 * - Failures are translated once, here.
 * - A transaction in which a statement failed is over: SQLite may already have rolled it back, and later statements
 *   would be committed on their own. So every later statement of it throws the same failure. Therefore no single
 *   statement has to be rolled back, and `INSERT OR FAIL` spares SQLite a copy of each page that an insert of many
 *   rows changes.
 * - Each statement is planned once. SQLite takes the value of a bare `LIMIT ?` into the plan and plans again for each
 *   new value, which costs several times the statement itself. It cannot do that with a sum.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { type ErrorCode, NestwatchError } from '../../errors.ts';
import {
  type Held,
  type HeldRows,
  HeldWrites,
  namesOf,
  type Parameter,
  type RowStatement,
  type Sql,
  type Row as SqlRow,
} from '../sql/sql.ts';
import { decodeText, encodeText } from '../sql/stored-text.ts';
import { makePrivateFile } from './private-files.ts';

export type Value = string | number | null | Uint8Array;

interface Statement<Row> {
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
  // whoever needs the lock waits for it: see `transaction-queue.ts`.
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

/** A list as one parameter for `json_each`, with its texts as they are stored. */
function listText(list: readonly (SqlRow | Value)[]): string {
  // Most lists are numbers, of which there may be thousands.
  if (typeof list[0] === 'number') return JSON.stringify(list);
  return JSON.stringify(list, (_, part) => (typeof part === 'string' ? encodeText(part) : part));
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

const AS_GIVEN = 'SELECT * FROM given WHERE true';

/** Runs the texts that both engines share on SQLite, each prepared once. */
export class SqliteSql implements Sql {
  readonly engine = 'sqlite';
  readonly pause: () => Promise<void>;
  readonly #connection: Connection;
  readonly #statements = new Map<string, Statement<unknown>>();
  readonly #chunks = new Map<RowStatement, ReturnType<typeof eachChunk>>();

  constructor(connection: Connection, pause: () => Promise<void>) {
    this.#connection = connection;
    this.pause = pause;
  }

  async rows<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R[]> {
    return this.#prepared(sql).all(...parameters.map(bound)) as R[];
  }

  async first<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R | undefined> {
    return this.#prepared(sql).get(...parameters.map(bound)) as R | undefined;
  }

  async composed<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R[]> {
    return this.#connection.prepare<R>(rewritten(sql)).all(...parameters.map(bound));
  }

  async run(sql: string, ...parameters: readonly Parameter[]): Promise<number> {
    return this.#prepared(sql).run(...parameters.map(bound));
  }

  async write(statement: RowStatement, rows: readonly SqlRow[]): Promise<number> {
    return this.#write(statement, rows);
  }

  async returning<R>(statement: RowStatement, rows: readonly SqlRow[]): Promise<R[]> {
    return this.#returning<R>(statement, rows);
  }

  hold({ write, ...held }: Held<() => Iterable<HeldRows>>): () => void {
    return this.#connection.held.add({
      ...held,
      write: () => {
        for (const { statement, rows, missing, returned } of write()) {
          if (returned) returned(this.#returning(statement, rows));
          else {
            const written = this.#write(statement, rows);
            if (missing !== undefined && written !== rows.length) throw new Error(missing);
          }
        }
      },
    });
  }

  forgetHeld(): void {
    this.#connection.held.forget();
  }

  async writeHeld(): Promise<void> {
    for (const write of this.#connection.held.all()) write();
  }

  #returning<R>(statement: RowStatement, rows: readonly SqlRow[]): R[] {
    const found: R[] = [];
    this.#inChunks(statement, rows, (chunk, values) => found.push(...(chunk.all(...values) as R[])));
    return found;
  }

  #write(statement: RowStatement, rows: readonly SqlRow[]): number {
    let changed = 0;
    this.#inChunks(statement, rows, (chunk, values) => {
      changed += chunk.run(...values);
    });
    return changed;
  }

  #inChunks(
    statement: RowStatement,
    rows: readonly SqlRow[],
    use: (chunk: Statement<unknown>, values: Value[]) => void,
  ): void {
    if (rows.length === 0) return;
    let chunks = this.#chunks.get(statement);
    if (!chunks) {
      const names = namesOf(statement.columns);
      const text = rewritten(statement.text('given'));
      const given = `WITH given (${names.join(', ')}) AS`;
      // Rows that are written as they are given need no table, which costs an eighth of such an insert.
      chunks = eachChunk(this.#connection, names.length, (values) =>
        text.includes(AS_GIVEN)
          ? text.replace(AS_GIVEN, `VALUES ${values}`)
          : `${given} (VALUES ${values}) ${text.replace(/^WITH /, ', ')}`,
      );
      this.#chunks.set(statement, chunks);
    }
    chunks(
      rows.length,
      (row, values) => {
        for (const value of rows[row]!) values.push(bound(value));
      },
      use,
    );
  }

  #prepared(sql: string): Statement<unknown> {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#connection.prepare(rewritten(sql));
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/**
 * PostgreSQL's words in SQLite's. `INNER JOIN` stands where SQLite must keep the order of the tables: it has no
 * statistics to find a better one; and a comment `INDEXED BY` names the index to be used.
 */
function rewritten(sql: string): string {
  return sql
    .replaceAll(/= ANY\((\$\d+)::\w+\[\]\)/g, 'IN (SELECT value FROM json_each($1))')
    .replaceAll(/::\w+/g, '')
    .replaceAll(' COLLATE "C"', '')
    .replaceAll(/\/\* (INDEXED BY \w+|NOT INDEXED) \*\//g, '$1')
    .replaceAll(/\bstrpos\(/g, 'instr(')
    .replaceAll(/\bgreatest\(/g, 'max(')
    .replaceAll(/\bleast\(/g, 'min(')
    .replaceAll(/\bINNER JOIN\b/g, 'CROSS JOIN')
    .replaceAll(/\$(\d+)/g, '?$1');
}

function bound(value: Parameter): Value {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return Array.isArray(value) ? listText(value) : (value as Value);
}

/** Rows per statement. With powers of two, any number of rows takes few statements, and each is prepared once. */
const SIZES = [128, 64, 32, 16, 8, 4, 2, 1] as const;

/**
 * Prepares statements that write many rows at once, at a third of the cost of single ones. `sql` receives the text of
 * the rows, `(?, …), (?, …)`, for as many rows as a chunk has; `fill` appends the values of one row. `use` is called with
 * the statement and the values of each chunk.
 */
function eachChunk(connection: Connection, columns: number, sql: (rows: string) => string) {
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

// Translates SQLite's result codes into the closed table of errors. It never interprets messages.

/** Primary result codes (https://www.sqlite.org/rescode.html); extended codes carry them in their low byte. */
const BUSY = 5;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const NOTADB = 26;

const FAILURES: Readonly<Record<number, { code: ErrorCode; is: string }>> = {
  3: { code: 'store_failed', is: 'may not be accessed' },
  [BUSY]: { code: 'store_down', is: 'is locked by another program' },
  7: { code: 'store_failed', is: 'has no memory left to work with' },
  8: { code: 'store_failed', is: 'is read-only' },
  [IOERR]: { code: 'store_failed', is: 'cannot be read or written: the disk failed' },
  [CORRUPT]: { code: 'store_corrupt', is: 'is damaged' },
  [FULL]: { code: 'disk_full', is: 'has no space left to grow' },
  14: { code: 'store_failed', is: 'cannot be opened' },
  [NOTADB]: { code: 'store_corrupt', is: 'is not an SQLite database' },
};

/** The shared memory beside the database could not grow: the disk is full. */
const IOERR_SHMSIZE = 4874;

/**
 * A failure of SQLite as a `NestwatchError`, with the original as its cause. Other errors are returned unchanged: a
 * violated constraint or a malformed statement is a bug.
 */
export function storeFailure(error: unknown, path: string): unknown {
  const result = resultOf(error);
  if (result === undefined) return error;
  const failure = FAILURES[result === IOERR_SHMSIZE ? FULL : result & 0xff];
  if (!failure) return error;
  return new NestwatchError(failure.code, `The store ${path} ${failure.is}.`, { cause: error });
}

/** Whether SQLite could not get a lock; for its own errors and for translated ones. */
export function isBusy(error: unknown): boolean {
  return ((resultOf(error instanceof NestwatchError ? error.cause : error) ?? 0) & 0xff) === BUSY;
}

/**
 * Whether the store must be reopened. After a failed read or write the contents of the disk are unknown: the
 * operating system may have dropped what it could not write, and reports that only once.
 */
export function isFatal(error: unknown): boolean {
  if (!(error instanceof NestwatchError) || error.code === 'disk_full') return false;
  return [IOERR, CORRUPT, NOTADB].includes((resultOf(error.cause) ?? 0) & 0xff);
}

function resultOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}
