/**
 * A table of numbers, stored by columns, for things that are very numerous. Each is a row, known by its number. V8
 * boxes a number that is not a small integer in 24 bytes if it is a property of an object, and every garbage
 * collection visits it. In a column it takes 8 bytes, which no garbage collection visits.
 */
export interface Columns {
  /** Adds a row with the initial value in each column. Returns its number. */
  addRow(): number;
  /** Frees a row. Its number may be used again. */
  removeRow(row: number): void;
  /** Adds a column with this initial value. To be called before the first row is added. */
  add(first: number): Column;
}

export interface Column {
  get(row: number): number;
  set(row: number, value: number): void;
}

interface Numbers extends Column {
  /** Allocates the row and sets its initial value. */
  begin(row: number): void;
}

/**
 * A column is stored in blocks of this many rows. It is a power of two, because each choice of a turn looks up
 * several numbers.
 */
const BLOCK_BITS = 10;
const BLOCK_ROWS = 1 << BLOCK_BITS;
const WITHIN_BLOCK = BLOCK_ROWS - 1;

export function createColumns(): Columns {
  const columns: Numbers[] = [];
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
    add(first) {
      const column = createNumbers(first);
      columns.push(column);
      return column;
    },
  };
}

/** In blocks, because a single growing array would leave a hole of its former size in memory each time. */
function createNumbers(first: number): Numbers {
  const blocks: Float64Array[] = [];
  const blockOf = (row: number) => blocks[row >> BLOCK_BITS]!;
  return {
    get: (row) => blockOf(row)[row & WITHIN_BLOCK]!,
    set(row, value) {
      blockOf(row)[row & WITHIN_BLOCK] = value;
    },
    begin(row) {
      if (row === blocks.length * BLOCK_ROWS) blocks.push(new Float64Array(BLOCK_ROWS));
      blockOf(row)[row & WITHIN_BLOCK] = first;
    },
  };
}
