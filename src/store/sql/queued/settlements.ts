/** Settles attempts: updates the delivery, its lane, and its integration's health. */
import {
  type DeliveryRow,
  type DeliveryState,
  type FailingIntegration,
  type Lane,
  RECOVERED_AFTER_US,
  type Settlement,
  TRIED_EVERY_US,
} from '../../outbox-store.ts';
import { lastOfEach, type RowStatement, type Sql } from '../sql.ts';
import { CLAIMABLE, type SqlLanes } from './claims.ts';

/** A delivery before it settles. */
type Before = Lane &
  Pick<DeliveryRow, 'seq' | 'id' | 'integration' | 'state' | 'remaining' | 'attempts' | 'next_attempt_us'>;

type Integration = Pick<FailingIntegration, 'receiver' | 'position' | 'integration'>;

interface Settled {
  readonly row: Before;
  readonly settlement: Settlement;
}

interface HealthRow extends Omit<FailingIntegration, 'sinceUs' | 'lastError'> {
  readonly since_us: number;
  readonly last_error: string;
}

/** How many deliveries each receiver has in each state. */
interface Counts {
  move(receiver: string, from: DeliveryState, to: DeliveryState): void;
}

/** After this many failed attempts a fallback becomes due at once. */
const FALLBACK_FAILURES = 3;

/**
 * A fallback is due at once after the third failure (attempts that were cut off do not count), or when the delivery
 * is given up before its fallback time.
 */
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
      `SELECT seq, id, receiver, position, lane, integration, state, remaining, attempts, next_attempt_us
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
        each.map(valuesOf),
      );
      const recovered = failed.filter(({ since_us }) => nowUs - since_us >= RECOVERED_AFTER_US);
      await this.#sql.write(
        BRING_FORWARD,
        recovered.map((one) => [...valuesOf(one), nowUs]),
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

const valuesOf = ({ receiver, position, integration }: Integration) => [receiver, position, integration];
const integrationKey = (one: Integration) => JSON.stringify(valuesOf(one));

type Latest = Pick<DeliveryRow, 'state' | 'attempts' | 'next_attempt_us'>;

/**
 * What to record of an attempt that ended; undefined for nothing. The last attempt always counts. An earlier one ended
 * late: its replica was presumed dead and has come back. While another attempt is under way, that one decides. If
 * none is, the late outcome counts as well, so that what was accepted is not sent again, and nobody comes back sooner
 * than a receiver asked for. It never gives a delivery up.
 */
function outcomeToRecord(settlement: Settlement, before: Latest): Settlement | undefined {
  const { state, attempt = before.attempts, nextAttemptAtUs } = settlement;
  if (attempt === before.attempts) return settlement;
  if (before.state !== 'retry' && before.state !== 'ambiguous') return undefined;
  if (state === 'delivered') return settlement;
  if (state !== 'retry' && state !== 'ambiguous') return undefined;
  return { ...settlement, nextAttemptAtUs: Math.max(nextAttemptAtUs, before.next_attempt_us) };
}
