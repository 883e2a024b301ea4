/**
 * A table of numbers, kept by columns: each of very many things is a row, and is known by the number of that row. As
 * the property of an object a number that is no small integer takes V8 a box of 24 bytes, which every garbage
 * collection visits; in a column it takes 8 bytes, and no garbage collection visits it.
 */
export interface Columns {
  /** Adds a row that has the first value of each column. Returns its number. */
  addRow(): number;
  /** Gives a row back: the next thing that is added may have it. */
  removeRow(row: number): void;
  /** Adds a column with this first value. To be called before the first row is added. */
  add(first: number): Column;
}

export interface Column {
  get(row: number): number;
  set(row: number, value: number): void;
}

interface Numbers extends Column {
  /** Makes room for the row and gives it the first value. */
  begin(row: number): void;
}

/** A column keeps the numbers of so many rows together: a power of two, since every choice of a turn looks some up. */
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

/** Block after block: a single array that grows with the rows leaves a hole of its former size each time. */
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
