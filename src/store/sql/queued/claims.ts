/**
 * Claims due deliveries of integrations. A delivery can be claimed while it is `pending`, `retry` or `ambiguous`, its
 * instant has come, and it has its lane's turn. On PostgreSQL several processes claim at the same time.
 */
import type { ClaimChoice, ClaimedDelivery } from '../../outbox-store.ts';
import { type ClaimedRow, readClaimed } from '../../rows/delivery-row.ts';
import type { Sql } from '../sql.ts';
import type { DeliveryCounts } from './delivery-counts.ts';

/** The condition of the partial index `delivery_waiting`; SQLite uses the index only if the text is identical. */
export const CLAIMABLE = "delivery.turn = 1 AND delivery.state IN ('pending', 'retry', 'ambiguous')";

/** Claiming stops at this much text, so that large notifications do not fill the memory. */
const MAX_CLAIMED_BYTES = 4 * 1024 * 1024;

/** Finds what is due, up to the limits, and returns it as it was before it is leased. */
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
