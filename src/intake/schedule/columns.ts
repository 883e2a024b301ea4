/**
 * Numbers of which each of very many things has its own, by columns: a thing is the number of its row. Behind a
 * property of an object V8 keeps a number that is no small integer in a box of its own, 24 bytes in all, and looks at
 * it in each collection of garbage; in a column it takes 8, and nobody looks at it.
 */
export interface Rows {
  /** A row with the first value of each column. */
  add(): number;
  /** Gives a row back: another thing may have it next. */
  remove(row: number): void;
  /** To be made before the first row. */
  column(first: number): Column;
}

export interface Column {
  get(row: number): number;
  set(row: number, value: number): void;
}

interface Numbers extends Column {
  /** Makes room for so many rows; what the others hold stays. */
  grow(rows: number): void;
  clear(row: number): void;
}

const FIRST_ROOM = 64;

export function createRows(): Rows {
  const columns: Numbers[] = [];
  const free: number[] = [];
  let used = 0;
  let room = 0;

  return {
    add() {
      const row = free.pop() ?? used++;
      if (row >= room) {
        room = Math.max(FIRST_ROOM, Math.ceil(room * 1.5));
        for (const column of columns) column.grow(room);
      }
      for (const column of columns) column.clear(row);
      return row;
    },
    remove(row) {
      free.push(row);
    },
    column(first) {
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
