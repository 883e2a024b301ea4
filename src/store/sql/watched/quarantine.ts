import { createHash } from 'node:crypto';
import type { QuarantinedEntry, StreamStore } from '../../stream-store.ts';
import type { RowStatement, Sql } from '../sql.ts';

/**
 * How many texts of one stream are kept, each as long as an answer may be. The newest are kept: the service still
 * lists most of them, so that people can find the entry there, and a new fault is among them.
 */
const MAX_TEXTS = 200;

/**
 * How many entries of one stream are remembered, by digests of a few hundred bytes. An open Flight that differs in
 * each answer adds 2880 a day; entries that an audit or a reading of the inventory meets again are still counted
 * once.
 */
const MAX_KNOWN = 10_000;

const KEEP: RowStatement = {
  columns: 'stream bigint, kept_us bigint, hash bytea, reason text, raw text',
  text: (
    given,
  ) => `INSERT INTO quarantine (stream, kept_us, hash, reason, raw) SELECT * FROM ${given} WHERE true
    ON CONFLICT (stream, hash) DO NOTHING`,
};

/**
 * As many rows as were added now exceed the limit. An array is evaluated once; on a server a subquery may be evaluated
 * for each row if the table is taken for small.
 */
const OLDEST = `SELECT entry FROM quarantine /* INDEXED BY quarantine_of_stream */ WHERE stream = $1
  ORDER BY kept_us DESC, entry DESC LIMIT $2 OFFSET $3`;
const BEYOND = { sqlite: `IN (${OLDEST})`, postgres: `= ANY(ARRAY(${OLDEST}))` };

export function createQuarantine(sql: Sql): StreamStore['quarantine'] {
  return async (stream: number, entries: readonly QuarantinedEntry[], nowUs: number) => {
    // A digest instead of the text keeps the index small. As UTF-16, different texts have different bytes.
    const rows = entries.map(({ raw, reason }) => [
      ...[stream, nowUs],
      createHash('sha256').update(raw, 'utf16le').digest(),
      ...[reason, raw],
    ]);
    const kept = await sql.write(KEEP, rows);
    if (kept > 0) {
      const beyond = BEYOND[sql.engine];
      await sql.run(`UPDATE quarantine SET raw = '' WHERE entry ${beyond}`, stream, kept, MAX_TEXTS);
      await sql.run(`DELETE FROM quarantine WHERE entry ${beyond}`, stream, kept, MAX_KNOWN);
    }
    return kept;
  };
}
