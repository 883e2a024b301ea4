/**
 * What becomes of queued deliveries: lanes say whose turn it is, a claim takes what is due, and a settlement records how
 * an attempt ended and passes the turn on.
 *
 * Claims due deliveries of integrations. A delivery can be claimed while it is `pending`, `retry` or `ambiguous`, its
 * instant has come, and it has its lane's turn. On PostgreSQL several processes claim at the same time.
 */
import {
  type ClaimChoice,
  type ClaimedDelivery,
  type ClaimedRow,
  type DeliveryRow,
  type DeliveryState,
  type FailingIntegration,
  type Lane,
  RECOVERED_AFTER_US,
  readClaimed,
  type Settlement,
  TRIED_EVERY_US,
} from '../../outbox-store.ts';
import { lastOfEach, type RowStatement, type Sql } from '../sql.ts';
import type { DeliveryCounts } from './delivery-counts.ts';

/** The condition of the partial index `delivery_waiting`; SQLite uses the index only if the text is identical. */
const CLAIMABLE = "delivery.turn = 1 AND delivery.state IN ('pending', 'retry', 'ambiguous')";

/** Claiming stops at this much text, so that large notifications do not fill the memory. */
const MAX_CLAIMED_BYTES = 4 * 1024 * 1024;

/**
 * Finds what is due, up to the limits, and returns it as it was before it is leased. What became due after `$6` is
 * claimed only if another replica than `$5` attempted it last, and what was attempted at all only if `$7`.
 */
const claim = (lock: string, lease: string) => `WITH due AS (
    SELECT seq, next_attempt_us, notification FROM delivery
    WHERE receiver = $1 AND position = $2 AND next_attempt_us <= $3 AND ${CLAIMABLE}
      AND (state = 'pending' OR $7) AND (next_attempt_us <= $6 OR (state <> 'pending' AND holder <> $5))
    ORDER BY next_attempt_us, seq LIMIT $4 ${lock}),
  sized AS (
    SELECT due.seq, row_number() OVER waiting AS at, sum(octet_length(body)) OVER waiting AS bytes
    FROM due INNER JOIN notification ON notification.seq = due.notification
    WINDOW waiting AS (ORDER BY due.next_attempt_us, due.seq)),
  taken AS (SELECT seq FROM sized WHERE at = 1 OR bytes <= ${MAX_CLAIMED_BYTES}) ${lease}
  SELECT delivery.*, notification.body,
    (SELECT earlier.reference FROM delivery AS earlier
     WHERE earlier.receiver = delivery.receiver AND earlier.position = delivery.position
       AND earlier.lane = delivery.lane AND earlier.lane <> '' AND earlier.reference <> ''
     ORDER BY earlier.seq DESC LIMIT 1) AS earlier
  FROM taken INNER JOIN delivery ON delivery.seq = taken.seq
    INNER JOIN notification ON notification.seq = delivery.notification`;

const lease = (holder: string) =>
  `UPDATE delivery SET state = 'leased', attempts = attempts + 1, holder = ${holder}`;

const CLAIM = {
  /** To be followed by `LEASE`: SQLite has no statement that both updates and tells how a row was before. */
  sqlite: claim('', ''),
  /** In one round trip. */
  postgres: claim(
    'FOR UPDATE SKIP LOCKED',
    `, leased AS (${lease('$5')} FROM taken WHERE delivery.seq = taken.seq)`,
  ),
};
const LEASE = `${lease('$2')} WHERE seq = ANY($1::bigint[])`;

