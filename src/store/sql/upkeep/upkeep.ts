import type { Alert } from '../../../domain/alert/alert.ts';
import { rolledBackAlert, setAheadAlert } from '../../../domain/evaluate/decide.ts';
import { type Group, rolledBackGroup } from '../../../domain/grouping/group.ts';
import { type AlertRow, alertOf } from '../../alert-store.ts';
import type { DeliveryCounts } from '../queued/delivery-counts.ts';
import type { RowStatement, Sql, Value } from '../sql.ts';
import { Prune } from './prune.ts';

export function createUpkeep(sql: Sql, counts: DeliveryCounts) {
  const prune = new Prune(sql, counts);
  return {
    /** A key for our own signatures: `fresh` at the first call with this name, the same ever after. */
    async signingKey(name: string, fresh: string): Promise<string> {
      await sql.run(
        'INSERT INTO signing_key (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING',
        name,
        fresh,
      );
      const row = await sql.first<{ value: string }>('SELECT value FROM signing_key WHERE name = $1', name);
      return row!.value;
    },
    /** The latest instant of our clock that was written with an event or a delivery; 0 for none. */
    async newestInstantUs(): Promise<number> {
      const row = await sql.first<{ at_us: number }>(
        `SELECT greatest(0, coalesce((SELECT observed_us FROM event ORDER BY event DESC LIMIT 1), 0),
           coalesce((SELECT created_us FROM delivery ORDER BY seq DESC LIMIT 1), 0)) AS at_us`,
      );
      return row!.at_us;
    },
    /**
     * Moves instants after `nowUs` that alerts, groups and unsettled deliveries wait for `byUs` earlier, or later if it
     * is negative. Calls `pause` between steps; many alerts need many.
     */
    rollBackClock: (byUs: number, nowUs: number, pause: () => Promise<void>): Promise<void> =>
      rollBackRows(sql, byUs, nowUs, pause),
    /** Moves the instants since when something lasts for an alert's rule (`for`, `keep_firing_for`) `byUs` later. */
    setClockAhead: (byUs: number, pause: () => Promise<void>): Promise<void> =>
      setRowsAhead(sql, byUs, pause),
    /**
     * Deletes up to `limit` records that are past the retention: events, ended Flights, settled deliveries with their
     * notifications, links, quarantined entries, expired silences, suppressions, ended episodes; never what is open,
     * firing or unsent. Then Birds and Nests that were gone by `beforeUs`, with their audits, members and Flights,
     * including open ones, but not while the Bird still has events. Returns how many were deleted. Each stream
     * remembers how far this went as its `prunedUs`.
     */
    prune: (beforeUs: number, limit: number): Promise<number> => prune.step(beforeUs, limit),
  };
}

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
async function rollBackRows(
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
function setRowsAhead(sql: Sql, byUs: number, pause: () => Promise<void>): Promise<void> {
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

interface WaitingGroupRow {
  readonly body: string;
  readonly next_flush_us: number;
}

/** Undefined if nothing needs to be moved. */
function rolledBackAlertRow(row: AlertRow, byUs: number, nowUs: number): Alert | undefined {
  return changed(
    () => alertOf(row),
    (alert) => rolledBackAlert(alert, byUs, nowUs),
  );
}

/** Undefined if nothing needs to be moved. */
function setAheadAlertRow(row: AlertRow, byUs: number): Alert | undefined {
  return changed(
    () => alertOf(row),
    (alert) => setAheadAlert(alert, byUs),
  );
}

/** Undefined if nothing needs to be moved. */
function rolledBackGroupRow(row: WaitingGroupRow, byUs: number, nowUs: number): Group | undefined {
  return changed(
    () => ({ ...(JSON.parse(row.body) as Group), nextFlushAtUs: row.next_flush_us }),
    (group) => rolledBackGroup(group, byUs, nowUs),
  );
}

function changed<T>(read: () => T, move: (before: T) => T): T | undefined {
  try {
    const before = read();
    const after = move(before);
    return after === before ? undefined : after;
  } catch {
    return undefined;
  }
}
