import type { Alert } from '../../../domain/alert/alert.ts';
import { rolledBackAlert, setAheadAlert } from '../../../domain/evaluate/decide.ts';
import { type Group, rolledBackGroup } from '../../../domain/grouping/group.ts';
import { alertOf } from '../../alert-store.ts';
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
     * Moves instants after `nowUs` that alerts, groups, unsettled deliveries and faults wait for `byUs` earlier, or later
     * if it is negative; likewise when integrations failed, deliveries were given up, and Flights and Birds are judged.
     * Calls `pause` between steps; many alerts need many.
     */
    async rollBackClock(byUs: number, nowUs: number, pause: () => Promise<void>): Promise<void> {
      for (const text of WITHOUT_BODY) await sql.run(text, byUs, nowUs);
      await move(sql, ALERTS, (alert) => rolledBackAlert(alert, byUs, nowUs), pause);
      await move(sql, GROUPS, (group) => rolledBackGroup(group, byUs, nowUs), pause);
    },
    /** Moves the instants since when something lasts for an alert's rule (`for`, `keep_firing_for`) `byUs` later. */
    setClockAhead: (byUs: number, pause: () => Promise<void>): Promise<void> =>
      move(sql, ALERTS, (alert) => setAheadAlert(alert, byUs), pause),
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

/** Rows read and written before other work gets its turn. */
const STEP = 500;

const movedBack = (column: string) =>
  `${column} = CASE WHEN ${column} > $2 THEN ${column} - $1 ELSE ${column} END`;

/** Move instants after `$2` that no body repeats `$1` earlier. */
const WITHOUT_BODY = [
  `UPDATE delivery SET ${movedBack('next_attempt_us')}, ${movedBack('not_before_us')}
   WHERE state IN ('pending', 'leased', 'retry', 'ambiguous') AND greatest(next_attempt_us, not_before_us) > $2`,
  'UPDATE delivery SET fallback_us = fallback_us - $1 WHERE fallback_us > $2',
  `UPDATE delivery /* INDEXED BY delivery_undelivered */ SET settled_us = settled_us - $1
   WHERE state <> 'delivered' AND state = 'dead' AND settled_us > $2`,
  'UPDATE failing_integration SET since_us = since_us - $1 WHERE since_us > $2',
  `UPDATE fault SET ${movedBack('since_us')}, ${movedBack('seen_us')}, ${movedBack('again_us')}
   WHERE greatest(since_us, seen_us, again_us) > $2`,
  `UPDATE flight SET ${movedBack('judge_us')}, ${movedBack('log_due_us')}
   WHERE open = 1 AND greatest(judge_us, log_due_us) > $2`,
  'UPDATE bird SET judge_us = judge_us - $1 WHERE judge_us > $2',
];

interface Row {
  readonly number: number;
  readonly body: string;
}

/** A table of what waits for an instant. */
interface Waiting<Item, R extends Row = Row> {
  /** The next `STEP` rows after number `$1`. */
  readonly page: string;
  /** Throws for a row that cannot be read. */
  readonly read: (row: R) => Item;
  readonly dueAtUs: (item: Item) => Value;
  /** Takes the number, the instant and the body. */
  readonly write: RowStatement;
}

const ALERTS: Waiting<Alert> = {
  page: `SELECT alert AS number, body FROM alert WHERE alert > $1 ORDER BY alert LIMIT ${STEP}`,
  read: alertOf,
  dueAtUs: (alert) => alert.dueAtUs,
  write: {
    columns: 'alert bigint, due_us bigint, body text',
    text: (given) =>
      `UPDATE alert SET due_us = given.due_us, body = given.body FROM ${given} WHERE alert.alert = given.alert`,
  },
};

const GROUPS: Waiting<Group, Row & { readonly next_flush_us: number }> = {
  page: `SELECT alert_group AS number, body, next_flush_us FROM alert_group
    WHERE alert_group > $1 ORDER BY alert_group LIMIT ${STEP}`,
  read: (row) => ({ ...(JSON.parse(row.body) as Group), nextFlushAtUs: row.next_flush_us }),
  dueAtUs: (group) => group.nextFlushAtUs,
  write: {
    columns: 'alert_group bigint, next_flush_us bigint, body text',
    text: (
      given,
    ) => `UPDATE alert_group SET next_flush_us = given.next_flush_us, body = given.body FROM ${given}
      WHERE alert_group.alert_group = given.alert_group`,
  },
};

/** Moves everything of a table. A row that cannot be read stays: whoever reads it next sets it aside. */
async function move<Item, R extends Row>(
  sql: Sql,
  { page, read, dueAtUs, write }: Waiting<Item, R>,
  moved: (before: Item) => Item,
  pause: () => Promise<void>,
): Promise<void> {
  const movedRow = (row: R): Value[][] => {
    try {
      const before = read(row);
      const after = moved(before);
      return after === before ? [] : [[row.number, dueAtUs(after), JSON.stringify(after)]];
    } catch {
      return [];
    }
  };
  let last = 0;
  for (;;) {
    const rows = await sql.rows<R>(page, last);
    await sql.write(write, rows.flatMap(movedRow));
    if (rows.length < STEP) return;
    last = rows.at(-1)!.number;
    await pause();
  }
}
