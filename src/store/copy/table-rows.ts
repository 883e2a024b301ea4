/**
 * What a store holds, as rows of tables: how it is copied from one engine to another, and checked.
 *
 * Rows, and not the rooms of a transaction: what was committed refers to itself by numbers (an alert to its events, a
 * notification to both) that no room gives away, and each of the nineteen rooms would need a way to list all that it
 * keeps and a way to take that in. Tables and columns of the same name mean the same on each engine, so that they need
 * not be listed anywhere: whoever adds a column adds it to both schemas, and it is copied. `matchTables` refuses to copy
 * between stores of which one has a table or column that the other lacks, and a test does so before that.
 */

/** What stands in one column: numbers that are whole as `bigint`, whatever they count, and truth as 0 or 1. */
export type ColumnValue = bigint | number | string | Uint8Array | null;

/** The values of some columns, in their order. */
export type TableRow = readonly ColumnValue[];

export interface TableColumn {
  readonly name: string;
  readonly kind: 'integer' | 'real' | 'text' | 'blob';
  /** The database computes it from others: it can only be read. */
  readonly isComputed: boolean;
  /** One engine alone has it, and takes it from the body of the same row. */
  readonly isFromBody: boolean;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly TableColumn[];
  /** The columns of its primary key. */
  readonly key: readonly string[];
}

/** A store that is read as rows. What is read is one moment of it. */
export interface RowSource {
  /** The store as it is shown to people. */
  readonly shown: string;
  /** The version of its tables. */
  readonly version: number;
  /** In the order of their names; not those by which an engine keeps its own affairs. */
  readonly tables: readonly Table[];
  /** Changes with each commit to the store. */
  state(): Promise<string>;
  count(table: string): Promise<number>;
  /** The rows after the one with the key `after`, or all, in the order of their keys, some at a time. */
  read(table: Table, columns: readonly string[], after?: TableRow): AsyncIterable<readonly TableRow[]>;
  /** By tables whose rows are numbered, the last number that was given; as far as no row shows it. */
  lastNumbers(): Promise<ReadonlyMap<string, bigint>>;
  close(): Promise<void>;
}

/** How far the rows of a table have been copied. */
export interface TableProgress {
  /** The key of the last one; undefined before the first. */
  readonly after: TableRow | undefined;
  readonly rows: number;
  readonly isWhole: boolean;
}

/** A store that is being made from rows. Until `finish` no daemon takes it for a store. */
export interface RowTarget extends Omit<RowSource, 'state' | 'lastNumbers'> {
  /** Of what copy it is, where one was begun before. */
  begun(): Promise<CopyOrigin | undefined>;
  /** Empties it and begins a copy. */
  begin(origin: CopyOrigin): Promise<void>;
  progress(): Promise<ReadonlyMap<string, TableProgress>>;
  /** Adds rows and notes how far the table is with them, in one commit. */
  write(
    table: Table,
    columns: readonly string[],
    rows: readonly TableRow[],
    progress: TableProgress,
  ): Promise<void>;
  /** Goes on numbering where the source does. */
  setLastNumbers(numbers: ReadonlyMap<string, bigint>): Promise<void>;
  /** From now on it is a store like any other. */
  finish(): Promise<void>;
}

/** Where a copy comes from. */
export interface CopyOrigin {
  /** The source as it is shown to people. */
  readonly from: string;
  /** What the source's `state` was. */
  readonly state: string;
}
