/**
 * Defines a store's content as rows of tables, for copying it between engines and checking it.
 *
 * Why rows, rather than the repositories of a transaction: stored records refer to each other by numbers (an alert to
 * its events, a notification to both) that no repository exposes, and each of the nineteen repositories would need a way
 * to list and to import everything. Tables and columns with the same name mean the same on each engine, so they need not be
 * listed anywhere: a column added to both schemas is copied. `matchTables` refuses to copy if one store has a table
 * or column that the other lacks, and a test checks that earlier.
 */

/** The value of one column: integers as `bigint`, and booleans as 0 or 1. */
export type ColumnValue = bigint | number | string | Uint8Array | null;

/** The values of some columns, in their order. */
export type TableRow = readonly ColumnValue[];

export interface TableColumn {
  readonly name: string;
  readonly kind: 'integer' | 'real' | 'text' | 'blob';
  /** Whether the database computes it from other columns, so that it can only be read. */
  readonly isComputed: boolean;
  /** Whether only one engine has it, which takes it from the body of the same row. */
  readonly isFromBody: boolean;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly TableColumn[];
  /** The columns of its primary key. */
  readonly key: readonly string[];
}

/** A store read as rows of one snapshot. */
export interface RowSource {
  /** The store as shown to people. */
  readonly shown: string;
  /** The version of its tables. */
  readonly version: number;
  /** Ordered by name; without the engine's own tables. */
  readonly tables: readonly Table[];
  /** Changes with each commit to the store. */
  state(): Promise<string>;
  count(table: string): Promise<number>;
  /** The rows after the key `after`, or all rows, ordered by key, some at a time. */
  read(table: Table, columns: readonly string[], after?: TableRow): AsyncIterable<readonly TableRow[]>;
  /** The last number given, by table, for tables whose rows are numbered; only where no row shows it. */
  lastNumbers(): Promise<ReadonlyMap<string, bigint>>;
  close(): Promise<void>;
}

/** The progress of copying a table. */
export interface TableProgress {
  /** The key of the last row copied; undefined before the first. */
  readonly after: TableRow | undefined;
  readonly rows: number;
  readonly isWhole: boolean;
}

/** A store that is being built from rows. Until `finish` no daemon accepts it as a store. */
export interface RowTarget extends Omit<RowSource, 'state' | 'lastNumbers'> {
  /** The origin of a copy that was begun before; undefined if there is none. */
  begun(): Promise<CopyOrigin | undefined>;
  /** Empties the target and begins a copy. */
  begin(origin: CopyOrigin): Promise<void>;
  progress(): Promise<ReadonlyMap<string, TableProgress>>;
  /** Adds rows and records the table's progress, in one commit. */
  write(
    table: Table,
    columns: readonly string[],
    rows: readonly TableRow[],
    progress: TableProgress,
  ): Promise<void>;
  /** Makes numbering continue where the source's does. */
  setLastNumbers(numbers: ReadonlyMap<string, bigint>): Promise<void>;
  /** Turns the target into an ordinary store. */
  finish(): Promise<void>;
}

/** Where a copy comes from. */
export interface CopyOrigin {
  /** The source as shown to people. */
  readonly from: string;
  /** The source's `state` at the beginning. */
  readonly state: string;
}
