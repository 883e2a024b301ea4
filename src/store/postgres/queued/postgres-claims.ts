/**
 * Claims due deliveries of integrations. A delivery can be claimed while it is `pending`, `retry` or `ambiguous`, its
 * instant has come, and it has its lane's turn. `SKIP LOCKED` lets several processes claim at the same time.
 */
import type { ClaimChoice, ClaimedDelivery, DeliveryState } from '../../outbox-store.ts';
import { type ClaimedRow, claimedOf } from '../../rows/delivery-row.ts';
import type { DeliveryCounts } from '../../sql/queued/delivery-counts.ts';
import type { Statements } from '../statements.ts';

/** The condition of the partial index `delivery_waiting`. */
export const CLAIMABLE = "turn = 1 AND state IN ('pending', 'retry', 'ambiguous')";

/** Claiming stops at this much text, so that large notifications do not fill the memory. */
const MAX_CLAIMED_BYTES = 4 * 1024 * 1024;

/** Claims in one round trip: finds what is due, up to the limits, and leases it. */
const CLAIM = `WITH due AS (
    SELECT seq, state, next_attempt_us, notification FROM delivery
    WHERE receiver = $1 AND position = $2 AND next_attempt_us <= $3 AND ${CLAIMABLE}
      AND (state = 'pending' OR ($8 AND (holder <> $5 OR next_attempt_us <= $6)))
      AND (state <> 'pending' OR next_attempt_us <= $7)
    ORDER BY next_attempt_us, seq LIMIT $4 FOR UPDATE SKIP LOCKED),
  sized AS (
    SELECT due.seq, due.state, row_number() OVER waiting AS at,
      sum(octet_length(body)) OVER waiting AS bytes
    FROM due JOIN notification ON notification.seq = due.notification
    WINDOW waiting AS (ORDER BY due.next_attempt_us, due.seq)),
  leased AS (
    UPDATE delivery SET state = 'leased', attempts = attempts + 1, holder = $5 FROM sized
    WHERE delivery.seq = sized.seq AND (sized.at = 1 OR sized.bytes <= ${MAX_CLAIMED_BYTES})
    RETURNING delivery.*, sized.at, sized.state AS before)
  SELECT leased.*, notification.body,
    (SELECT earlier.reference FROM delivery AS earlier
     WHERE earlier.receiver = leased.receiver AND earlier.position = leased.position
       AND earlier.lane = leased.lane AND earlier.lane <> '' AND earlier.reference <> ''
     ORDER BY earlier.seq DESC LIMIT 1) AS earlier
  FROM leased JOIN notification ON notification.seq = leased.notification ORDER BY leased.at`;

export class PostgresClaims {
  readonly #statements: Statements;
  readonly #counts: DeliveryCounts;

  constructor(statements: Statements, counts: DeliveryCounts) {
    this.#statements = statements;
    this.#counts = counts;
  }

  async claim(
    receiver: string,
    position: number,
    nowUs: number,
    limit: number,
    holder: number,
    { left, isFresh = false }: ClaimChoice,
  ): Promise<ClaimedDelivery[]> {
    const { triedUs = 0, freshUs = 0 } = left ?? {};
    const choice = [nowUs - triedUs, nowUs - freshUs, !isFresh] as const;
    const rows = await this.#statements.rows<
      ClaimedRow & { readonly before: DeliveryState; readonly earlier: string | null }
    >(CLAIM, receiver, position, nowUs, limit, holder, ...choice);
    return rows.map((row) => {
      this.#counts.move(receiver, row.before, 'leased');
      const claimed = claimedOf(row);
      return row.earlier
        ? { ...claimed, delivery: { ...claimed.delivery, reference: row.earlier } }
        : claimed;
    });
  }

  /** Steps from one integration to the next through the index, rather than scanning everything that waits. */
  async due(nowUs: number): Promise<{ due: { receiver: string; position: number }[]; nextAtUs?: number }> {
    const rows = await this.#statements.rows<{
      receiver: string;
      position: number;
      due: boolean;
      later_us: number | null;
    }>(
      `WITH RECURSIVE waiting AS (
         (SELECT receiver, position FROM delivery WHERE ${CLAIMABLE} ORDER BY receiver, position LIMIT 1)
         UNION ALL
         SELECT next.receiver, next.position FROM waiting CROSS JOIN LATERAL (
           SELECT delivery.receiver, delivery.position FROM delivery
           WHERE (delivery.receiver, delivery.position) > (waiting.receiver, waiting.position) AND ${CLAIMABLE}
           ORDER BY delivery.receiver, delivery.position LIMIT 1) AS next)
       SELECT receiver, position,
         EXISTS (SELECT 1 FROM delivery WHERE delivery.receiver = waiting.receiver
           AND delivery.position = waiting.position AND next_attempt_us <= $1 AND ${CLAIMABLE}) AS due,
         (SELECT min(next_attempt_us) FROM delivery WHERE delivery.receiver = waiting.receiver
           AND delivery.position = waiting.position AND next_attempt_us > $1 AND ${CLAIMABLE}) AS later_us
       FROM waiting`,
      nowUs,
    );
    const due = rows.filter((row) => row.due).map(({ receiver, position }) => ({ receiver, position }));
    const nextAtUs = rows.reduce<number | undefined>(
      (next, { later_us: at }) => (at !== null && (next === undefined || at < next) ? at : next),
      undefined,
    );
    return { due, ...(nextAtUs === undefined ? {} : { nextAtUs }) };
  }
}
