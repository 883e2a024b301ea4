/**
 * Defines a store's content as rows of tables, for copying it between engines and checking it.
 *
 * Why rows, rather than the repositories of a transaction: stored records refer to each other by numbers (an alert to
 * its events, a notification to both) that no repository exposes, and each repository would need a way
 * to list and to import everything. Tables and columns with the same name mean the same on each engine, so they need not be
 * listed anywhere: a column added to both schemas is copied, and a test fails if one engine lacks it.
 */

/** The value of one column: integers as `bigint`. */
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

interface Rows {
  /** The store as shown to people. */
  readonly shown: string;
  /** The rows ordered by key, some at a time. */
  read(table: Table, columns: readonly string[]): AsyncIterable<readonly TableRow[]>;
  close(): Promise<void>;
}

/** A store read as rows of one snapshot. */
export interface RowSource extends Rows {
  /** The version of its tables. */
  readonly version: number;
  /** Ordered by name; without the engine's own tables. */
  readonly tables: readonly Table[];
  count(table: string): Promise<number>;
  /** The last number given, by table, for tables whose rows are numbered; only where no row shows it. */
  lastNumbers(): Promise<ReadonlyMap<string, bigint>>;
}

/** A store that is being built from rows. Until `finish` there is none, and after `close` without it nothing is left. */
export interface RowTarget extends Rows {
  write(table: Table, columns: readonly string[], rows: readonly TableRow[]): Promise<void>;
  /** Makes numbering continue where the source's does. */
  setLastNumbers(numbers: ReadonlyMap<string, bigint>): Promise<void>;
  /** Turns the target into an ordinary store. */
  finish(): Promise<void>;
}
