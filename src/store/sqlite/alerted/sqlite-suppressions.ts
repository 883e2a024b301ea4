import { type SuppressionRow, suppressionOf } from '../../rows/suppression-row.ts';
import type { SuppressionStore } from '../../suppression-store.ts';
import type { Connection } from '../connection.ts';
import type { SqliteEvents } from '../watched/sqlite-events.ts';

export function createSuppressions(connection: Connection, events: SqliteEvents): SuppressionStore {
  const put = connection.prepare<{ suppression: number }>(
    `INSERT INTO suppression (alert_id, after_seq, last_seq, group_key, receiver, reason, detail, at_us)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING suppression`,
  );
  // Linked to the events themselves, so that suppressions outlive the alert.
  const putEvents = connection.prepare(
    `INSERT INTO suppressed_event (event, suppression)
     SELECT alert_event.event, ?1 FROM alert_event
     WHERE alert_event.alert = (SELECT alert FROM alert WHERE id = ?2) AND alert_event.seq > ?3 AND alert_event.seq <= ?4`,
  );
  const ofAlert = connection.prepare<SuppressionRow>(
    'SELECT * FROM suppression WHERE alert_id = ? ORDER BY suppression',
  );
  const ofEvent = connection.prepare<SuppressionRow>(
    `SELECT suppression.* FROM suppressed_event JOIN suppression USING (suppression)
     WHERE event = ? ORDER BY suppression`,
  );

  return {
    async add(list) {
      for (const { alertId, afterSeq, lastSeq, groupKey, receiver, reason, detail, atUs } of list) {
        const { suppression } = put.get(
          alertId,
          afterSeq,
          lastSeq,
          groupKey,
          receiver,
          reason,
          detail,
          atUs,
        )!;
        putEvents.run(suppression, alertId, afterSeq, lastSeq);
      }
    },
    async ofAlert(alertId) {
      return ofAlert.all(alertId).map(suppressionOf);
    },
    async ofEvent(key) {
      const number = events.numberOfKey(key);
      return number === undefined ? [] : ofEvent.all(number).map(suppressionOf);
    },
  };
}
