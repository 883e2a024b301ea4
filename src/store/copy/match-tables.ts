import type { Table } from './table-rows.ts';

/** One table as both stores have it. */
export interface MatchedTable {
  readonly source: Table;
  readonly target: Table;
  /** The columns that are written. */
  readonly copied: readonly string[];
  /**
   * The columns that must be equal afterwards on any engine, including computed ones, but not those that repeat the
   * body.
   */
  readonly compared: readonly string[];
}

/** Throws if one store has a table or column that the other lacks, since that would not be copied. */
export function matchTables(source: readonly Table[], target: readonly Table[]): MatchedTable[] {
  const targets = new Map(target.map((table) => [table.name, table]));
  const matched = source.map((table) => {
    const other = targets.get(table.name);
    targets.delete(table.name);
    if (!other) throw forgotten(`the table ${table.name}`);
    return matchTable(table, other);
  });
  const [left] = targets.keys();
  if (left !== undefined) throw forgotten(`the table ${left}`);
  return matched;
}

function matchTable(source: Table, target: Table): MatchedTable {
  const others = new Map(target.columns.map((column) => [column.name, column]));
  const shared = source.columns.filter((column) => {
    const other = others.get(column.name);
    if (!other && column.isFromBody) return false;
    if (other?.kind !== column.kind || other.isComputed !== column.isComputed) {
      throw forgotten(`the column ${source.name}.${column.name}`);
    }
    others.delete(column.name);
    return true;
  });
  const missing = [...others.values()].find(({ isFromBody }) => !isFromBody);
  if (missing) throw forgotten(`the column ${source.name}.${missing.name}`);
  return {
    source,
    target,
    copied: shared.filter(({ isComputed }) => !isComputed).map(({ name }) => name),
    // In an order that is the same on every engine, since a step may add a column at another place.
    compared: shared
      .filter(({ isFromBody }) => !isFromBody)
      .map(({ name }) => name)
      .toSorted(),
  };
}

function forgotten(what: string): Error {
  return new Error(`Stores cannot be copied: ${what} is not the same on both sides.`);
}
