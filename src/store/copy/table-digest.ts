import { hash } from 'node:crypto';
import type { ColumnValue, TableRow } from './table-rows.ts';

/** SHA-256 in words of 32 bits. */
const WORDS = 8;

/**
 * A digest of all rows of a table in any order, since engines order texts by their own encoding of them. It is the
 * sum of the rows' digests. Each is computed from what the columns mean, not from how an engine writes them.
 */
export class TableDigest {
  readonly #sum = new Uint32Array(WORDS);
  #rows = 0;

  add(row: TableRow): void {
    const digest = hash('sha256', row.map(written).join(''), 'buffer');
    for (let word = 0; word < WORDS; word += 1) this.#sum[word]! += digest.readUInt32LE(word * 4);
    this.#rows += 1;
  }

  get rows(): number {
    return this.#rows;
  }

  toString(): string {
    return Buffer.from(this.#sum.buffer).toString('hex');
  }
}

/** Each value is written with its type and length, so that different rows are never written alike. */
function written(value: ColumnValue): string {
  if (value === null) return 'n;';
  if (typeof value === 'bigint') return `i${value};`;
  if (typeof value === 'number') return `r${value};`;
  if (typeof value !== 'string') return `b${Buffer.from(value).toString('hex')};`;
  // A digest is computed from bytes, and half of a surrogate pair has none.
  const text = value.isWellFormed() ? value : JSON.stringify(value);
  return `${text === value ? 't' : 'j'}${text.length};${text}`;
}
