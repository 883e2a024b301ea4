import type { Event } from '../../../domain/alert/event.ts';
import type { Link } from '../../../domain/evaluate/decide.ts';
import type { OldEvents } from '../../../domain/grouping/sorts.ts';
import type { AgedSpan } from '../../alert-store.ts';
import type { EventRow } from '../../event-store.ts';
import type { LinkedSpan } from '../../outbox-store.ts';
import { lastOfEach, type RowStatement, type Sql } from '../sql.ts';
import type { SqlEvents } from '../watched/events.ts';

const LINK: RowStatement = {
  columns: 'id text, seq bigint, event bigint',
  text: (given) => `INSERT INTO alert_event (alert, seq, event)
    SELECT alert.alert, given.seq, given.event FROM ${given} INNER JOIN alert USING (id) WHERE true
    ON CONFLICT (alert, seq) DO UPDATE SET event = excluded.event`,
};

/** An alert's events with `$2 < seq <= $3`, newest first. */
const LINKED = `SELECT alert_event.seq, event.* FROM alert_event JOIN event USING (event)
  WHERE alert_event.alert = (SELECT alert FROM alert WHERE id = $1) AND alert_event.seq > $2 AND alert_event.seq <= $3
  ORDER BY alert_event.seq DESC LIMIT $4`;

/** The same for many alerts at once. SQLite gets them as one list of `[id, after, last]`. */
const LINKED_OF_SPANS = {
  sqlite: `SELECT given.key + 1 AS at, event.*
    FROM json_each($2) AS given CROSS JOIN alert ON alert.id = given.value ->> 0
      CROSS JOIN alert_event ON alert_event.alert = alert.alert AND alert_event.seq IN (
        SELECT seq FROM alert_event AS own
        WHERE own.alert = alert.alert AND seq > given.value ->> 1 AND seq <= given.value ->> 2
        ORDER BY seq DESC LIMIT $1)
      CROSS JOIN event USING (event)
    ORDER BY at, alert_event.seq DESC`,
  postgres: `SELECT at, event.*
    FROM unnest($2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS given (id, after_seq, last_seq, at)
      JOIN alert USING (id)
      CROSS JOIN LATERAL (SELECT seq, event FROM alert_event
        WHERE alert_event.alert = alert.alert AND seq > after_seq AND seq <= last_seq
        ORDER BY seq DESC LIMIT $1) AS newest
      JOIN event USING (event)
    ORDER BY at, newest.seq DESC`,
};

const AGED = 'at bigint, id text, after_seq bigint, last_seq bigint, max_age_us bigint';
/** The first event of an alert after `after_seq` that was observed soon. */
const FRESH = `(SELECT alert_event.seq FROM alert_event JOIN event USING (event)
  WHERE alert_event.alert = alert.alert AND alert_event.seq > after_seq AND observed_us - occurred_us <= max_age_us
  ORDER BY alert_event.seq LIMIT 1)`;
const OLD: Record<Sql['engine'], RowStatement> = {
  sqlite: {
    columns: AGED,
    text: (given) => `SELECT at, max(seq) AS last_seq, min(occurred_us) AS from_us, max(occurred_us) AS to_us
      FROM (SELECT given.*, alert.alert, coalesce(${FRESH}, last_seq + 1) AS end_seq FROM ${given} CROSS JOIN alert USING (id))
        AS fresh
        CROSS JOIN alert_event ON alert_event.alert = fresh.alert AND seq > after_seq AND seq < end_seq AND seq <= last_seq
        CROSS JOIN event USING (event)
      GROUP BY at`,
  },
  postgres: {
    columns: AGED,
    text: (given) => `SELECT at, old.last_seq, old.from_us, old.to_us
      FROM ${given} JOIN alert USING (id)
        CROSS JOIN LATERAL (SELECT least(given.last_seq + 1, ${FRESH}) AS end_seq OFFSET 0) AS fresh
        CROSS JOIN LATERAL (
          SELECT max(seq) AS last_seq, min(occurred_us) AS from_us, max(occurred_us) AS to_us
          FROM alert_event JOIN event USING (event)
          WHERE alert_event.alert = alert.alert AND seq > after_seq AND seq < end_seq) AS old
      WHERE old.last_seq IS NOT NULL`,
  },
};

/** The events of alerts, linked by the numbers of both. */
export class AlertEvents {
  readonly #sql: Sql;
  readonly #events: SqlEvents;

  constructor(sql: Sql, events: SqlEvents) {
    this.#sql = sql;
    this.#events = events;
  }

  async link(links: readonly Link[]): Promise<void> {
    const last = lastOfEach(links, ({ alertId, seq }) => `${seq} ${alertId}`);
    const numbers = await this.#events.numbersOf(last.map(({ event }) => event));
    const rows = last.map(({ alertId, seq, event }, index) => {
      const number = numbers[index];
      if (number === undefined) throw new Error(`The event ${event.key} is not in the store.`);
      return [alertId, seq, number];
    });
    const linked = await this.#sql.write(LINK, rows);
    if (linked !== rows.length) throw new Error('An alert of an event is not in the store.');
  }

  async old(spans: readonly AgedSpan[]): Promise<(OldEvents | undefined)[]> {
    const rows = await this.#sql.returning<{ at: number; last_seq: number; from_us: number; to_us: number }>(
      OLD[this.#sql.engine],
      spans.map(({ alertId, afterSeq, lastSeq, maxAgeUs }, at) => [at, alertId, afterSeq, lastSeq, maxAgeUs]),
    );
    const found: (OldEvents | undefined)[] = spans.map(() => undefined);
    for (const { at, last_seq: lastSeq, from_us: fromUs, to_us: toUs } of rows) {
      found[at] = { lastSeq, fromUs, toUs };
    }
    return found;
  }

  async list(alertId: string, afterSeq: number, limit: number, lastSeq: number): Promise<Link[]> {
    const rows = await this.#sql.rows<EventRow & { readonly seq: number }>(
      LINKED,
      alertId,
      afterSeq,
      lastSeq,
      limit,
    );
    const events = await this.#events.fromRows(rows);
    return rows.map(({ seq }, index) => ({ alertId, seq, event: events[index]! }));
  }

  /** The newest events of each span, newest first, by alert. */
  async ofSpans(spans: readonly LinkedSpan[], limit: number): Promise<ReadonlyMap<string, readonly Event[]>> {
    const found = new Map<string, Event[]>();
    const [only, ...others] = spans;
    if (only && others.length === 0) {
      const links = await this.list(only.alertId, only.afterSeq, limit, only.lastSeq);
      if (links.length > 0) {
        found.set(
          only.alertId,
          links.map(({ event }) => event),
        );
      }
      return found;
    }
    const given = spans.map(({ alertId, afterSeq, lastSeq }) => [alertId, afterSeq, lastSeq] as const);
    const rows = await this.#sql.rows<EventRow & { readonly at: number }>(
      LINKED_OF_SPANS[this.#sql.engine],
      limit,
      ...(this.#sql.engine === 'sqlite'
        ? [given]
        : [given.map(([id]) => id), given.map(([, after]) => after), given.map(([, , last]) => last)]),
    );
    const events = await this.#events.fromRows(rows);
    rows.forEach(({ at }, index) => {
      const { alertId } = spans[at - 1]!;
      const list = found.get(alertId) ?? [];
      found.set(alertId, list);
      list.push(events[index]!);
    });
    return found;
  }
}
