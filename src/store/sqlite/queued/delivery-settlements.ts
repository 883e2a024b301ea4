/** Settles attempts: updates the delivery, its lane, and its integration's health. */
import { type Lane, RECOVERED_AFTER_US, type Settlement, TRIED_EVERY_US } from '../../outbox-store.ts';
import type { DeliveryRow } from '../../rows/delivery-row.ts';
import { outcomeToRecord } from '../../rows/late-attempt.ts';
import { type Connection, textList } from '../connection.ts';
import { CLAIMABLE } from './delivery-claims.ts';
import type { DeliveryCounts } from './delivery-counts.ts';
import type { DeliveryLanes } from './delivery-lanes.ts';
import type { IntegrationHealth } from './integration-health.ts';

/** A delivery before it settles. */
type Before = Lane &
  Pick<DeliveryRow, 'seq' | 'integration' | 'state' | 'remaining' | 'attempts' | 'next_attempt_us'>;

/** After this many failed attempts a fallback becomes due at once. */
const FALLBACK_FAILURES = 3;

export class DeliverySettlements {
  readonly #lanes: DeliveryLanes;
  readonly #counts: DeliveryCounts;
  readonly #health: IntegrationHealth;
  readonly #sql: ReturnType<typeof prepareSettling>;

  constructor(
    connection: Connection,
    lanes: DeliveryLanes,
    counts: DeliveryCounts,
    health: IntegrationHealth,
  ) {
    this.#lanes = lanes;
    this.#counts = counts;
    this.#health = health;
    this.#sql = prepareSettling(connection);
  }

  /** In the given order, since an integration's health is the result of its last attempt. */
  settle(settlements: readonly Settlement[], nowUs: number): void {
    let delivered: string[] = [];
    for (const settlement of settlements) {
      const { id, state, lastError, failed, reference, attempt } = settlement;
      if (state === 'delivered' && lastError === '' && !failed && !reference && attempt === undefined) {
        delivered.push(id);
        continue;
      }
      this.#settleDelivered(delivered, nowUs);
      delivered = [];
      this.#settleOne(settlement, nowUs);
    }
    this.#settleDelivered(delivered, nowUs);
  }

  #settleOne(ended: Settlement, nowUs: number): void {
    const [row] = this.#sql.before.all(textList([ended.id]));
    const settlement = row && outcomeToRecord(ended, row);
    if (!settlement) return;
    const { state, lastError, failed = false, remaining, isGone, notBeforeUs = 0 } = settlement;
    const { refusals = 0, refusedBy = '', reference = '', leavesLane = false } = settlement;
    const settledUs = state === 'retry' || state === 'ambiguous' ? 0 : nowUs;
    const left = remaining ? JSON.stringify(remaining) : null;
    const isFailed = failed ? 1 : 0;
    const nextAttemptAtUs = this.#nextAttemptUs(settlement, row, nowUs);
    this.#sql.settle.run(
      row.seq,
      state,
      nextAttemptAtUs,
      lastError,
      settledUs,
      isFailed,
      nowUs,
      left,
      refusals,
      refusedBy,
      reference,
      remaining || leavesLane ? 1 : 0,
      notBeforeUs,
    );
    this.#counts.move(row.receiver, row.state, state);
    this.#lanes.giveTurn(row);
    // If some recipients accepted it, the integration works, even if the others refuse.
    if (state === 'delivered' || remaining || isGone) this.#accepted(row, nowUs);
    else if (failed && row.remaining === '') this.#health.failed(row, lastError, nowUs);
  }

  /** The usual result, settled for many deliveries at once, at a third of the cost of single ones. */
  #settleDelivered(ids: readonly string[], nowUs: number): void {
    if (ids.length === 0) return;
    const rows = this.#sql.before.all(textList(ids));
    this.#sql.deliver.run(JSON.stringify(rows.map(({ seq }) => seq)), nowUs);
    for (const { receiver, state } of rows) this.#counts.move(receiver, state, 'delivered');
    const ways = Map.groupBy(rows, ({ receiver, position }) => JSON.stringify([receiver, position]));
    for (const way of ways.values()) {
      for (const row of new Map(way.map((one) => [one.integration, one])).values())
        this.#accepted(row, nowUs);
      this.#lanes.giveTurns(way[0]!, new Set(way.map(({ lane }) => lane)));
    }
  }

  /** When a delivery that failed is tried again: within a minute, unless another of its integration is. */
  #nextAttemptUs({ failed, nextAttemptAtUs, notBeforeUs }: Settlement, row: Before, nowUs: number): number {
    const soonUs = nowUs + TRIED_EVERY_US;
    if (!failed || notBeforeUs !== undefined || nextAttemptAtUs <= soonUs) return nextAttemptAtUs;
    const { receiver, position, integration } = row;
    const isAnyTried = this.#sql.isAnyDue.get(receiver, position, integration, soonUs);
    return isAnyTried ? nextAttemptAtUs : soonUs;
  }

  #accepted(row: Before, nowUs: number): void {
    const failingSinceUs = this.#health.accepted(row);
    if (failingSinceUs === undefined || nowUs - failingSinceUs < RECOVERED_AFTER_US) return;
    this.#sql.bringForward.run(row.receiver, row.position, row.integration, nowUs);
  }
}

function prepareSettling(connection: Connection) {
  return {
    before: connection.prepare<Before>(
      `SELECT seq, receiver, position, lane, integration, state, remaining, attempts, next_attempt_us
       FROM delivery WHERE id IN (SELECT value FROM json_each(?))`,
    ),
    // A fallback is due at once after the third failure (attempts that were cut off do not count), or when the
    // delivery is given up before its fallback time.
    settle: connection.prepare(
      `UPDATE delivery SET state = ?2, next_attempt_us = ?3, last_error = ?4, settled_us = ?5,
         fallback_us = CASE
           WHEN ?2 IN ('delivered', 'suppressed') THEN NULL
           WHEN ?6 AND (?2 = 'dead' OR attempts - cut_off >= ${FALLBACK_FAILURES}) THEN min(fallback_us, ?7)
           ELSE fallback_us
         END,
         lane = iif(?12, '', lane),
         remaining = CASE WHEN ?2 IN ('delivered', 'suppressed') THEN '' ELSE coalesce(?8, remaining) END,
         refusals = ?9, refused_by = ?10, reference = ?11, not_before_us = ?13
       WHERE seq = ?1`,
    ),
    isAnyDue: connection.prepare(
      `SELECT 1 FROM delivery WHERE receiver = ? AND position = ? AND integration = ? AND next_attempt_us <= ?
         AND ${CLAIMABLE} LIMIT 1`,
    ),
    bringForward: connection.prepare(
      `UPDATE delivery SET next_attempt_us = max(?4, not_before_us)
       WHERE receiver = ?1 AND position = ?2 AND integration = ?3 AND next_attempt_us > ?4 AND ${CLAIMABLE}`,
    ),
    deliver: connection.prepare(
      `UPDATE delivery SET state = 'delivered', next_attempt_us = ?2, last_error = '', settled_us = ?2,
         refusals = 0, refused_by = '', fallback_us = NULL, remaining = ''
       WHERE seq IN (SELECT value FROM json_each(?1))`,
    ),
  };
}