/** Steps from one integration to the next through the index, rather than scanning everything that waits. */
const WAITING = {
  // Comparing both columns at once would scan everything that waits for a receiver.
  sqlite: `WITH RECURSIVE first (seq) AS (
      SELECT (SELECT seq FROM delivery WHERE ${CLAIMABLE} ORDER BY receiver, position LIMIT 1)
      UNION ALL
      SELECT coalesce(
        (SELECT delivery.seq FROM delivery
         WHERE delivery.receiver = last.receiver AND delivery.position > last.position AND ${CLAIMABLE}
         ORDER BY delivery.position LIMIT 1),
        (SELECT delivery.seq FROM delivery WHERE delivery.receiver > last.receiver AND ${CLAIMABLE}
         ORDER BY delivery.receiver, delivery.position LIMIT 1))
      FROM first CROSS JOIN delivery AS last USING (seq)),
    waiting AS (SELECT receiver, position FROM first CROSS JOIN delivery USING (seq))`,
  postgres: `WITH RECURSIVE waiting AS (
      (SELECT receiver, position FROM delivery WHERE ${CLAIMABLE} ORDER BY receiver, position LIMIT 1)
      UNION ALL
      SELECT next.receiver, next.position FROM waiting CROSS JOIN LATERAL (
        SELECT delivery.receiver, delivery.position FROM delivery
        WHERE (delivery.receiver, delivery.position) > (waiting.receiver, waiting.position) AND ${CLAIMABLE}
        ORDER BY delivery.receiver, delivery.position LIMIT 1) AS next)`,
};

const DUE = `SELECT receiver, position,
    EXISTS (SELECT 1 FROM delivery WHERE delivery.receiver = waiting.receiver
      AND delivery.position = waiting.position AND next_attempt_us <= $1 AND ${CLAIMABLE})::int AS "isDue",
    (SELECT min(next_attempt_us) FROM delivery WHERE delivery.receiver = waiting.receiver
      AND delivery.position = waiting.position AND next_attempt_us > $1 AND ${CLAIMABLE}) AS "laterUs"
  FROM waiting`;

interface DueRow extends ClaimedRow {
  readonly earlier: string | null;
}

interface Waiting {
  readonly receiver: string;
  readonly position: number;
  readonly isDue: number;
  readonly laterUs: number | null;
}

interface Claimed {
  readonly claimed: ClaimedDelivery[];
  /** The ids of claimed deliveries whose messages cannot be read. */
  readonly unreadable: readonly string[];
}

export class SqlClaims {
  readonly #sql: Sql;
  readonly #counts: DeliveryCounts;

  constructor(sql: Sql, counts: DeliveryCounts) {
    this.#sql = sql;
    this.#counts = counts;
  }

  async claim(
    receiver: string,
    position: number,
    nowUs: number,
    limit: number,
    holder: number,
    { leftUs = 0, isFresh = false }: ClaimChoice,
  ): Promise<Claimed> {
    const parameters = [receiver, position, nowUs, limit, holder, nowUs - leftUs, !isFresh] as const;
    const rows = await this.#sql.rows<DueRow>(CLAIM[this.#sql.engine], ...parameters);
    if (this.#sql.engine === 'sqlite') {
      await this.#sql.run(
        LEASE,
        rows.map(({ seq }) => seq),
        holder,
      );
    }
    // Sorted here, so that SQLite copies no body for it.
    rows.sort((a, b) => a.next_attempt_us - b.next_attempt_us || a.seq - b.seq);
    const claimed: ClaimedDelivery[] = [];
    const unreadable: string[] = [];
    for (const row of rows) {
      this.#counts.move(receiver, row.state, 'leased');
      // Not copied: a copy of so many columns takes as long as reading them.
      const one = readClaimed(Object.assign(row, { state: 'leased' as const, attempts: row.attempts + 1 }));
      if (!one) unreadable.push(row.id);
      else if (!row.earlier) claimed.push(one);
      else claimed.push({ ...one, delivery: { ...one.delivery, reference: row.earlier } });
    }
    return { claimed, unreadable };
  }

  async due(nowUs: number): Promise<{ due: { receiver: string; position: number }[]; nextAtUs?: number }> {
    const waiting = await this.#sql.rows<Waiting>(`${WAITING[this.#sql.engine]} ${DUE}`, nowUs);
    const due = waiting.flatMap(({ receiver, position, isDue }) => (isDue ? [{ receiver, position }] : []));
    const later = waiting.flatMap(({ laterUs }) => laterUs ?? []);
    return { due, ...(later.length > 0 && { nextAtUs: Math.min(...later) }) };
  }
}

