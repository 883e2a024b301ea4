import { type Held, HeldWrites } from '../rows/held-writes.ts';
import type { Parameter } from '../sql/sql.ts';
import type { Statements } from './statements.ts';

/**
 * Writes what a repository holds, by these statements and no others: those of the repository would wait for this very
 * write. It may not read what another repository holds back.
 */
type Write = (statements: Statements) => Promise<void>;

/** Runs the statements of repositories, each after those held writes that it could see. */
export class HoldingStatements implements Statements {
  readonly #statements: Statements;
  readonly #held = new HeldWrites<Write>();
  readonly #before = new Map<string, () => Iterable<Write>>();
  /**
   * The held writes under way. All statements wait for them, and all fail if they fail: something that the transaction
   * believes written is missing.
   */
  #writing: Promise<void> = Promise.resolve();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Registers what a repository may hold back. The repository calls the returned function when it holds something. */
  hold(held: Held<Write>): () => void {
    return this.#held.add(held);
  }

  async rows<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row[]> {
    await this.#writeBefore(sql);
    return this.#statements.rows(sql, ...parameters);
  }

  async first<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row | undefined> {
    await this.#writeBefore(sql);
    return this.#statements.first(sql, ...parameters);
  }

  async run(sql: string, ...parameters: readonly Parameter[]): Promise<number> {
    await this.#writeBefore(sql);
    return this.#statements.run(sql, ...parameters);
  }

  async composed<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row[]> {
    // Such texts vary without end, so nothing is remembered of them.
    await this.#write(this.#held.before(sql));
    return this.#statements.composed(sql, ...parameters);
  }

  /** Writes everything that is held. */
  writeHeld(): Promise<void> {
    return this.#write(() => this.#held.all());
  }

  /** Discards everything held, because the transaction was rolled back. */
  forgetHeld(): void {
    this.#held.forget();
    this.#writing = Promise.resolve();
  }

  #writeBefore(sql: string): Promise<void> {
    const before = this.#before.get(sql) ?? this.#held.before(sql);
    this.#before.set(sql, before);
    return this.#write(before);
  }

  /** Statements may be concurrent, so what is to be written is taken only when the writes under way are over. */
  #write(taken: () => Iterable<Write>): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      for (const write of taken()) await write(this.#statements);
    });
    return this.#writing;
  }
}
