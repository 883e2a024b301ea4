/**
 * A table stored by columns, for things that are very numerous. Each is a row, known by its number. V8 boxes a number
 * that is not a small integer in 24 bytes if it is a property of an object, and every garbage collection visits it. In
 * a column it takes 8 bytes or less, which no garbage collection visits.
 */
export interface Columns {
  /** Adds a row with the initial value in each column. Returns its number. */
  addRow(): number;
  /** Frees a row. Its number may be used again. */
  removeRow(row: number): void;
  /** Adds a column with this initial value. Like all columns, it is to be added before the first row. */
  add(first: number): Column<number>;
  /** Adds a column of numbers of which seven digits are enough, which takes 4 bytes a row. */
  addRough(first: number): Column<number>;
  /** Adds a column for values of which at most 256 are different, which takes 1 byte a row. */
  addChoice<T>(first: T): Column<T>;
}

export interface Column<T> {
  get(row: number): T;
  set(row: number, value: T): void;
}

/** The part of a column that every new row needs. */
interface Beginning {
  /** Allocates the row and sets its initial value. */
  begin(row: number): void;
}

type Numbers = Float64Array | Float32Array | Uint8Array;

/**
 * A column is stored in blocks of this many rows. It is a power of two, because each choice of a turn looks up
 * several numbers.
 */
const BLOCK_BITS = 10;
const BLOCK_ROWS = 1 << BLOCK_BITS;
const WITHIN_BLOCK = BLOCK_ROWS - 1;

export function createColumns(): Columns {
  const columns: Beginning[] = [];
  const free: number[] = [];
  let used = 0;

  return {
    addRow() {
      const row = free.pop() ?? used++;
      for (const column of columns) column.begin(row);
      return row;
    },
    removeRow(row) {
      free.push(row);
    },
    add: (first) => addNumbers(first, () => new Float64Array(BLOCK_ROWS)),
    addRough: (first) => addNumbers(first, () => new Float32Array(BLOCK_ROWS)),
    addChoice<T>(first: T): Column<T> {
      const choices = [first];
      const indices = addNumbers(0, () => new Uint8Array(BLOCK_ROWS));
      return {
        get: (row) => choices[indices.get(row)]!,
        set(row, value) {
          const known = choices.indexOf(value);
          indices.set(row, known === -1 ? choices.push(value) - 1 : known);
        },
      };
    },
  };

  function addNumbers(first: number, createBlock: () => Numbers): Column<number> {
    const column = createNumbers(first, createBlock);
    columns.push(column);
    return column;
  }
}

/** In blocks, because a single growing array would leave a hole of its former size in memory each time. */
function createNumbers(first: number, createBlock: () => Numbers): Column<number> & Beginning {
  const blocks: Numbers[] = [];
  const blockOf = (row: number) => blocks[row >> BLOCK_BITS]!;
  return {
    get: (row) => blockOf(row)[row & WITHIN_BLOCK]!,
    set(row, value) {
      blockOf(row)[row & WITHIN_BLOCK] = value;
    },
    begin(row) {
      if (row === blocks.length * BLOCK_ROWS) blocks.push(createBlock());
      blockOf(row)[row & WITHIN_BLOCK] = first;
    },
  };
}