// Decides whose turn it is among the deliveries of a lane, which are sent one after another. The turn belongs to the
// lane's oldest unsettled delivery, unless another one of the lane is leased: that one keeps it until it settles.
// `turn` is stored in the row and assigned again whenever a delivery of the lane settles. A lane belongs to one
// integration of one receiver, so a slow integration never delays another. A delivery leaves its lane when only some
// of its recipients have not accepted it, so that one full mailbox does not delay what is next for the others, and
// when it alone fails again and again (`delivery/outbox.ts`).

/** The condition of the partial index `delivery_lane`; SQLite uses the index only if the text is identical. */
const UNSETTLED = "delivery.lane <> '' AND delivery.state IN ('pending', 'leased', 'retry', 'ambiguous')";
const IN_LANE = `delivery.receiver = given.receiver AND delivery.position = given.position AND delivery.lane = given.lane
  AND ${UNSETTLED}`;
const UNSETTLED_STATES: readonly DeliveryState[] = ['pending', 'leased', 'retry', 'ambiguous'];
const COLUMNS = 'receiver text, position integer, lane text';

/**
 * True if nothing waits in the lane of a given delivery. PostgreSQL looks up each lane by itself, since the answer is
 * compared: with `NOT EXISTS` it might read the lanes of all that waits, and then conflict with whatever is settled
 * meanwhile.
 */
export const LANE_IS_FREE = `(SELECT 1 FROM delivery WHERE ${IN_LANE} LIMIT 1) IS NULL`;

/** Whose turn it is: the leased delivery's, or else the oldest one's. */
const next = (given: string) => `WITH next AS MATERIALIZED (SELECT given.*, coalesce(
    (SELECT seq FROM delivery WHERE ${IN_LANE} AND delivery.turn = 1 AND delivery.state = 'leased' LIMIT 1),
    (SELECT min(seq) FROM (
      SELECT min(seq) AS seq FROM delivery WHERE ${IN_LANE} AND delivery.turn = 0
      UNION ALL SELECT min(seq) FROM delivery WHERE ${IN_LANE} AND delivery.turn = 1) AS oldest)) AS seq FROM ${given})`;

const LOSE: RowStatement = {
  columns: COLUMNS,
  text: (given) => `${next(given)} UPDATE delivery SET turn = 0 FROM next AS given
    WHERE ${IN_LANE} AND delivery.turn = 1 AND delivery.seq <> given.seq`,
};
const TAKE: RowStatement = {
  columns: COLUMNS,
  text: (given) =>
    `${next(given)} UPDATE delivery SET turn = 1 FROM next WHERE delivery.seq = next.seq AND delivery.turn = 0`,
};
const JOIN: RowStatement = {
  columns: `${COLUMNS}, into_lane text`,
  text: (given) => `UPDATE delivery SET lane = given.into_lane FROM ${given} WHERE ${IN_LANE}`,
};
const TAKEN: RowStatement = {
  columns: COLUMNS,
  text: (given) =>
    `SELECT receiver, position, lane FROM ${given} WHERE EXISTS (SELECT 1 FROM delivery WHERE ${IN_LANE})`,
};

/**
 * For each of these new deliveries, in their order, whether it is in no lane, or nothing waits in its lane before it
 * among these. If the lane is also free in the store (`LANE_IS_FREE`), it has its turn at once.
 */
export function firstInLanes(deliveries: readonly (Lane & { readonly state: DeliveryState })[]): boolean[] {
  const taken = new Set<string>();
  return deliveries.map((delivery) => {
    if (delivery.lane === '') return true;
    const name = nameOf(delivery);
    const isFirst = !taken.has(name);
    if (UNSETTLED_STATES.includes(delivery.state)) taken.add(name);
    return isFirst;
  });
}

