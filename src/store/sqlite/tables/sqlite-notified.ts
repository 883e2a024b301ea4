import type { Notification } from '../../../domain/grouping/notification.ts';
import type { AlertStore } from '../../alert-store.ts';
import type { LinkedSpan, OutboxStore } from '../../outbox-store.ts';
import type { Connection } from '../connection.ts';
import type { DeliveryCounts } from './delivery-counts.ts';
import { type DeliveryRow, deliveryOf } from './delivery-row.ts';
import { type AlertRow, alertOf } from './sqlite-alerts.ts';
import type { Events } from './sqlite-events.ts';

/**
 * Which notifications tell an event, by numbers alone: a row for each event of a group's notification; for what is
 * forwarded, where events are told in the order of their numbers, one for each batch.
 */
export interface NotifiedEvents
  extends Pick<AlertStore, 'ofEvent'>,
    Pick<OutboxStore, 'notificationsOfEvent'> {
  record(seq: number, notification: Notification, covers: readonly LinkedSpan[] | undefined): void;
}

export function createNotifiedEvents(
  connection: Connection,
  events: Events,
  counts: Pick<DeliveryCounts, 'receivers'>,
): NotifiedEvents {
  const put = connection.prepare('INSERT OR IGNORE INTO notified_event (event, notification) VALUES (?, ?)');
  const putLinked = connection.prepare(
    `INSERT OR IGNORE INTO notified_event (event, notification)
     SELECT event, ?1 FROM alert_event
     WHERE alert = (SELECT alert FROM alert WHERE id = ?2) AND seq > ?3 AND seq <= ?4`,
  );
  const putForwarded = connection.prepare(
    'INSERT OR IGNORE INTO forwarded_batch (first_event, receiver, notification) VALUES (?, ?, ?)',
  );
  const alerts = connection.prepare<AlertRow & { seq: number }>(
    'SELECT body, seq FROM alert_event JOIN alert USING (alert) WHERE event = ? ORDER BY id',
  );
  const ofGroups = connection.prepare<{ seq: number; body: string }>(
    `SELECT seq, body FROM notified_event JOIN notification ON notification.seq = notification
     WHERE event = ? ORDER BY seq`,
  );
  const batch = connection.prepare<{ seq: number; body: string }>(
    `SELECT seq, body FROM notification WHERE seq = (
       SELECT notification FROM forwarded_batch WHERE first_event <= ? AND receiver = ? ORDER BY first_event DESC LIMIT 1)`,
  );
  const deliveries = connection.prepare<DeliveryRow>(
    'SELECT * FROM delivery WHERE notification = ? ORDER BY seq',
  );

  function numberOf(key: string): number | undefined {
    const event = events.lookUp(key);
    return event && events.numberOf(event);
  }

  function forwards(number: number, key: string) {
    return counts.receivers().flatMap((receiver) => {
      const row = batch.get(number, receiver);
      if (!row) return [];
      const found = JSON.parse(row.body) as Notification;
      return found.kind === 'forward' && found.events.some((event) => event.key === key) ? [row] : [];
    });
  }

  return {
    record(seq, notification, covers) {
      // A digest counts events and tells none of them.
      if (notification.kind === 'digest') return;
      if (notification.kind === 'forward') {
        const [first] = notification.events;
        const number = first && events.numberOf(first);
        if (number !== undefined) putForwarded.run(number, notification.receiver, seq);
        return;
      }
      if (covers) {
        for (const { alertId, afterSeq, lastSeq } of covers) putLinked.run(seq, alertId, afterSeq, lastSeq);
        return;
      }
      for (const alert of notification.alerts) {
        for (const event of alert.events) {
          const number = events.numberOf(event);
          if (number !== undefined) put.run(number, seq);
        }
      }
    },
    async ofEvent(key) {
      const number = numberOf(key);
      if (number === undefined) return [];
      return alerts.all(number).map((row) => ({ alert: alertOf(row), seq: row.seq }));
    },
    async notificationsOfEvent(key) {
      const number = numberOf(key);
      if (number === undefined) return [];
      return [...ofGroups.all(number), ...forwards(number, key)].map(({ seq, body }) => ({
        notification: JSON.parse(body) as Notification,
        deliveries: deliveries.all(seq).map(deliveryOf),
      }));
    },
  };
}
