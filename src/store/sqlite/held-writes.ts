/**
 * Holds back writes within a transaction, so that many rows take few statements, and a row that changes twice is
 * written once. This is invisible: held writes are executed before any statement that could see them, and before the
 * transaction or a part of it ends.
 */

/** What a room holds back, and when it must be written. */
interface Held {
  /** The tables it writes: any statement that reads or writes one of them comes after it. */
  readonly writes: readonly string[];
  /** The tables it reads while it is written: any statement that writes one of them comes after it. */
  readonly reads: readonly string[];
  /** Writes everything held. */
  readonly write: () => void;
  /** Discards everything held, because the transaction was rolled back. */
  readonly forget: () => void;
}

export class HeldWrites {
  readonly #all: Held[] = [];
  /** Those that hold something. */
  readonly #waiting = new Set<Held>();

  /** Registers what a room may hold back. The room calls the returned function when it holds something. */
  add(held: Held): () => void {
    this.#all.push(held);
    return () => this.#waiting.add(held);
  }

  /** Returns a function to call before each run of this statement. */
  before(sql: string): () => void {
    let concerned: readonly Held[] | undefined;
    return () => {
      if (this.#waiting.size === 0) return;
      // Computed late, since rooms register after others have prepared their statements.
      concerned ??= this.#concernedBy(sql);
      for (const held of concerned) this.#write(held);
    };
  }

  #concernedBy(sql: string): readonly Held[] {
    const names = new Set(sql.match(/\w+/g));
    const written = /\b(?:INTO|UPDATE|DELETE FROM)\s+(\w+)/.exec(sql)?.[1] ?? '';
    return this.#all.filter(
      ({ writes, reads }) => writes.some((table) => names.has(table)) || reads.includes(written),
    );
  }

  /** Writes everything that is held. */
  write(): void {
    for (const held of this.#waiting) this.#write(held);
  }

  forget(): void {
    for (const { forget } of this.#waiting) forget();
    this.#waiting.clear();
  }

  #write(held: Held): void {
    // Removed first, so that its own statements do not trigger it again.
    if (this.#waiting.delete(held)) held.write();
  }
}