export class SqlLanes {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Those of these lanes in which something is unsettled; with `alertIds`, that lists one of these alerts. */
  async unsettled(lanes: readonly Lane[], alertIds: readonly string[] | undefined): Promise<Lane[]> {
    const taken = await this.#sql.returning<Lane>(TAKEN, lanes.map(valuesOf));
    const names = new Set(taken.map(nameOf));
    const some = lanes.filter((lane) => names.has(nameOf(lane)));
    if (alertIds === undefined || some.length === 0) return some;
    const listing = await this.#sql.rows<Lane>(
      `SELECT DISTINCT receiver, position, lane FROM alert JOIN notified_alert USING (alert)
         JOIN delivery ON delivery.notification = notified_alert.notification
       WHERE alert.id = ANY($1::text[]) AND ${UNSETTLED}`,
      alertIds,
    );
    const listed = new Set(listing.map(nameOf));
    return some.filter((lane) => listed.has(nameOf(lane)));
  }

  /** Moves what is unsettled in these lanes to another lane of the same integration. */
  async join(lanes: readonly Lane[], into: string): Promise<void> {
    const [first] = lanes;
    if (!first) return;
    await this.#sql.write(
      JOIN,
      lanes.map((lane) => [...valuesOf(lane), into]),
    );
    await this.giveTurns([{ ...first, lane: into }]);
  }

  /** Gives the turns of these lanes to the right deliveries after some have changed their states. */
  async giveTurns(lanes: readonly Lane[]): Promise<void> {
    const some = lastOfEach(
      lanes.filter(({ lane }) => lane !== ''),
      nameOf,
    ).map(valuesOf);
    if (some.length === 0) return;
    await this.#sql.write(LOSE, some);
    await this.#sql.write(TAKE, some);
  }
}

const valuesOf = ({ receiver, position, lane }: Lane) => [receiver, position, lane];
const nameOf = (lane: Lane) => JSON.stringify(valuesOf(lane));

// Settles attempts: updates the delivery, its lane, and its integration's health.

/** A delivery before it settles. */
type Before = Lane &
  Pick<DeliveryRow, 'seq' | 'id' | 'integration' | 'state' | 'remaining' | 'attempts' | 'next_attempt_us'> &
  Pick<DeliveryRow, 'refusals' | 'refused_by'> & { readonly not_before_us: number };

type Integration = Pick<FailingIntegration, 'receiver' | 'position' | 'integration'>;

interface Settled {
  readonly row: Before;
  readonly settlement: Settlement;
}

interface HealthRow extends Omit<FailingIntegration, 'sinceUs' | 'lastError'> {
  readonly since_us: number;
  readonly last_error: string;
}

/** Keeps count of each receiver's deliveries by their state. */
interface Counts {
  move(receiver: string, from: DeliveryState, to: DeliveryState): void;
}

/** From this attempt on a failure makes the fallback due at once. Attempts that were cut off do not count. */
const FALLBACK_FAILURES = 3;

/** Records how attempts ended. What is given up before its fallback time falls back at once. */
const SETTLE: RowStatement = {
  columns: `seq bigint, state text, next_us bigint, error text, failed integer, remaining text, refusals integer,
    refused_by text, reference text, leaves_lane integer, not_before_us bigint, now_us bigint`,
  text: (
    given,
  ) => `UPDATE delivery SET state = given.state, next_attempt_us = given.next_us, last_error = given.error,
      settled_us = CASE WHEN given.state IN ('retry', 'ambiguous') THEN 0 ELSE given.now_us END,
      fallback_us = CASE
        WHEN given.state IN ('delivered', 'suppressed') THEN NULL
        WHEN given.failed = 1 AND delivery.fallback_us > given.now_us
          AND (given.state = 'dead' OR delivery.attempts - delivery.cut_off >= ${FALLBACK_FAILURES}) THEN given.now_us
        ELSE delivery.fallback_us
      END,
      lane = CASE WHEN given.leaves_lane = 1 THEN '' ELSE delivery.lane END,
      remaining = CASE WHEN given.state IN ('delivered', 'suppressed') THEN ''
        ELSE coalesce(given.remaining, delivery.remaining) END,
      refusals = given.refusals, refused_by = given.refused_by, reference = given.reference,
      not_before_us = given.not_before_us
    FROM ${given} WHERE delivery.seq = given.seq`,
};

