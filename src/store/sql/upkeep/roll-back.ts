import type { Alert } from '../../../domain/alert/alert.ts';
import {
  rolledBackAlertRow,
  rolledBackGroupRow,
  setAheadAlertRow,
  type WaitingGroupRow,
} from '../../rows/rolled-back-row.ts';
import type { RowStatement, Sql, Value } from '../sql.ts';

interface Row {
  readonly number: number;
  readonly body: string;
}

type GroupRow = Row & WaitingGroupRow;

/** Rows read and written before other work gets its turn. */
const STEP = 500;

/** Moves instants after `$2` that deliveries wait for `$1` earlier. */
const DELIVERIES = [
  `UPDATE delivery SET next_attempt_us = next_attempt_us - $1
   WHERE state IN ('pending', 'leased', 'retry', 'ambiguous') AND next_attempt_us > $2`,
  'UPDATE delivery SET fallback_us = fallback_us - $1 WHERE fallback_us > $2',
];

const ALERTS = `SELECT alert AS number, body FROM alert WHERE alert > $1 ORDER BY alert LIMIT ${STEP}`;
const WRITE_ALERTS: RowStatement = {
  columns: 'alert bigint, due_us bigint, body text',
  text: (given) =>
    `UPDATE alert SET due_us = given.due_us, body = given.body FROM ${given} WHERE alert.alert = given.alert`,
};

const GROUPS = `SELECT alert_group AS number, body, next_flush_us FROM alert_group
  WHERE alert_group > $1 ORDER BY alert_group LIMIT ${STEP}`;
const WRITE_GROUPS: RowStatement = {
  columns: 'alert_group bigint, next_flush_us bigint, body text',
  text: (
    given,
  ) => `UPDATE alert_group SET next_flush_us = given.next_flush_us, body = given.body FROM ${given}
    WHERE alert_group.alert_group = given.alert_group`,
};

/** Implements `UpkeepStore.rollBackClock`. */
export async function rollBackRows(
  sql: Sql,
  byUs: number,
  nowUs: number,
  pause: () => Promise<void>,
): Promise<void> {
  for (const text of DELIVERIES) await sql.run(text, byUs, nowUs);
  await moveAlerts(sql, pause, (row) => rolledBackAlertRow(row, byUs, nowUs));
  await inSteps<GroupRow>(sql, GROUPS, pause, async (rows) => {
    const moved = rows.flatMap((row): Value[][] => {
      const after = rolledBackGroupRow(row, byUs, nowUs);
      return after ? [[row.number, after.nextFlushAtUs, JSON.stringify(after)]] : [];
    });
    await sql.write(WRITE_GROUPS, moved);
  });
}

/** Implements `UpkeepStore.setClockAhead`. */
export function setRowsAhead(sql: Sql, byUs: number, pause: () => Promise<void>): Promise<void> {
  return moveAlerts(sql, pause, (row) => setAheadAlertRow(row, byUs));
}

function moveAlerts(
  sql: Sql,
  pause: () => Promise<void>,
  move: (row: Row) => Alert | undefined,
): Promise<void> {
  return inSteps<Row>(sql, ALERTS, pause, async (rows) => {
    const moved = rows.flatMap((row): Value[][] => {
      const after = move(row);
      return after ? [[row.number, after.dueAtUs, JSON.stringify(after)]] : [];
    });
    await sql.write(WRITE_ALERTS, moved);
  });
}

async function inSteps<R extends Row>(
  sql: Sql,
  page: string,
  pause: () => Promise<void>,
  each: (rows: readonly R[]) => Promise<void>,
): Promise<void> {
  let after = 0;
  for (;;) {
    const rows = await sql.rows<R>(page, after);
    await each(rows);
    if (rows.length < STEP) return;
    after = rows.at(-1)!.number;
    await pause();
  }
}
