import { createSilenceList, type SilenceRow } from '../../rows/silence-row.ts';
import type { SilenceStore } from '../../silence-store.ts';
import { type Connection, textList } from '../connection.ts';

/** `pause` lets other work run while many silences are read. */
export function createSilences(connection: Connection, pause: () => Promise<void>): SilenceStore {
  const page = connection.prepare<SilenceRow>(
    'SELECT id, ends_us, body FROM silence WHERE (ends_us, id) > (?, ?) ORDER BY ends_us, id LIMIT ?',
  );
  const put = connection.prepare(
    `INSERT INTO silence (id, ends_us, body) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET ends_us = excluded.ends_us, body = excluded.body`,
  );
  const remove = connection.prepare('DELETE FROM silence WHERE id IN (SELECT value FROM json_each(?))');

  return {
    list: createSilenceList((...after) => page.all(...after), pause),
    async put(silences) {
      for (const silence of silences) {
        const matchers = silence.matchers.map(({ name, op, value }) => ({ name, op, value }));
        put.run(silence.id, silence.endsAtUs, JSON.stringify({ ...silence, matchers }));
      }
    },
    async delete(ids) {
      if (ids.length > 0) remove.run(textList(ids));
    },
  };
}
