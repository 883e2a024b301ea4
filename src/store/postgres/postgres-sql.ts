import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import {
  type Held,
  type HeldRows,
  HeldWrites,
  type Parameter,
  type Row,
  type RowStatement,
  type Sql,
  type Statements,
  type Value,
} from '../sql/sql.ts';

/** The texts of statements that write rows, by engine the same for all connections. */
const TEXTS = new WeakMap<RowStatement, string>();

/**
 * Runs the texts that both engines share on PostgreSQL, each after those held writes that it could see. Many rows are
 * sent as one list per column.
 */
export class PostgresSql implements Sql {
  readonly engine = 'postgres';
  readonly #statements: Statements;
  readonly #held = new HeldWrites<() => Promise<void>>();
  readonly #before = new Map<string, () => Iterable<() => Promise<void>>>();
  /**
   * The held writes under way. All statements wait for them, and all fail if they fail: something that the transaction
   * believes written is missing.
   */
  #writing: Promise<void> = Promise.resolve();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async rows<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R[]> {
    await this.#writeBefore(sql);
    return this.#statements.rows(sql, ...parameters);
  }

  async first<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R | undefined> {
    await this.#writeBefore(sql);
    return this.#statements.first(sql, ...parameters);
  }

  async composed<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R[]> {
    // Such texts vary without end, so nothing is remembered of them.
    await this.#write(this.#held.before(sql));
    return this.#statements.composed(sql, ...parameters);
  }

  async run(sql: string, ...parameters: readonly Parameter[]): Promise<number> {
    await this.#writeBefore(sql);
    return this.#statements.run(sql, ...parameters);
  }

  async write(statement: RowStatement, rows: readonly Row[]): Promise<number> {
    if (rows.length === 0) return 0;
    return this.run(textOf(statement), ...listsOf(statement, rows));
  }

  async returning<R>(statement: RowStatement, rows: readonly Row[]): Promise<R[]> {
    if (rows.length === 0) return [];
    return this.rows(textOf(statement), ...listsOf(statement, rows));
  }

  hold({ write, ...held }: Held<() => Iterable<HeldRows>>): () => void {
    return this.#held.add({
      ...held,
      write: async () => {
        // By statements that wait for no held write, as they would for this one.
        const own = new PostgresSql(this.#statements);
        for (const { statement, rows, missing, returned } of write()) {
          if (returned) returned(await own.returning(statement, rows));
          else {
            const written = await own.write(statement, rows);
            if (missing !== undefined && written !== rows.length) throw new Error(missing);
          }
        }
      },
    });
  }

  writeHeld(): Promise<void> {
    return this.#write(() => this.#held.all());
  }

  forgetHeld(): void {
    this.#held.forget();
    this.#writing = Promise.resolve();
  }

  pause(): Promise<void> {
    return turnOfEventLoop();
  }

  #writeBefore(sql: string): Promise<void> {
    const before = this.#before.get(sql) ?? this.#held.before(sql);
    this.#before.set(sql, before);
    return this.#write(before);
  }

  /** Statements may be concurrent, so what is to be written is taken only when the writes under way are over. */
  #write(taken: () => Iterable<() => Promise<void>>): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      for (const write of taken()) await write();
    });
    return this.#writing;
  }
}

function textOf(statement: RowStatement): string {
  const text = TEXTS.get(statement) ?? statement.text(given(statement.columns));
  TEXTS.set(statement, text);
  return text;
}

function listsOf({ columns }: RowStatement, rows: readonly Row[]): Parameter[] {
  return columnsOf(columns.split(',').length, rows);
}

/**
 * Sends many rows as one parameter per column, so that any number takes one round trip: `given('id text, seq
 * bigint')` is `unnest($1::text[], $2::bigint[]) AS given (id, seq)`, to be run with `columnsOf(2, rows)`.
 */
function given(columns: string): string {
  const all = columns.split(',').map((column) => column.trim().split(/\s+/));
  const lists = all.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ');
  return `unnest(${lists}) AS given (${all.map(([name]) => name).join(', ')})`;
}

/** The lists that `given` reads; `width` is the number of columns, needed if there are no rows. */
function columnsOf(width: number, rows: readonly (readonly Value[])[]): Value[][] {
  return Array.from({ length: width }, (_, column) => rows.map((row) => row[column]!));
}
