import type { Sql } from './sql.ts';

/**
 * The condition that a text, stored as received, contains another one, given as `SearchTerm.inJson` and `signed`;
 * without regard to case.
 */
export function contains(engine: Sql['engine'], column: string, inJson = '?', signed = '?'): string {
  if (engine === 'sqlite') {
    const plain = `CAST(substr(CAST(${signed} AS BLOB), 2) AS TEXT)`;
    return `instr(lower(${column}), lower(iif(substr(${column}, 1, 1) = '"', ${inJson}, ${plain}))) > 0`;
  }
  const part = `CASE WHEN starts_with(${column}, '"') THEN ${inJson}::text ELSE substr(${signed}::text, 2) END`;
  return `position(lower(${part} COLLATE "C") IN lower(${column})) > 0`;
}
