/**
 * Writes that wait for others of the same transaction, so that many rows become few statements, and a row that changes
 * twice is written once. Nobody sees a difference: what waits is written before any statement that could, and before
 * the transaction or a part of it ends.
 */

/** What a room holds back, and when it must be written. */
interface Held {
  /** Tables that it writes: whoever reads or writes one of them comes after it. */
  readonly writes: readonly string[];
  /** Tables that it reads as it is written: whoever writes one of them comes after it. */
  readonly reads: readonly string[];
  /** Writes all of it. */
  readonly write: () => void;
  /** Forgets all of it: its transaction was taken back. */
  readonly forget: () => void;
}

export class HeldWrites {
  readonly #all: Held[] = [];
  /** Those that hold something. */
  readonly #waiting = new Set<Held>();

  /** Announces what a room may hold back; returns what the room calls when it does. */
  add(held: Held): () => void {
    this.#all.push(held);
    return () => this.#waiting.add(held);
  }

  /** Returns what is to be called before each run of this statement. */
  before(sql: string): () => void {
    let concerned: readonly Held[] | undefined;
    return () => {
      if (this.#waiting.size === 0) return;
      // Rooms announce what they hold after others have prepared their statements.
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

  /** Writes all that waits. */
  write(): void {
    for (const held of this.#waiting) this.#write(held);
  }

  forget(): void {
    for (const { forget } of this.#waiting) forget();
    this.#waiting.clear();
  }

  #write(held: Held): void {
    // It waits no longer as its own statements run.
    if (this.#waiting.delete(held)) held.write();
  }
}
