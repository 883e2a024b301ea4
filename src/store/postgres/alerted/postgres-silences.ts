import { knownMatcher } from '../../../domain/matchers/matcher.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import type { SilenceStore } from '../../silence-store.ts';
import { columnsOf, lastOfEach, type Statements, upsert } from '../statements.ts';

const PUT = upsert(
  'silence',
  'id text, ends_us bigint, alert_id text, alert_starts_us bigint, body text',
  'id',
);

export function createPostgresSilences(statements: Statements): SilenceStore {
  // Every flush asks for them: what was read last stays as it is.
  let known = new Map<string, Silence>();

  return {
    async list(endsAfterUs = -1) {
      const rows = await statements.rows<{ body: string }>(
        'SELECT body FROM silence WHERE ends_us > $1 ORDER BY ends_us, id',
        endsAfterUs,
      );
      known = new Map(rows.map(({ body }) => [body, known.get(body) ?? silenceOf(body)]));
      return [...known.values()];
    },
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

function silenceOf(body: string): Silence {
  const stored = JSON.parse(body) as Silence;
  return { ...stored, matchers: stored.matchers.map(knownMatcher) };
}

/** What the server cannot look for in the body: `alert_id` and `alert_starts_us`. */
export function fromSilenceBody({ alertId, alertStartsAtUs }: Silence): [string | null, number | null] {
  return [alertId ?? null, alertStartsAtUs ?? null];
}
