import type { Event } from '../../../domain/alert/event.ts';
import type { Link } from '../../../domain/evaluate/alert-book.ts';
import type { OldEvents } from '../../../domain/grouping/sorts/catch-up-sort.ts';
import type { AgedSpan } from '../../alert-store.ts';
import type { LinkedSpan } from '../../outbox-store.ts';
import type { EventRow } from '../../rows/event-row.ts';
import { prepareChunks } from '../chunks.ts';
import { type Connection, encodeText } from '../connection.ts';
import type { SqliteEvents } from '../watched/sqlite-events.ts';

/** The events of alerts, linked by the numbers of both. */
export class AlertEvents {
  readonly #events: SqliteEvents;
  readonly #sql: ReturnType<typeof prepareAlertEvents>;
  readonly #put: ReturnType<typeof prepareChunks>;

  constructor(connection: Connection, events: SqliteEvents) {
    this.#events = events;
    this.#sql = prepareAlertEvents(connection);
    this.#put = prepareChunks(
      connection,
      3,
      (rows) =>
        `WITH given (id, seq, event) AS (VALUES ${rows})
         INSERT INTO alert_event (alert, seq, event)
         SELECT alert, seq, event FROM given CROSS JOIN alert USING (id) WHERE true
         ON CONFLICT DO UPDATE SET event = excluded.event`,
    );
  }

  link(links: readonly Link[]): void {
    const linked = this.#put(links.length, (index, values) => {
      const { alertId, seq, event } = links[index]!;
      const number = this.#events.numberOf(event);
      if (number === undefined) throw new Error(`The event ${event.key} is not in the store.`);
      values.push(alertId, seq, number);
    });
    if (linked !== links.length) throw new Error('An alert of an event is not in the store.');
  }

  /** An alert's events with `afterSeq < seq <= lastSeq`, newest first. */
  list(alertId: string, afterSeq: number, limit: number, lastSeq: number): Link[] {
    return this.#sql.linked
      .all(alertId, afterSeq, lastSeq, limit)
      .map((row) => ({ alertId, seq: row.seq, event: this.#events.fromRow(row) }));
  }

  /** The newest events of each span, newest first, by alert, in a single query. */
  ofSpans(spans: readonly LinkedSpan[], limit: number): Map<string, Event[]> {
    const events = new Map<string, Event[]>();
    const [only, ...others] = spans;
    if (!only) return events;
    // Most messages are about one alert, and parsing a list costs more than the rest of the query.
    if (others.length === 0) {
      const { alertId, afterSeq, lastSeq } = only;
      const list = this.list(alertId, afterSeq, limit, lastSeq).map(({ event }) => event);
      return list.length > 0 ? events.set(alertId, list) : events;
    }
    const given = spans.map(({ alertId, afterSeq, lastSeq }) => [encodeText(alertId), afterSeq, lastSeq]);
    for (const row of this.#sql.linkedOfSpans.all(JSON.stringify(given), limit)) {
      const { alertId } = spans[row.span]!;
      const event = this.#events.fromRow(row);
      const list = events.get(alertId);
      if (list) list.push(event);
      else events.set(alertId, [event]);
    }
    return events;
  }

  old({ alertId, afterSeq, lastSeq, maxAgeUs }: AgedSpan): OldEvents | undefined {
    const first = this.#sql.firstFresh.get(alertId, afterSeq, maxAgeUs)?.seq ?? Number.MAX_SAFE_INTEGER;
    if (first === afterSeq + 1) return undefined;
    const span = this.#sql.span.get(alertId, afterSeq, Math.min(first, lastSeq + 1))!;
    if (span.last_seq === null) return undefined;
    return { lastSeq: span.last_seq, fromUs: span.from_us, toUs: span.to_us };
  }

  /** Removes all events from these alerts; `alertIds` comes from `textList`. */
  unlink(alertIds: string): void {
    this.#sql.unlink.run(alertIds);
  }
}

function prepareAlertEvents(connection: Connection) {
  const ofAlert = 'alert_event.alert = (SELECT alert FROM alert WHERE id = ?) AND alert_event.seq > ?';
  return {
    linked: connection.prepare<EventRow & { readonly seq: number }>(
      `SELECT alert_event.seq, event.* FROM alert_event JOIN event USING (event)
       WHERE ${ofAlert} AND alert_event.seq <= ? ORDER BY alert_event.seq DESC LIMIT ?`,
    ),
    linkedOfSpans: connection.prepare<EventRow & { readonly span: number }>(
      `WITH given AS (
         SELECT key AS span, value ->> 0 AS id, value ->> 1 AS after_seq, value ->> 2 AS last_seq FROM json_each(?1))
       SELECT span, event.* FROM given CROSS JOIN alert USING (id)
         CROSS JOIN alert_event ON alert_event.alert = alert.alert AND seq <= last_seq AND seq > max(after_seq, coalesce(
           (SELECT older.seq FROM alert_event AS older
            WHERE older.alert = alert.alert AND older.seq > after_seq AND older.seq <= last_seq
            ORDER BY older.seq DESC LIMIT 1 OFFSET ?2), 0))
         CROSS JOIN event USING (event)
       ORDER BY span, seq DESC`,
    ),
    firstFresh: connection.prepare<{ seq: number }>(
      `SELECT alert_event.seq FROM alert_event JOIN event USING (event)
       WHERE ${ofAlert} AND event.observed_us - event.occurred_us <= ? ORDER BY alert_event.seq LIMIT 1`,
    ),
    span: connection.prepare<{ last_seq: number | null; from_us: number; to_us: number }>(
      `SELECT max(alert_event.seq) AS last_seq, min(event.occurred_us) AS from_us, max(event.occurred_us) AS to_us
       FROM alert_event JOIN event USING (event) WHERE ${ofAlert} AND alert_event.seq < ?`,
    ),
    unlink: connection.prepare(
      `DELETE FROM alert_event WHERE alert IN
         (SELECT alert FROM alert WHERE id IN (SELECT value FROM json_each(?)))`,
    ),
  };
}