/** If nothing of an integration is due within a minute, the delivery that just failed is due then. */
const TRY_SOON: RowStatement = {
  columns: 'seq bigint, soon_us bigint',
  text: (given) => `UPDATE delivery SET next_attempt_us = given.soon_us FROM ${given}
    WHERE delivery.seq = given.seq AND NOT EXISTS (
      SELECT 1 FROM delivery AS other
      WHERE other.receiver = delivery.receiver AND other.position = delivery.position
        AND other.integration = delivery.integration AND other.next_attempt_us <= given.soon_us
        AND other.turn = 1 AND other.state IN ('pending', 'retry', 'ambiguous'))`,
};

const INTEGRATION = 'receiver text, position integer, integration text';

/** Makes all that waits for integrations due that accept something again. */
const BRING_FORWARD: RowStatement = {
  columns: `${INTEGRATION}, now_us bigint`,
  text: (
    given,
  ) => `UPDATE delivery SET next_attempt_us = greatest(given.now_us, delivery.not_before_us) FROM ${given}
    WHERE delivery.receiver = given.receiver AND delivery.position = given.position
      AND delivery.integration = given.integration AND delivery.next_attempt_us > given.now_us AND ${CLAIMABLE}`,
};

const ACCEPTED: RowStatement = {
  columns: INTEGRATION,
  text: (
    given,
  ) => `DELETE FROM failing_integration WHERE (receiver, position, integration) IN (SELECT * FROM ${given})
    RETURNING receiver, position, integration, since_us`,
};

export class SqlSettlements {
  readonly #sql: Sql;
  readonly #lanes: SqlLanes;
  readonly #counts: Counts;

  constructor(sql: Sql, lanes: SqlLanes, counts: Counts) {
    this.#sql = sql;
    this.#lanes = lanes;
    this.#counts = counts;
  }

  /** In the given order, since an integration's health is the result of its last attempt. */
  async settle(settlements: readonly Settlement[], nowUs: number): Promise<void> {
    // If a delivery is settled twice, each of its settlements gets its own round.
    let rest = settlements;
    while (rest.length > 0) {
      const seen = new Set<string>();
      const again = rest.findIndex(({ id }) => seen.size === seen.add(id).size);
      const round = again === -1 ? rest : rest.slice(0, again);
      rest = rest.slice(round.length);
      await this.#settleEach(round, nowUs);
    }
  }

