import { knownMatcher } from '../../../domain/matchers/matcher.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import { readable } from '../readable.ts';
import { lastOfEach, type Sql, upsertRows } from '../sql.ts';

interface SilenceRow {
  readonly id: string;
  readonly ends_us: number;
  readonly body: string;
}

/** Silences per read: each may have 20,000 characters. */
const STEP = 128;

const PUT = upsertRows(
  'silence',
  'id text, ends_us bigint, alert_id text, alert_starts_us bigint, body text',
  'id',
);

/** Those that end after this, and with a greater id if they end then. */
const PAGE =
  'SELECT id, ends_us, body FROM silence WHERE (ends_us, id) > ($1, $2) ORDER BY ends_us, id LIMIT $3';

export function createSilences(sql: Sql) {
  // Every flush lists them, so silences whose stored text is unchanged are not parsed again.
  let known = new Map<string, { readonly body: string; readonly silence: Silence }>();

  return {
    /** Silences that end after this instant, or by default all that are kept; those that end first come first. */
    async list(endsAfterUs = -1): Promise<Silence[]> {
      const read: typeof known = new Map();
      let rows = await sql.rows<SilenceRow>(PAGE, endsAfterUs + 1, '', STEP);
      for (;;) {
        const some = await readable(sql, 'silence', rows, ({ id, body }) => {
          const before = known.get(id);
          return [id, before?.body === body ? before : { body, silence: silenceOf(body) }] as const;
        });
        for (const [id, one] of some) read.set(id, one);
        const last = rows.at(-1);
        if (!last || rows.length < STEP) break;
        await sql.pause();
        rows = await sql.rows<SilenceRow>(PAGE, last.ends_us, last.id, STEP);
      }
      known = read;
      return [...read.values()].map(({ silence }) => silence);
    },
    async put(silences: readonly Silence[]): Promise<void> {
      const rows = lastOfEach(silences, ({ id }) => id).map((silence) => {
        const matchers = silence.matchers.map(({ name, op, value }) => ({ name, op, value }));
        const { id, endsAtUs, alertId, alertStartsAtUs } = silence;
        return [id, endsAtUs, alertId, alertStartsAtUs, JSON.stringify({ ...silence, matchers })];
      });
      await sql.write(PUT, rows);
    },
    async delete(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await sql.run('DELETE FROM silence WHERE id = ANY($1::text[])', ids);
    },
  };
}

function silenceOf(body: string): Silence {
  const stored = JSON.parse(body) as Silence;
  return { ...stored, matchers: stored.matchers.map(knownMatcher) };
}
