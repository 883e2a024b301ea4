/**
 * Keeps which notifications list an alert and which cover an event, by numbers alone. A group's notification has a
 * row for each alert and for each event. A forwarded batch has a single row, because events usually leave a queue in
 * the order of their numbers. But numbers are assigned before they are committed, so an event of another replica may
 * leave after events with greater numbers. A batch with such an event, and a half of a batch that was split, have a
 * row for each event instead.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { Event } from '../../../domain/alert/event.ts';
import type { Notification } from '../../../domain/grouping/notification.ts';
import type { Delivery, LinkedSpan, SentNotification } from '../../outbox-store.ts';
import { type DeliveryRow, deliveryOf } from '../../rows/delivery-row.ts';
import type { DeliveryCounts } from '../../sql/queued/delivery-counts.ts';
import type { SqlEvents } from '../../sql/watched/events.ts';
import { columnsOf, given, type Statements } from '../statements.ts';

interface NotificationRow {
  readonly seq: number;
  readonly body: string;
}

// `OFFSET 0` and the `UNION` make the server look up each alert by itself, however many there are: reading the whole
// table would conflict with whatever is written to it meanwhile.
const SPANS = `INSERT INTO notified_event (event, notification)
  SELECT covered.event, notification
  FROM ${given('notification bigint, id text, after_seq bigint, last_seq bigint')}
    CROSS JOIN LATERAL (SELECT event FROM alert JOIN alert_event USING (alert)
      WHERE alert.id = given.id AND seq > after_seq AND seq <= last_seq OFFSET 0) AS covered
  ON CONFLICT DO NOTHING`;
const EVENTS = `INSERT INTO notified_event (event, notification)
  SELECT * FROM ${given('event bigint, notification bigint')} ON CONFLICT DO NOTHING`;
const ALERTS = `INSERT INTO notified_alert (alert, notification)
  SELECT listed.alert, notification
  FROM ${given('notification bigint, id text')}
    CROSS JOIN LATERAL (SELECT alert FROM alert WHERE alert.id = given.id
      UNION SELECT alert FROM former_alert WHERE former_alert.id = given.id) AS listed
  ON CONFLICT DO NOTHING`;

/** The alerts and events that a notification covers, before that is recorded. */
export interface Covered {
  readonly alertIds: readonly string[];
  readonly spans: readonly LinkedSpan[];
  readonly events: readonly number[];
}

/** Records what the notifications with these numbers cover. */
export async function noteCovered(
  statements: Statements,
  notifications: readonly (Covered & { readonly seq: number })[],
): Promise<void> {
  const alerts = notifications.flatMap(({ seq, alertIds }) => alertIds.map((id) => [seq, id]));
  if (alerts.length > 0) await statements.run(ALERTS, ...columnsOf(2, alerts));
  const spans = notifications.flatMap((one) =>
    one.spans.map(({ alertId, afterSeq, lastSeq }) => [one.seq, alertId, afterSeq, lastSeq]),
  );
  if (spans.length > 0) await statements.run(SPANS, ...columnsOf(4, spans));
  await noteEvents(
    statements,
    notifications.flatMap(({ seq, events }) => events.map((event) => [event, seq])),
  );
}

async function noteEvents(statements: Statements, rows: readonly (readonly number[])[]): Promise<void> {
  if (rows.length > 0) await statements.run(EVENTS, ...columnsOf(2, rows));
}

export class PostgresNotified {
  readonly #statements: Statements;
  readonly #events: SqlEvents;
  readonly #counts: DeliveryCounts;
  /** For each receiver the batch with the greatest numbers recorded here, and the last of those numbers. */
  readonly #latest = new Map<string, { readonly batch: number; readonly last: number }>();

  constructor(statements: Statements, events: SqlEvents, counts: DeliveryCounts) {
    this.#statements = statements;
    this.#events = events;
    this.#counts = counts;
  }

  /** What to record of a notification: the events of `covers`, or by default those that it lists. */
  async coveredBy(
    notification: Exclude<Notification, { kind: 'forward' }>,
    covers: readonly LinkedSpan[] | undefined,
  ): Promise<Covered> {
    // A digest counts events but covers none.
    if (notification.kind === 'digest') return { alertIds: [], spans: [], events: [] };
    const listed = covers ? [] : notification.alerts.flatMap((alert) => alert.events);
    return {
      alertIds: notification.alerts.map(({ id }) => id),
      spans: covers ?? [],
      events: await this.#numbersOf(listed),
    };
  }

