/**
 * Keeps which notifications list an alert and which cover an event, by numbers alone. A group's notification has a
 * row for each alert and for each event. A forwarded batch has a single row, because events leave a queue in the
 * order of their numbers. A half of a batch that was split has a row for each event instead.
 */
import type { Notification, NotifiedAlert } from '../../../domain/grouping/notification.ts';
import type { Delivery, LinkedSpan, SentNotification } from '../../outbox-store.ts';
import { type DeliveryRow, deliveryOf } from '../../rows/delivery-row.ts';
import type { DeliveryCounts } from '../../sql/queued/delivery-counts.ts';
import type { SqlEvents } from '../../sql/watched/events.ts';
import { prepareChunks } from '../chunks.ts';
import type { Connection } from '../connection.ts';

interface NotificationRow {
  readonly seq: number;
  readonly body: string;
}

interface SentRow {
  readonly id: string;
  readonly receiver: string;
  readonly reason: string;
  readonly created_us: number;
}

/** What a notification covers, before it is recorded. */
export interface Covered {
  readonly notification: number;
  readonly alertIds: readonly string[];
  readonly spans: readonly LinkedSpan[];
}

export class NotifiedEvents {
  readonly #events: SqlEvents;
  readonly #counts: Pick<DeliveryCounts, 'receivers'>;
  readonly #pause: () => Promise<void>;
  readonly #write: ReturnType<typeof prepareWriting>;
  readonly #read: ReturnType<typeof prepareReading>;

  /** `pause` lets other work run. */
  constructor(
    connection: Connection,
    events: SqlEvents,
    counts: Pick<DeliveryCounts, 'receivers'>,
    pause: () => Promise<void>,
  ) {
    this.#events = events;
    this.#counts = counts;
    this.#pause = pause;
    this.#write = prepareWriting(connection);
    this.#read = prepareReading(connection);
  }

  /**
   * What to record for the notification with this number: the events of `covers`, or by default those that it lists.
   * The latter are recorded at once.
   */
  async coveredBy(
    seq: number,
    notification: Notification,
    covers: readonly LinkedSpan[] | undefined,
  ): Promise<Covered | undefined> {
    // A digest counts events but covers none.
    if (notification.kind === 'digest') return undefined;
    if (notification.kind === 'forward' && !notification.isHalf) {
      const [first] = notification.events;
      const [number] = first ? await this.#events.numbersOf([first]) : [];
      if (number !== undefined) this.#write.batch.run(number, notification.receiver, seq);
      return undefined;
    }
    const listed = notification.kind === 'forward' ? notification.events : eventsOf(notification.alerts);
    for (const number of covers ? [] : await this.#events.numbersOf(listed)) {
      if (number !== undefined) this.#write.one.run(number, seq);
    }
    if (notification.kind === 'forward') return undefined;
    return { notification: seq, alertIds: notification.alerts.map(({ id }) => id), spans: covers ?? [] };
  }

