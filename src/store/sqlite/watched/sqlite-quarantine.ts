import { createHash } from 'node:crypto';
import type { StreamStore } from '../../stream-store.ts';
import type { Connection } from '../connection.ts';

/**
 * Texts kept of one stream, each as long as an answer may be. The newest: the service still lists most of them, so
 * that whoever looks into it finds the entry there as well, and a fault that is new is among them.
 */
const MAX_TEXTS = 200;

/**
 * Entries of one stream that are known again, by digests of some hundred bytes. An open Flight that is different in
 * each answer brings 2880 a day; what an audit or a reading of the inventory meets anew stays counted once.
 */
const MAX_KNOWN = 10_000;

export function createQuarantine(connection: Connection): StreamStore['quarantine'] {
  const keep = connection.prepare(
    'INSERT OR IGNORE INTO quarantine (stream, hash, kept_us, reason, raw) VALUES (?, ?, ?, ?, ?)',
  );
  // As many as came in went beyond the bound.
  const beyond = `(SELECT entry FROM quarantine INDEXED BY quarantine_of_stream WHERE stream = ?
    ORDER BY kept_us DESC, entry DESC LIMIT ? OFFSET ?)`;
  const empty = connection.prepare(`UPDATE quarantine SET raw = '' WHERE entry IN ${beyond}`);
  const forget = connection.prepare(`DELETE FROM quarantine WHERE entry IN ${beyond}`);

  return async (stream, entries, nowUs) => {
    let kept = 0;
    for (const { raw, reason } of entries) {
      // A digest stands for the text, so that the index stays small. In UTF-16 no two texts are the same bytes.
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
