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
  /** Makes room for so many rows and keeps the numbers that are there. */
  grow(rows: number): void;
  clear(row: number): void;
}

const FIRST_ROOM = 64;

export function createColumns(): Columns {
  const columns: Numbers[] = [];
  const free: number[] = [];
  let used = 0;
  let room = 0;

  return {
    addRow() {
      const row = free.pop() ?? used++;
      if (row >= room) {
        room = Math.max(FIRST_ROOM, Math.ceil(room * 1.5));
        for (const column of columns) column.grow(room);
      }
      for (const column of columns) column.clear(row);
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

function createNumbers(first: number): Numbers {
  let numbers = new Float64Array(0);
  return {
    get: (row) => numbers[row]!,
    set(row, value) {
      numbers[row] = value;
    },
    grow(rows) {
      const before = numbers;
      numbers = new Float64Array(rows);
      numbers.set(before);
    },
    clear(row) {
      numbers[row] = first;
    },
  };
}