  async #settleEach(settlements: readonly Settlement[], nowUs: number): Promise<void> {
    const rows = await this.#sql.rows<Before>(
      `SELECT seq, id, receiver, position, lane, integration, state, remaining, attempts, next_attempt_us,
         not_before_us, refusals, refused_by
       FROM delivery WHERE id = ANY($1::text[])`,
      settlements.map(({ id }) => id),
    );
    const before = new Map(rows.map((row) => [row.id, row]));
    const known = settlements.flatMap((settlement) => {
      const row = before.get(settlement.id);
      const recorded = row && outcomeToRecord(settlement, row);
      return recorded ? [{ row, settlement: recorded }] : [];
    });
    if (known.length === 0) return;
    const values = known.map(({ row, settlement: one }) => [
      row.seq,
      one.state,
      one.nextAttemptAtUs,
      one.lastError,
      one.failed ? 1 : 0,
      one.remaining ? JSON.stringify(one.remaining) : null,
      one.refusals ?? 0,
      one.refusedBy ?? '',
      one.reference ?? '',
      one.leavesLane || one.remaining ? 1 : 0,
      one.notBeforeUs ?? 0,
      nowUs,
    ]);
    await this.#sql.write(SETTLE, values);
    for (const { row, settlement } of known) this.#counts.move(row.receiver, row.state, settlement.state);
    await this.#lanes.giveTurns(known.map(({ row }) => row));
    await this.#trySoon(known, nowUs);
    await this.#noteHealth(known, nowUs);
  }

  /** Has each integration of which an attempt failed tried again within a minute. */
  async #trySoon(known: readonly Settled[], nowUs: number): Promise<void> {
    const soonUs = nowUs + TRIED_EVERY_US;
    const late = known.filter(
      ({ settlement: { failed, notBeforeUs, nextAttemptAtUs } }) =>
        failed && notBeforeUs === undefined && nextAttemptAtUs > soonUs,
    );
    const first = Map.groupBy(late, ({ row }) => integrationKey(row));
    await this.#sql.write(
      TRY_SOON,
      [...first.values()].map(([one]) => [one!.row.seq, soonUs]),
    );
  }

  async #noteHealth(known: readonly Settled[], nowUs: number): Promise<void> {
    const accepted: Before[] = [];
    const forget = async () => {
      const each = lastOfEach(accepted.splice(0), integrationKey);
      const failed = await this.#sql.returning<Integration & Pick<HealthRow, 'since_us'>>(
        ACCEPTED,
        each.map(settledValues),
      );
      const recovered = failed.filter(({ since_us }) => nowUs - since_us >= RECOVERED_AFTER_US);
      await this.#sql.write(
        BRING_FORWARD,
        recovered.map((one) => [...settledValues(one), nowUs]),
      );
    };
    for (const { row, settlement } of known) {
      // If some recipients accepted it, the integration works, even if the others refuse.
      const { state, remaining, isGone } = settlement;
      if (state === 'delivered' || remaining || isGone) accepted.push(row);
      else if (settlement.failed && row.remaining === '') {
        await forget();
        await this.#sql.run(
          `INSERT INTO failing_integration (receiver, position, integration, failures, since_us, last_error)
           VALUES ($1, $2, $3, 1, $4, $5)
           ON CONFLICT (receiver, position, integration)
             DO UPDATE SET failures = failing_integration.failures + 1, last_error = excluded.last_error`,
          row.receiver,
          row.position,
          row.integration,
          nowUs,
          settlement.lastError,
        );
      }
    }
    await forget();
  }

  /** Integrations that accept nothing now. */
  async failing(): Promise<FailingIntegration[]> {
    const rows = await this.#sql.rows<HealthRow>(
      `SELECT receiver, position, integration, failures, since_us, last_error FROM failing_integration
       ORDER BY receiver, position, integration`,
    );
    return rows.map(({ since_us: sinceUs, last_error: lastError, ...integration }) => ({
      ...integration,
      sinceUs,
      lastError,
    }));
  }
}

const settledValues = ({ receiver, position, integration }: Integration) => [receiver, position, integration];
const integrationKey = (one: Integration) => JSON.stringify(settledValues(one));

/**
 * What to record of an attempt that ended; undefined for nothing. The last attempt always counts. An earlier one ended
 * late: its replica was presumed dead and has come back. While another attempt is under way, that one decides. If
 * none is, the late outcome counts as well, so that what was accepted is not sent again, and nobody comes back sooner
 * than a receiver asked for. It never gives a delivery up.
 */
function outcomeToRecord(settlement: Settlement, before: Before): Settlement | undefined {
  const { state, attempt = before.attempts, nextAttemptAtUs, notBeforeUs = 0, refusals = 0 } = settlement;
  if (attempt === before.attempts) return settlement;
  if (before.state !== 'retry' && before.state !== 'ambiguous') return undefined;
  if (state === 'delivered') return settlement;
  if (state !== 'retry' && state !== 'ambiguous') return undefined;
  const longestUs = Math.max(notBeforeUs, before.not_before_us);
  return {
    ...settlement,
    nextAttemptAtUs: Math.max(nextAttemptAtUs, before.next_attempt_us),
    ...(longestUs > 0 && { notBeforeUs: longestUs }),
    refusals: Math.max(refusals, before.refusals),
    refusedBy: settlement.refusedBy ?? before.refused_by,
  };
}
