import { hash } from 'node:crypto';
import type { ColumnValue, TableRow } from './table-rows.ts';

/** SHA-256 as words of 32 bits. */
const WORDS = 8;

/**
 * A digest of all rows of a table, whatever their order: engines order texts by the bytes that they keep of them. It is
 * the sum of the rows' own digests, each of what the columns mean, not of how an engine writes it.
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

/** Each value says what it is and how long, so that no two rows are written alike. */
function written(value: ColumnValue): string {
  if (value === null) return 'n;';
  if (typeof value === 'bigint') return `i${value};`;
  if (typeof value === 'number') return `r${value};`;
  if (typeof value !== 'string') return `b${Buffer.from(value).toString('hex')};`;
  // A digest is of bytes, and half of a surrogate pair has none of its own.
  const text = value.isWellFormed() ? value : JSON.stringify(value);
  return `${text === value ? 't' : 'j'}${text.length};${text}`;
}
