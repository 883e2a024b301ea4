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
