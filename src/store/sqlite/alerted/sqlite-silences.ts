import { knownMatcher } from '../../../domain/matchers/matcher.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import type { SilenceStore } from '../../silence-store.ts';
import { type Connection, textList } from '../connection.ts';

export function createSilences(connection: Connection): SilenceStore {
  const all = connection.prepare<{ body: string }>(
    'SELECT body FROM silence WHERE ends_us > ? ORDER BY ends_us, id',
  );
  const put = connection.prepare(
    `INSERT INTO silence (id, ends_us, body) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET ends_us = excluded.ends_us, body = excluded.body`,
  );
  const remove = connection.prepare('DELETE FROM silence WHERE id IN (SELECT value FROM json_each(?))');

  // Every flush asks for them: what was read last stays as it is.
  let known = new Map<string, Silence>();

  return {
    async list(endsAfterUs = -1) {
      const bodies = all.all(endsAfterUs).map((row) => row.body);
      known = new Map(bodies.map((body) => [body, known.get(body) ?? silenceOf(body)]));
      return [...known.values()];
    },
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

function silenceOf(body: string): Silence {
  const stored = JSON.parse(body) as Silence;
  return {
    ...stored,
    matchers: stored.matchers.map(knownMatcher),
  };
}
