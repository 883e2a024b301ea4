/**
 * Keeps which notifications list an alert and which cover an event, by numbers alone. A group's notification has a
 * row for each alert and for each event. A forwarded batch has a single row, because events usually leave a queue in
 * the order of their numbers. But on PostgreSQL numbers are assigned before they are committed, so an event of another
 * replica may leave after events with greater numbers. A batch with such an event, and a half of a batch that was
 * split, have a row for each event instead.
 */
import type { Event } from '../../../domain/alert/event.ts';
import type { GroupNotification, Notification } from '../../../domain/grouping/notification.ts';
import {
  type Delivery,
  type DeliveryRow,
  deliveryOf,
  type LinkedSpan,
  type SentNotification,
} from '../../outbox-store.ts';
import type { HeldRows, RowStatement, Sql } from '../sql.ts';
import type { SqlEvents } from '../watched/events.ts';
import type { DeliveryCounts } from './delivery-counts.ts';

/** What a notification covers, before that is recorded. */
export interface Covered {
  readonly alertIds?: readonly string[];
  readonly spans?: readonly LinkedSpan[];
  readonly events?: readonly number[];
  /** The first and the last number of a forwarded batch. */
  readonly batch?: { readonly receiver: string; readonly first: number; readonly last: number };
}

const ALERTS: RowStatement = {
  columns: 'notification bigint, id text',
  text: (given) => `INSERT INTO notified_alert (alert, notification)
    SELECT alert, notification FROM (
      SELECT coalesce((SELECT alert FROM alert WHERE alert.id = given.id),
        (SELECT alert FROM former_alert WHERE former_alert.id = given.id)) AS alert, notification
      FROM ${given}) AS listed
    WHERE alert IS NOT NULL ON CONFLICT DO NOTHING`,
};

const SPAN = 'notification bigint, id text, after_seq bigint, last_seq bigint';
const SPANS: { readonly [engine in Sql['engine']]: RowStatement } = {
  sqlite: {
    columns: SPAN,
    text: (given) => `INSERT INTO notified_event (event, notification)
      SELECT event, notification FROM ${given} CROSS JOIN alert USING (id) CROSS JOIN alert_event USING (alert)
      WHERE seq > after_seq AND seq <= last_seq ON CONFLICT DO NOTHING`,
  },
  // `OFFSET 0` makes the server look up each alert by itself, however many there are: reading the whole table would
  // conflict with whatever is written to it meanwhile.
  postgres: {
    columns: SPAN,
    text: (given) => `INSERT INTO notified_event (event, notification)
      SELECT covered.event, notification FROM ${given}
        CROSS JOIN LATERAL (SELECT event FROM alert JOIN alert_event USING (alert)
          WHERE alert.id = given.id AND seq > after_seq AND seq <= last_seq OFFSET 0) AS covered
      ON CONFLICT DO NOTHING`,
  },
};

const EVENTS: RowStatement = {
  columns: 'event bigint, notification bigint',
  text: (given) => `INSERT INTO notified_event (event, notification)
    SELECT event, notification FROM ${given} WHERE true ON CONFLICT DO NOTHING`,
};

const BATCHES: RowStatement = {
  columns: 'first_event bigint, receiver text, notification bigint',
  text: (given) => `INSERT INTO forwarded_batch (first_event, receiver, notification)
    SELECT first_event, receiver, notification FROM ${given} WHERE true ON CONFLICT DO NOTHING`,
};

/** For each receiver, the only batch that may contain the event. */
const BATCH_OF: RowStatement = {
  columns: 'receiver text, event bigint',
  text: (given) => `SELECT (SELECT notification FROM forwarded_batch
      WHERE first_event <= given.event AND forwarded_batch.receiver = given.receiver
      ORDER BY first_event DESC LIMIT 1) AS seq
    FROM ${given}`,
};

interface Numbered {
  readonly seq: number;
}

export class SqlNotified {
  readonly #sql: Sql;
  readonly #events: SqlEvents;
  readonly #counts: Pick<DeliveryCounts, 'receivers'>;
  /** For each receiver the batch with the greatest numbers recorded here, and the last of those numbers. */
  readonly #latest = new Map<string, { readonly batch: number; readonly last: number }>();

  constructor(sql: Sql, events: SqlEvents, counts: Pick<DeliveryCounts, 'receivers'>) {
    this.#sql = sql;
    this.#events = events;
    this.#counts = counts;
  }

  /** What to record of a notification: the events of `covers`, or by default those that it lists. */
  async coveredBy(notification: Notification, covers: readonly LinkedSpan[] | undefined): Promise<Covered> {
    switch (notification.kind) {
      // A digest counts events but covers none.
      case 'digest':
        return {};
      case 'forward':
        return this.#forwarded(notification);
      default: {
        const alertIds = notification.alerts.map(({ id }) => id);
        if (covers) return { alertIds, spans: covers };
        return {
          alertIds,
          events: await this.#numbersOf(notification.alerts.flatMap(({ events }) => events)),
        };
      }
    }
  }