  /** Records the alerts and events of many notifications. */
  note(covered: readonly Covered[]): void {
    const alerts = covered.flatMap(({ notification, alertIds }) => alertIds.map((id) => [notification, id]));
    this.#write.alerts(alerts.length, (index, values) => values.push(...alerts[index]!));
    const spans = covered.flatMap((one) =>
      one.spans.map((span) => ({ ...span, notification: one.notification })),
    );
    this.#write.spans(spans.length, (index, values) => {
      const { notification, alertId, afterSeq, lastSeq } = spans[index]!;
      values.push(notification, alertId, afterSeq, lastSeq);
    });
  }

  async ofAlert(alertId: string, limit: number): Promise<SentNotification[]> {
    const found: SentNotification[] = [];
    for (const { seq } of this.#read.ofAlert.all(alertId, limit)) {
      const row = this.#read.sent.get(seq)!;
      found.push({
        id: row.id,
        receiver: row.receiver,
        reason: row.reason,
        createdAtUs: row.created_us,
        deliveries: this.#read.deliveries.all(seq).map(deliveryOf),
      });
      // Each body may have megabytes.
      await this.#pause();
    }
    return found;
  }

  async ofEvent(key: string): Promise<{ notification: Notification; deliveries: Delivery[] }[]> {
    const number = await this.#events.numberOfKey(key);
    if (number === undefined) return [];
    const found: { notification: Notification; deliveries: Delivery[] }[] = [];
    const add = async (seq: number, notification: Notification) => {
      found.push({ notification, deliveries: this.#read.deliveries.all(seq).map(deliveryOf) });
      // Each body may have megabytes.
      await this.#pause();
    };
    for (const { seq } of this.#read.ofGroups.all(number)) {
      await add(seq, JSON.parse(this.#read.body.get(seq)!.body) as Notification);
    }
    // For each receiver, the batch that may contain the event, if it does.
    for (const receiver of await this.#counts.receivers()) {
      const row = this.#read.batch.get(number, receiver);
      const batch = row && (JSON.parse(row.body) as Notification);
      const isIn = batch?.kind === 'forward' && batch.events.some((event) => event.key === key);
      if (isIn) await add(row!.seq, batch);
    }
    return found;
  }
}

const eventsOf = (alerts: readonly NotifiedAlert[]) => alerts.flatMap(({ events }) => events);

function prepareWriting(connection: Connection) {
  return {
    one: connection.prepare('INSERT OR IGNORE INTO notified_event (event, notification) VALUES (?, ?)'),
    spans: prepareChunks(
      connection,
      4,
      (rows) =>
        `WITH given (notification, id, after_seq, last_seq) AS (VALUES ${rows})
         INSERT OR IGNORE INTO notified_event (event, notification)
         SELECT event, notification FROM given CROSS JOIN alert USING (id) CROSS JOIN alert_event USING (alert)
         WHERE seq > after_seq AND seq <= last_seq`,
    ),
    alerts: prepareChunks(
      connection,
      2,
      (rows) =>
        `WITH given (notification, id) AS (VALUES ${rows})
         INSERT OR IGNORE INTO notified_alert (alert, notification)
         SELECT alert, notification FROM given CROSS JOIN alert USING (id)
         UNION ALL SELECT alert, notification FROM given CROSS JOIN former_alert USING (id)`,
    ),
    batch: connection.prepare(
      'INSERT OR IGNORE INTO forwarded_batch (first_event, receiver, notification) VALUES (?, ?, ?)',
    ),
  };
}

function prepareReading(connection: Connection) {
  return {
    ofGroups: connection.prepare<Pick<NotificationRow, 'seq'>>(
      `SELECT seq FROM notified_event JOIN notification ON notification.seq = notification
       WHERE event = ? ORDER BY seq`,
    ),
    body: connection.prepare<Pick<NotificationRow, 'body'>>('SELECT body FROM notification WHERE seq = ?'),
    sent: connection.prepare<SentRow>(
      `SELECT body ->> '$.id' AS id, body ->> '$.receiver' AS receiver, body ->> '$.reason' AS reason,
         body ->> '$.createdAtUs' AS created_us FROM notification WHERE seq = ?`,
    ),
    ofAlert: connection.prepare<Pick<NotificationRow, 'seq'>>(
      `SELECT seq FROM notified_alert JOIN notification ON notification.seq = notification
       WHERE notified_alert.alert = (
         SELECT alert FROM alert WHERE id = ?1 UNION SELECT alert FROM former_alert WHERE id = ?1)
       ORDER BY notification DESC LIMIT ?2`,
    ),
    batch: connection.prepare<NotificationRow>(
      `SELECT seq, body FROM notification WHERE seq = (
         SELECT notification FROM forwarded_batch WHERE first_event <= ? AND receiver = ?
         ORDER BY first_event DESC LIMIT 1)`,
    ),
    deliveries: connection.prepare<DeliveryRow>('SELECT * FROM delivery WHERE notification = ? ORDER BY seq'),
  };
}
