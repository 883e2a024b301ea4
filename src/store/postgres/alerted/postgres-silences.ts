import type { Silence } from '../../../domain/muting/silence.ts';
import { createSilenceList, type SilenceRow } from '../../rows/silence-row.ts';
import type { SilenceStore } from '../../silence-store.ts';
import { lastOfEach } from '../../sql/sql.ts';
import { columnsOf, type Statements, upsert } from '../statements.ts';

const PUT = upsert(
  'silence',
  'id text, ends_us bigint, alert_id text, alert_starts_us bigint, body text',
  'id',
);

export function createPostgresSilences(statements: Statements): SilenceStore {
  return {
    list: createSilenceList(
      (...after) =>
        statements.rows<SilenceRow>(
          'SELECT id, ends_us, body FROM silence WHERE (ends_us, id) > ($1, $2) ORDER BY ends_us, id LIMIT $3',
          ...after,
        ),
      // No pause is needed: each page is a statement, during which the event loop turns.
      async () => {},
    ),
    async put(silences) {
      if (silences.length === 0) return;
      const rows = lastOfEach(silences, ({ id }) => id).map((silence) => {
        const matchers = silence.matchers.map(({ name, op, value }) => ({ name, op, value }));
        const { id, endsAtUs } = silence;
        return [id, endsAtUs, ...fromSilenceBody(silence), JSON.stringify({ ...silence, matchers })];
      });
      await statements.run(PUT, ...columnsOf(5, rows));
    },
    async delete(ids) {
      if (ids.length > 0) await statements.run('DELETE FROM silence WHERE id = ANY($1::text[])', ids);
    },
  };
}

/** What the server cannot find in the body: `alert_id` and `alert_starts_us`. */
export function fromSilenceBody({ alertId, alertStartsAtUs }: Silence): [string | null, number | null] {
  return [alertId ?? null, alertStartsAtUs ?? null];
}
