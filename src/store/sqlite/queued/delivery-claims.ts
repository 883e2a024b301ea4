/**
 * Claims due deliveries of integrations. A delivery can be claimed while it is `pending`, `retry` or `ambiguous`, its
 * instant has come, and it has its lane's turn.
 */
import type { ClaimChoice, ClaimedDelivery } from '../../outbox-store.ts';
import { type ClaimedRow, claimedOf, type DeliveryRow } from '../../rows/delivery-row.ts';
import type { DeliveryCounts } from '../../sql/queued/delivery-counts.ts';
import type { Connection } from '../connection.ts';

/** One integration of one receiver. */
type Destination = Pick<DeliveryRow, 'receiver' | 'position'>;

/** The condition of the partial index `delivery_waiting`; SQLite uses the index only if the text is identical. */
export const CLAIMABLE = "turn = 1 AND state IN ('pending', 'retry', 'ambiguous')";

/** Claiming stops at this much text, so that large notifications do not fill the memory. */
const MAX_CLAIMED_BYTES = 4 * 1024 * 1024;

export class DeliveryClaims {
  readonly #counts: DeliveryCounts;
  readonly #claiming: ReturnType<typeof prepareClaiming>;
  readonly #looking: ReturnType<typeof prepareLooking>;

  constructor(connection: Connection, counts: DeliveryCounts) {
    this.#counts = counts;
    this.#claiming = prepareClaiming(connection);
    this.#looking = prepareLooking(connection);
  }

  claim(
    receiver: string,
    position: number,
    nowUs: number,
    limit: number,
    holder: number,
    { left, isFresh = false }: ClaimChoice,
  ): ClaimedDelivery[] {
    let bytes = 0;
    const { triedUs = 0, freshUs = 0 } = left ?? {};
    const choice = [holder, nowUs - triedUs, nowUs - freshUs, Number(!isFresh)] as const;
    const due = this.#claiming.due.all(receiver, position, nowUs, limit, ...choice).filter((row, index) => {
      bytes += row.bytes;
      return index === 0 || bytes <= MAX_CLAIMED_BYTES;
    });
    if (due.length === 0) return [];
    const numbers = JSON.stringify(due.map(({ seq }) => seq));
    this.#claiming.lease.run(numbers, holder);
    for (const { state } of due) this.#counts.move(receiver, state, 'leased');
    const leased = new Map(this.#claiming.leased.all(numbers).map((row) => [row.seq, row]));
    return due.map(({ seq }) => {
      const row = leased.get(seq)!;
      const claimed = claimedOf(row);
      return row.earlier
        ? { ...claimed, delivery: { ...claimed.delivery, reference: row.earlier } }
        : claimed;
    });
  }

  due(nowUs: number): { due: Destination[]; nextAtUs?: number } {
    const due: Destination[] = [];
    let nextAtUs: number | undefined;
    for (const { receiver, position } of this.#waiting()) {
      if (this.#looking.isDue.get(receiver, position, nowUs)) due.push({ receiver, position });
      const atUs = this.#looking.later.get(receiver, position, nowUs)?.at_us ?? undefined;
      if (atUs !== undefined && (nextAtUs === undefined || atUs < nextAtUs)) nextAtUs = atUs;
    }
    return { due, ...(nextAtUs === undefined ? {} : { nextAtUs }) };
  }

  /** Steps through the integrations with claimable deliveries. */
  *#waiting(): Generator<Destination> {
    let at: Destination | undefined = { receiver: '', position: -1 };
    for (;;) {
      at =
        this.#looking.nextPosition.get(at.receiver, at.position) ??
        this.#looking.nextReceiver.get(at.receiver);
      if (!at) return;
      yield at;
    }
  }
}

function prepareClaiming(connection: Connection) {
  return {
    due: connection.prepare<Pick<DeliveryRow, 'seq' | 'state'> & { readonly bytes: number }>(
      `SELECT delivery.seq, state, octet_length(body) AS bytes
       FROM delivery JOIN notification ON notification.seq = notification
       WHERE receiver = ?1 AND position = ?2 AND next_attempt_us <= ?3 AND ${CLAIMABLE}
         AND (state = 'pending' OR (?8 AND (holder <> ?5 OR next_attempt_us <= ?6)))
         AND (state <> 'pending' OR next_attempt_us <= ?7)
       ORDER BY next_attempt_us, delivery.seq LIMIT ?4`,
    ),
    lease: connection.prepare(
      `UPDATE delivery SET state = 'leased', attempts = attempts + 1, holder = ?2
       WHERE seq IN (SELECT value FROM json_each(?1))`,
    ),
    leased: connection.prepare<ClaimedRow & { readonly earlier: string | null }>(
      `SELECT delivery.*, body,
         (SELECT before.reference FROM delivery AS before
          WHERE before.receiver = delivery.receiver AND before.position = delivery.position
            AND before.lane = delivery.lane AND before.lane <> '' AND before.reference <> ''
          ORDER BY before.seq DESC LIMIT 1) AS earlier
       FROM delivery JOIN notification ON notification.seq = notification
       WHERE delivery.seq IN (SELECT value FROM json_each(?))`,
    ),
  };
}

function prepareLooking(connection: Connection) {
  return {
    // Finding the next integration takes two queries: comparing both columns at once would scan everything that
    // waits.
    nextPosition: connection.prepare<Destination>(
      `SELECT receiver, position FROM delivery WHERE receiver = ? AND position > ? AND ${CLAIMABLE}
       ORDER BY position LIMIT 1`,
    ),
    nextReceiver: connection.prepare<Destination>(
      `SELECT receiver, position FROM delivery WHERE receiver > ? AND ${CLAIMABLE}
       ORDER BY receiver, position LIMIT 1`,
    ),
    isDue: connection.prepare(
      `SELECT 1 FROM delivery WHERE receiver = ? AND position = ? AND next_attempt_us <= ? AND ${CLAIMABLE} LIMIT 1`,
    ),
    later: connection.prepare<{ at_us: number | null }>(
      `SELECT min(next_attempt_us) AS at_us FROM delivery
       WHERE receiver = ? AND position = ? AND next_attempt_us > ? AND ${CLAIMABLE}`,
    ),
  };
}
