import type { Held } from '../rows/held-writes.ts';
import {
  type HeldRows,
  namesOf,
  type Parameter,
  type RowStatement,
  type Sql,
  type Row as SqlRow,
} from '../sql/sql.ts';
import { type Connection, type Statement, textList, type Value } from './connection.ts';

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
  if (!Array.isArray(value)) return value as Value;
  return typeof value[0] === 'string' ? textList(value as string[]) : JSON.stringify(value);
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
