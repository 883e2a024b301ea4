import type { Alert } from '../../../domain/alert/alert.ts';
import {
  rolledBackAlertRow,
  rolledBackGroupRow,
  setAheadAlertRow,
  type WaitingGroupRow,
} from '../../rows/rolled-back-row.ts';
import type { Connection } from '../connection.ts';

interface Row {
  readonly number: number;
  readonly body: string;
}

type GroupRow = Row & WaitingGroupRow;

/** Rows read and written before other work gets its turn. */
const STEP = 500;

/** Implements `UpkeepStore.rollBackClock` and `setClockAhead`. */
export class RollBack {
  readonly #alerts: ReturnType<typeof prepareAlerts>;
  readonly #groups: ReturnType<typeof prepareGroups>;
  readonly #deliveries: ReturnType<typeof prepareDeliveries>;

  constructor(connection: Connection) {
    this.#alerts = prepareAlerts(connection);
    this.#groups = prepareGroups(connection);
    this.#deliveries = prepareDeliveries(connection);
  }

  async run(byUs: number, nowUs: number, pause: () => Promise<void>): Promise<void> {
    for (const update of this.#deliveries) update.run(byUs, nowUs);
    await this.#moveAlerts(pause, (row) => rolledBackAlertRow(row, byUs, nowUs));
    await inSteps(this.#groups.page, pause, (row) => {
      const moved = rolledBackGroupRow(row, byUs, nowUs);
      if (moved) this.#groups.write.run(row.number, moved.nextFlushAtUs, JSON.stringify(moved));
    });
  }

  ahead(byUs: number, pause: () => Promise<void>): Promise<void> {
    return this.#moveAlerts(pause, (row) => setAheadAlertRow(row, byUs));
  }

  #moveAlerts(pause: () => Promise<void>, move: (row: Row) => Alert | undefined): Promise<void> {
    return inSteps(this.#alerts.page, pause, (row) => {
      const moved = move(row);
      if (moved) this.#alerts.write.run(row.number, moved.dueAtUs, JSON.stringify(moved));
    });
  }
}

async function inSteps<R extends Row>(
  page: { all(after: number): R[] },
  pause: () => Promise<void>,
  each: (row: R) => void,
): Promise<void> {
  let after = 0;
  for (;;) {
    const rows = page.all(after);
    rows.forEach(each);
    if (rows.length < STEP) return;
    after = rows.at(-1)!.number;
    await pause();
  }
}

function prepareAlerts(connection: Connection) {
  return {
    page: connection.prepare<Row>(
      `SELECT alert AS number, body FROM alert WHERE alert > ? ORDER BY alert LIMIT ${STEP}`,
    ),
    write: connection.prepare('UPDATE alert SET due_us = ?2, body = ?3 WHERE alert = ?1'),
  };
}

function prepareGroups(connection: Connection) {
  return {
    page: connection.prepare<GroupRow>(
      `SELECT alert_group AS number, body, next_flush_us FROM alert_group
       WHERE alert_group > ? ORDER BY alert_group LIMIT ${STEP}`,
    ),
    write: connection.prepare('UPDATE alert_group SET next_flush_us = ?2, body = ?3 WHERE alert_group = ?1'),
  };
}

function prepareDeliveries(connection: Connection) {
  return [
    `UPDATE delivery SET next_attempt_us = next_attempt_us - ?1
     WHERE state IN ('pending', 'leased', 'retry', 'ambiguous') AND next_attempt_us > ?2`,
    'UPDATE delivery SET fallback_us = fallback_us - ?1 WHERE fallback_us > ?2',
  ].map((sql) => connection.prepare(sql));
}
