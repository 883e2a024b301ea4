import type { Suppression } from '../../../domain/muting/suppression.ts';
import type { SuppressionStore } from '../../suppression-store.ts';
import type { Connection } from '../connection.ts';
import type { Events } from './sqlite-events.ts';

export function createSuppressions(connection: Connection, events: Events): SuppressionStore {
  const put = connection.prepare<{ suppression: number }>(
    `INSERT INTO suppression (alert_id, at_us, body) VALUES (?, ?, ?) RETURNING suppression`,
  );
  // By the events themselves: what is known of them outlives the alert.
  const putEvents = connection.prepare(
    `INSERT INTO suppressed_event (event, suppression)
     SELECT link.event, ?1 FROM link
     WHERE link.alert = (SELECT alert FROM alert WHERE id = ?2) AND link.seq > ?3 AND link.seq <= ?4`,
  );
  const ofAlert = connection.prepare<{ body: string }>(
    'SELECT body FROM suppression WHERE alert_id = ? ORDER BY suppression',
  );
  const ofEvent = connection.prepare<{ body: string }>(
    `SELECT body FROM suppressed_event JOIN suppression USING (suppression)
     WHERE event = ? ORDER BY suppression`,
  );

  return {
    async add(list) {
      for (const one of list) {
        const { suppression } = put.get(one.alertId, one.atUs, JSON.stringify(one))!;
        putEvents.run(suppression, one.alertId, one.afterSeq, one.lastSeq);
      }
    },
    async ofAlert(alertId) {
      return ofAlert.all(alertId).map(suppressionOf);
    },
    async ofEvent(key) {
      const event = await events.find(key);
      const number = event && events.numberOf(event);
      return number === undefined ? [] : ofEvent.all(number).map(suppressionOf);
    },
  };
}

function suppressionOf({ body }: { body: string }): Suppression {
  return JSON.parse(body) as Suppression;
}
