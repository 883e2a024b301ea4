import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { Held } from '../rows/held-writes.ts';
import type { HeldRows, Parameter, Row, RowStatement, Sql } from '../sql/sql.ts';
import type { HoldingStatements } from './holding-statements.ts';
import { columnsOf, given, type Statements } from './statements.ts';

/** Runs the texts that both engines share on PostgreSQL: many rows are sent as one list per column. */
export class PostgresSql implements Sql {
  readonly engine = 'postgres';
  readonly #statements: Statements;
  readonly #holding: HoldingStatements | undefined;
  readonly #texts = new Map<RowStatement, string>();

  constructor(statements: Statements, holding?: HoldingStatements) {
    this.#statements = statements;
    this.#holding = holding;
  }

  rows<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R[]> {
    return this.#statements.rows(sql, ...parameters);
  }

  first<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R | undefined> {
    return this.#statements.first(sql, ...parameters);
  }

  composed<R>(sql: string, ...parameters: readonly Parameter[]): Promise<R[]> {
    return this.#statements.composed(sql, ...parameters);
  }

  run(sql: string, ...parameters: readonly Parameter[]): Promise<number> {
    return this.#statements.run(sql, ...parameters);
  }

  async write(statement: RowStatement, rows: readonly Row[]): Promise<number> {
    if (rows.length === 0) return 0;
    return this.#statements.run(
      this.#textOf(statement),
      ...columnsOf(statement.columns.split(',').length, rows),
    );
  }

  async returning<R>(statement: RowStatement, rows: readonly Row[]): Promise<R[]> {
    if (rows.length === 0) return [];
    return this.#statements.rows(
      this.#textOf(statement),
      ...columnsOf(statement.columns.split(',').length, rows),
    );
  }

  #textOf(statement: RowStatement): string {
    const text = this.#texts.get(statement) ?? statement.text(given(statement.columns));
    this.#texts.set(statement, text);
    return text;
  }

  hold({ write, ...held }: Held<() => Iterable<HeldRows>>): () => void {
    return this.#holding!.hold({
      ...held,
      write: async (statements) => {
        const own = new PostgresSql(statements);
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

  forgetHeld(): void {
    this.#holding!.forgetHeld();
  }

  writeHeld(): Promise<void> {
    return this.#holding!.writeHeld();
  }

  pause(): Promise<void> {
    return turnOfEventLoop();
  }
}
