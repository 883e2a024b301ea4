import type { Suppression } from '../../../domain/muting/suppression.ts';
import type { RowStatement, Sql } from '../sql.ts';
import type { SqlEvents } from '../watched/events.ts';

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
