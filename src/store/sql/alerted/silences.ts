/** Stores what keeps people from being notified: silences, and the suppressions that follow from them and other reasons. */
import { knownMatcher } from '../../../domain/matchers/matcher.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import type { Suppression } from '../../../domain/muting/suppression.ts';
import { readable } from '../readable.ts';
import { lastOfEach, type RowStatement, type Sql, upsertRows } from '../sql.ts';
import type { SqlEvents } from '../watched/events.ts';

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

const COLUMNS =
  'alert_id text, after_seq bigint, last_seq bigint, group_key text, receiver text, reason text, detail text, at_us bigint';

const ADD: RowStatement = {
  columns: COLUMNS,
  text: (given) => `INSERT INTO suppression
    (alert_id, after_seq, last_seq, group_key, receiver, reason, detail, at_us) SELECT * FROM ${given}`,
};

/** Linked to the events themselves, so that suppressions outlive the alert. */
const LINK: RowStatement = {
  columns: COLUMNS,
  text: (given) => `INSERT INTO suppressed_event (event, suppression)
    SELECT DISTINCT alert_event.event, suppression.suppression
    FROM ${given} INNER JOIN alert ON alert.id = given.alert_id
      INNER JOIN alert_event ON alert_event.alert = alert.alert
        AND alert_event.seq > given.after_seq AND alert_event.seq <= given.last_seq
      INNER JOIN suppression ON suppression.alert_id = given.alert_id AND suppression.last_seq = given.last_seq
        AND suppression.after_seq = given.after_seq AND suppression.group_key = given.group_key
        AND suppression.reason = given.reason AND suppression.at_us = given.at_us
    WHERE true ON CONFLICT DO NOTHING`,
};

const OF_PRESENT = `SELECT * FROM suppression WHERE alert_id = $1 AND EXISTS (
  SELECT 1 FROM suppressed_event JOIN alert_event USING (event) JOIN alert USING (alert)
  WHERE suppressed_event.suppression = suppression.suppression AND alert.id = suppression.alert_id
    AND alert_event.seq > suppression.after_seq AND alert_event.seq <= suppression.last_seq)
  ORDER BY suppression`;

/**
 * Stores suppressions: which events of an alert a receiver is not notified of, and why. They are stored with their
 * events, so that they outlive the alert.
 */
export function createSuppressions(sql: Sql, events: Pick<SqlEvents, 'numberOfKey'>) {
  let held: Suppression[] = [];
  const holds = sql.hold({
    writes: ['suppression', 'suppressed_event'],
    reads: ['alert', 'alert_event'],
    write: () => {
      const rows = held.map((one) => [
        ...[one.alertId, one.afterSeq, one.lastSeq, one.groupKey],
        ...[one.receiver, one.reason, one.detail, one.atUs],
      ]);
      held = [];
      return [
        { statement: ADD, rows },
        { statement: LINK, rows },
      ];
    },
    forget: () => {
      held = [];
    },
  });
  return {
    /** Stores suppressions with the events that they concern. Their alerts must be in the store. */
    async add(list: readonly Suppression[]): Promise<void> {
      if (list.length === 0) return;
      held.push(...list);
      holds();
    },
    /** The suppressions of an alert, in order of time, even if the alert itself was deleted. */
    async ofAlert(alertId: string): Promise<Suppression[]> {
      const rows = await sql.rows<SuppressionRow>(
        'SELECT * FROM suppression WHERE alert_id = $1 ORDER BY suppression',
        alertId,
      );
      return rows.map(suppressionOf);
    },
    /** Those of them that concern events of the stored alert, and not of a deleted one that had its id. */
    async ofPresent(alertId: string): Promise<Suppression[]> {
      return (await sql.rows<SuppressionRow>(OF_PRESENT, alertId)).map(suppressionOf);
    },
    /** The suppressions that concern an event, by its key. */
    async ofEvent(key: string): Promise<Suppression[]> {
      const number = await events.numberOfKey(key);
      if (number === undefined) return [];
      const rows = await sql.rows<SuppressionRow>(
        `SELECT suppression.* FROM suppressed_event JOIN suppression USING (suppression)
         WHERE event = $1 ORDER BY suppression`,
        number,
      );
      return rows.map(suppressionOf);
    },
  };
}

/** A row of `suppression`. */
interface SuppressionRow {
  readonly alert_id: string;
  readonly after_seq: number;
  readonly last_seq: number;
  readonly group_key: string;
  readonly receiver: string;
  readonly reason: Suppression['reason'];
  readonly detail: string;
  readonly at_us: number;
}

function suppressionOf(row: SuppressionRow): Suppression {
  return {
    alertId: row.alert_id,
    afterSeq: row.after_seq,
    lastSeq: row.last_seq,
    groupKey: row.group_key,
    receiver: row.receiver,
    reason: row.reason,
    detail: row.detail,
    atUs: row.at_us,
  };
}