  async #forwarded({
    receiver,
    events,
    isHalf,
  }: Extract<Notification, { kind: 'forward' }>): Promise<Covered> {
    const isInOrder = this.#sql.engine === 'sqlite' && !isHalf;
    const numbers = await this.#numbersOf(isInOrder ? events.slice(0, 1) : events);
    if (numbers.length === 0) return {};
    const first = Math.min(...numbers);
    if (!isInOrder && (isHalf || first <= (await this.#lastForwarded(receiver)))) return { events: numbers };
    return { batch: { receiver, first, last: Math.max(...numbers) } };
  }

  /** The numbers of those events that are stored. */
  async #numbersOf(events: readonly Event[]): Promise<number[]> {
    return (await this.#events.numbersOf(events)).filter((number) => number !== undefined);
  }

  /** The greatest number in batches that have a single row. */
  async #lastForwarded(receiver: string): Promise<number> {
    const row = await this.#sql.first<{ notification: number }>(
      'SELECT notification FROM forwarded_batch WHERE receiver = $1 ORDER BY first_event DESC LIMIT 1',
      receiver,
    );
    if (!row) return 0;
    const latest = this.#latest.get(receiver);
    if (latest?.batch === row.notification) return latest.last;
    const found = await this.#notification(row.notification);
    if (found?.kind !== 'forward') return Number.MAX_SAFE_INTEGER;
    return Math.max(...(await this.#numbersOf(found.events)), 0);
  }

  /** Records what the notifications with these numbers cover. */
  *note(notifications: readonly (Covered & Numbered)[]): Iterable<HeldRows> {
    yield {
      statement: ALERTS,
      rows: notifications.flatMap(({ seq, alertIds = [] }) => alertIds.map((id) => [seq, id])),
    };
    yield {
      statement: SPANS[this.#sql.engine],
      rows: notifications.flatMap(({ seq, spans = [] }) =>
        spans.map(({ alertId, afterSeq, lastSeq }) => [seq, alertId, afterSeq, lastSeq]),
      ),
    };
    yield {
      statement: EVENTS,
      rows: notifications.flatMap(({ seq, events = [] }) => events.map((event) => [event, seq])),
    };
    yield {
      statement: BATCHES,
      rows: notifications.flatMap(({ seq, batch }) => (batch ? [[batch.first, batch.receiver, seq]] : [])),
    };
    for (const { seq, batch } of notifications) {
      if (batch) this.#latest.set(batch.receiver, { batch: seq, last: batch.last });
    }
  }

  async ofAlert(alertId: string, limit: number): Promise<SentNotification[]> {
    const rows = await this.#sql.rows<Numbered>(
      `SELECT seq FROM notified_alert JOIN notification ON notification.seq = notification
       WHERE notified_alert.alert = (
         SELECT alert FROM alert WHERE id = $1 UNION SELECT alert FROM former_alert WHERE id = $1)
       ORDER BY notified_alert.notification DESC LIMIT $2`,
      alertId,
      limit,
    );
    const found = await this.#withDeliveries(rows);
    return found.map(({ notification, deliveries }) => {
      const { id, receiver, createdAtUs } = notification;
      const { reason = '', alerts = [] } = notification as Partial<GroupNotification>;
      const firing = alerts.find((one) => one.id === alertId && one.status === 'firing');
      return { id, receiver, reason, createdAtUs, deliveries, ...(firing && { firing }) };
    });
  }

  async lastToFallBack(alertIds: readonly string[], receivers: readonly string[]) {
    const rows = await this.#sql.rows<{ id: string; lastUs: number }>(
      `SELECT alert.id, max(delivery.created_us) AS "lastUs" FROM alert JOIN notified_alert USING (alert)
         JOIN delivery ON delivery.notification = notified_alert.notification
       WHERE alert.id = ANY($1::text[]) AND delivery.receiver = ANY($2::text[]) AND delivery.fallback_us IS NOT NULL
       GROUP BY alert.id`,
      alertIds,
      receivers,
    );
    return new Map(rows.map(({ id, lastUs }) => [id, lastUs]));
  }

  async ofEvent(key: string): Promise<{ notification: Notification; deliveries: Delivery[] }[]> {
    const number = await this.#events.numberOfKey(key);
    if (number === undefined) return [];
    const ofGroups = await this.#sql.rows<Numbered>(
      'SELECT notification AS seq FROM notified_event WHERE event = $1 ORDER BY notification',
      number,
    );
    const receivers = await this.#counts.receivers();
    const batches = await this.#sql.returning<{ readonly seq: number | null }>(
      BATCH_OF,
      receivers.map((receiver) => [receiver, number]),
    );
    const ofBatches = batches.flatMap(({ seq }) => (seq === null ? [] : [{ seq }]));
    const found = await this.#withDeliveries([...ofGroups, ...ofBatches]);
    return found.filter(
      ({ notification }) =>
        notification.kind !== 'forward' || notification.events.some((event) => event.key === key),
    );
  }

  /** Those of these notifications that are still kept. */
  async #withDeliveries(
    rows: readonly Numbered[],
  ): Promise<{ notification: Notification; deliveries: Delivery[] }[]> {
    const all = await this.#sql.rows<DeliveryRow & { readonly notification: number }>(
      'SELECT * FROM delivery WHERE notification = ANY($1::bigint[]) ORDER BY seq',
      rows.map(({ seq }) => seq),
    );
    const deliveries = Map.groupBy(all, ({ notification }) => notification);
    const found: { notification: Notification; deliveries: Delivery[] }[] = [];
    for (const { seq } of rows) {
      const notification = await this.#notification(seq);
      if (notification) found.push({ notification, deliveries: (deliveries.get(seq) ?? []).map(deliveryOf) });
      // Each may have megabytes.
      await this.#sql.pause();
    }
    return found;
  }

  async #notification(seq: number): Promise<Notification | undefined> {
    const row = await this.#sql.first<{ body: string }>('SELECT body FROM notification WHERE seq = $1', seq);
    return row && (JSON.parse(row.body) as Notification);
  }
}
