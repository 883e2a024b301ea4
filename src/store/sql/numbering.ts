import type { Sql } from './sql.ts';

/**
 * Numbers for new rows, never given before: SQLite would use that of a deleted row again, to which other rows may still
 * refer. Numbers used by a transaction that was rolled back are skipped. `newest` reads the greatest ever given, as
 * `last`. Resolves to the first of `count` consecutive numbers; to 1 on a server, which numbers rows by itself.
 */
export function createNumbering(sql: Sql, newest: string): (count: number) => Promise<number> {
  let last: number | undefined;
  return async (count) => {
    if (sql.engine === 'postgres') return 1;
    if (last === undefined) {
      const found = await sql.first<{ last: number | null }>(newest);
      last ??= found!.last ?? 0;
    }
    last += count;
    return last - count + 1;
  };
}