  /** Records a forwarded batch with this number. */
  async noteBatch(
    seq: number,
    { receiver, events, isHalf }: Extract<Notification, { kind: 'forward' }>,
  ): Promise<void> {
    const numbers = await this.#numbersOf(events);
    if (numbers.length === 0) return;
    const first = Math.min(...numbers);
    if (isHalf || first <= (await this.#lastForwarded(receiver))) {
      return noteEvents(
        this.#statements,
        numbers.map((event) => [event, seq]),
      );
    }
    await this.#statements.run(
      'INSERT INTO forwarded_batch (first_event, receiver, notification) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      first,
      receiver,
      seq,
    );
    this.#latest.set(receiver, { batch: seq, last: Math.max(...numbers) });
  }

  /** The numbers of those events that are stored. */
  async #numbersOf(events: readonly Event[]): Promise<number[]> {
    return (await this.#events.numbersOf(events)).filter((number) => number !== undefined);
  }

  /** The greatest number in batches that have a single row. */
  async #lastForwarded(receiver: string): Promise<number> {
    const row = await this.#statements.first<{ notification: number }>(
      'SELECT notification FROM forwarded_batch WHERE receiver = $1 ORDER BY first_event DESC LIMIT 1',
      receiver,
    );
    if (!row) return 0;
    const latest = this.#latest.get(receiver);
    if (latest?.batch === row.notification) return latest.last;
    const [batch] = await this.#statements.rows<{ body: string }>(
      'SELECT body FROM notification WHERE seq = $1',
      row.notification,
    );
    const found = batch && (JSON.parse(batch.body) as Notification);
    if (found?.kind !== 'forward') return Number.MAX_SAFE_INTEGER;
    return Math.max(...(await this.#numbersOf(found.events)), 0);
  }

  async ofAlert(alertId: string, limit: number): Promise<SentNotification[]> {
    const rows = await this.#statements.rows<NotificationRow>(
      `SELECT seq, body FROM notified_alert JOIN notification ON notification.seq = notification
       WHERE notified_alert.alert = (
         SELECT alert FROM alert WHERE id = $1 UNION SELECT alert FROM former_alert WHERE id = $1)
       ORDER BY seq DESC LIMIT $2`,
      alertId,
      limit,
    );
    const deliveries = await this.#deliveriesOf(rows);
    const found: SentNotification[] = [];
    for (const { seq, body } of rows) {
      const notification = JSON.parse(body) as Notification & { reason?: string };
      const { id, receiver, createdAtUs, reason = '' } = notification;
      found.push({ id, receiver, reason, createdAtUs, deliveries: deliveries.get(seq) ?? [] });
      // Each body may have megabytes.
      await turnOfEventLoop();
    }
    return found;
  }

  async ofEvent(key: string): Promise<{ notification: Notification; deliveries: Delivery[] }[]> {
    const number = await this.#events.numberOfKey(key);
    if (number === undefined) return [];
    const ofGroups = await this.#statements.rows<NotificationRow>(
      `SELECT seq, body FROM notified_event JOIN notification ON notification.seq = notification
       WHERE event = $1 ORDER BY seq`,
      number,
    );
    const rows = [...ofGroups, ...(await this.#forwards(number, key))];
    const deliveries = await this.#deliveriesOf(rows);
    const found: { notification: Notification; deliveries: Delivery[] }[] = [];
    for (const { seq, body } of rows) {
      found.push({ notification: JSON.parse(body) as Notification, deliveries: deliveries.get(seq) ?? [] });
      // Each body may have megabytes.
      await turnOfEventLoop();
    }
    return found;
  }

  /** For each receiver, the batch that may contain the event, if it does. */
  async #forwards(number: number, key: string): Promise<NotificationRow[]> {
    const rows = await this.#statements.rows<NotificationRow>(
      `SELECT seq, body FROM unnest($2::text[]) WITH ORDINALITY AS given (receiver, at)
         CROSS JOIN LATERAL (SELECT forwarded_batch.notification FROM forwarded_batch
           WHERE first_event <= $1 AND forwarded_batch.receiver = given.receiver
           ORDER BY first_event DESC LIMIT 1) AS batch
         JOIN notification ON notification.seq = batch.notification
       ORDER BY at`,
      number,
      await this.#counts.receivers(),
    );
    return rows.filter(({ body }) => {
      const found = JSON.parse(body) as Notification;
      return found.kind === 'forward' && found.events.some((event) => event.key === key);
    });
  }

  async #deliveriesOf(notifications: readonly NotificationRow[]): Promise<Map<number, Delivery[]>> {
    const rows = await this.#statements.rows<DeliveryRow & { readonly notification: number }>(
      'SELECT * FROM delivery WHERE notification = ANY($1::bigint[]) ORDER BY seq',
      notifications.map(({ seq }) => seq),
    );
    const found = new Map<number, Delivery[]>();
    for (const [seq, all] of Map.groupBy(rows, ({ notification }) => notification)) {
      found.set(seq, all.map(deliveryOf));
    }
    return found;
  }
}
