/** The title of each column, and its text for a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string>>;

/**
 * Formats rows as columns, for a terminal or a pipe. The texts must be safe to show; `none` stands for an empty one.
 */
export function table<Row>(columns: Columns<Row>, rows: readonly Row[], none = '-'): string {
  const cells = rows.map((row) => Object.values(columns).map((text) => text(row) || none));
  const lines = [Object.keys(columns), ...cells];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const text = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  return `${text.join('\n')}\n`;
}
