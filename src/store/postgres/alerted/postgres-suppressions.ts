import type { Suppression } from '../../../domain/muting/suppression.ts';
import { type SuppressionRow, suppressionOf } from '../../rows/suppression-row.ts';
import type { SuppressionStore } from '../../suppression-store.ts';
import type { HoldingStatements } from '../holding-statements.ts';
import { columnsOf, given } from '../statements.ts';
import type { PostgresEvents } from '../watched/postgres-events.ts';

/** Linked to the events themselves, so that suppressions outlive the alert. */
const ADD = `WITH added AS (
    INSERT INTO suppression (alert_id, after_seq, last_seq, group_key, receiver, reason, detail, at_us)
    SELECT alert_id, after_seq, last_seq, group_key, receiver, reason, detail, at_us
    FROM ${given(
      'alert_id text, after_seq bigint, last_seq bigint, group_key text, receiver text, reason text, detail text, at_us bigint',
      { at: true },
    )} ORDER BY at
    RETURNING suppression, alert_id, after_seq, last_seq)
  INSERT INTO suppressed_event (event, suppression)
  SELECT DISTINCT alert_event.event, added.suppression
  FROM added JOIN alert ON alert.id = added.alert_id
    JOIN alert_event ON alert_event.alert = alert.alert
      AND alert_event.seq > added.after_seq AND alert_event.seq <= added.last_seq`;

export function createPostgresSuppressions(
  statements: HoldingStatements,
  events: PostgresEvents,
): SuppressionStore {
  let held: Suppression[] = [];
  const holds = statements.hold({
    writes: ['suppression', 'suppressed_event'],
    reads: ['alert', 'alert_event'],
    async write(own) {
      const rows = held.map((one) => [
        one.alertId,
        one.afterSeq,
        one.lastSeq,
        one.groupKey,
        one.receiver,
        one.reason,
        one.detail,
        one.atUs,
      ]);
      held = [];
      if (rows.length > 0) await own.run(ADD, ...columnsOf(8, rows));
    },
    forget() {
      held = [];
    },
  });
  return {
    async add(list) {
      if (list.length === 0) return;
      held.push(...list);
      holds();
    },
    async ofAlert(alertId) {
      const rows = await statements.rows<SuppressionRow>(
        'SELECT * FROM suppression WHERE alert_id = $1 ORDER BY suppression',
        alertId,
      );
      return rows.map(suppressionOf);
    },
    async ofEvent(key) {
      const number = await events.numberOfKey(key);
      if (number === undefined) return [];
      const rows = await statements.rows<SuppressionRow>(
        `SELECT suppression.* FROM suppressed_event JOIN suppression USING (suppression)
         WHERE event = $1 ORDER BY suppression`,
        number,
      );
      return rows.map(suppressionOf);
    },
  };
}
