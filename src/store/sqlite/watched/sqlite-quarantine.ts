import { createHash } from 'node:crypto';
import type { StreamStore } from '../../stream-store.ts';
import type { Connection } from '../connection.ts';

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

export function createQuarantine(connection: Connection): StreamStore['quarantine'] {
  const keep = connection.prepare(
    'INSERT OR IGNORE INTO quarantine (stream, hash, kept_us, reason, raw) VALUES (?, ?, ?, ?, ?)',
  );
  // As many rows as were added now exceed the limit.
  const beyond = `(SELECT entry FROM quarantine INDEXED BY quarantine_of_stream WHERE stream = ?
    ORDER BY kept_us DESC, entry DESC LIMIT ? OFFSET ?)`;
  const empty = connection.prepare(`UPDATE quarantine SET raw = '' WHERE entry IN ${beyond}`);
  const forget = connection.prepare(`DELETE FROM quarantine WHERE entry IN ${beyond}`);

  return async (stream, entries, nowUs) => {
    let kept = 0;
    for (const { raw, reason } of entries) {
      // A digest instead of the text keeps the index small. As UTF-16, different texts have different bytes.
      const hash = createHash('sha256').update(raw, 'utf16le').digest();
      kept += keep.run(stream, hash, nowUs, reason, raw);
    }
    if (kept > 0) {
      empty.run(stream, kept, MAX_TEXTS);
      forget.run(stream, kept, MAX_KNOWN);
    }
    return kept;
  };
}
