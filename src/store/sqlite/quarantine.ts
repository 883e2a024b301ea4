import { createHash } from 'node:crypto';
import type { Transaction } from '../store.ts';
import type { Connection } from './connection.ts';

export function createQuarantine(connection: Connection): Pick<Transaction, 'quarantine'> {
  const keep = connection.prepare(
    'INSERT OR IGNORE INTO quarantine (stream, hash, kept_us, reason, raw) VALUES (?, ?, ?, ?, ?)',
  );
  return {
    async quarantine(stream, entries, nowUs) {
      let kept = 0;
      for (const { raw, reason } of entries) {
        // A digest stands for the text, so that the index stays small. UTF-16 tells every text from every other.
        const hash = createHash('sha256').update(raw, 'utf16le').digest();
        kept += keep.run(stream, hash, nowUs, reason, raw);
      }
      return kept;
    },
  };
}
