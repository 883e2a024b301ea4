/**
 * Decides whose turn it is among the deliveries of a lane, which are sent one after another. The turn belongs to the
 * lane's oldest unsettled delivery, unless another one of the lane is leased: that one keeps it until it settles.
 * `turn` is stored in the row and assigned again whenever a delivery of the lane settles. A lane belongs to one
 * integration of one receiver, so a slow integration never delays another. A delivery leaves its lane when only some
 * of its recipients have not accepted it, so that one full mailbox does not delay what is next for the others, and
 * when it fails alone (`delivery/isolated-failure.ts`).
 */

import type { DeliveryState, Lane } from '../../outbox-store.ts';
import type { DeliveryRow } from '../../rows/delivery-row.ts';
import { type Connection, encodeText, textList } from '../connection.ts';

/** The condition of the partial index `delivery_lane`; SQLite uses the index only if the text is identical. */
const UNSETTLED = "lane <> '' AND state IN ('pending', 'leased', 'retry', 'ambiguous')";
const UNSETTLED_STATES: readonly DeliveryState[] = ['pending', 'leased', 'retry', 'ambiguous'];

export class DeliveryLanes {
  readonly #sql: ReturnType<typeof prepareLanes>;

  constructor(connection: Connection) {
    this.#sql = prepareLanes(connection);
  }

  /**
   * Returns a test, to be called for these new deliveries in their order, of whether each has its turn at once: it is
   * in no lane, or nothing waits in its lane, neither in the store nor before it among these.
   */
  turnsAmong(deliveries: readonly Lane[]): (delivery: Lane & Pick<DeliveryRow, 'state'>) => boolean {
    const lanes = deliveries.filter(({ lane }) => lane !== '').map(nameOf);
    const taken = new Set(this.#sql.taken.all(`[${lanes.join()}]`).map(({ index }) => lanes[index]!));
    return (delivery) => {
      if (delivery.lane === '') return true;
      const name = nameOf(delivery);
      const isFree = !taken.has(name);
      if (UNSETTLED_STATES.includes(delivery.state)) taken.add(name);
      return isFree;
    };
  }

  /** Those of these lanes in which something is unsettled; with `alertIds`, that lists one of these alerts. */
  unsettled(lanes: readonly Lane[], alertIds: readonly string[] | undefined): Lane[] {
    const given = `[${lanes.map(nameOf).join()}]`;
    const found =
      alertIds === undefined ? this.#sql.taken.all(given) : this.#sql.listing.all(given, textList(alertIds));
    return found.map(({ index }) => lanes[index]!);
  }

  /** Moves what is unsettled in these lanes to another lane of the same integration. */
  join(lanes: readonly Lane[], into: string): void {
    for (const { receiver, position, lane } of lanes) this.#sql.move.run(receiver, position, lane, into);
    const [first] = lanes;
    if (first) this.giveTurn({ ...first, lane: into });
  }

  /** Gives the lane's turn to the right delivery after one of its deliveries has changed its state. */
  giveTurn({ receiver, position, lane }: Lane): void {
    if (lane === '') return;
    this.#sql.loseTurn.run(receiver, position, lane);
    if (this.#sql.isLeasedIn.get(receiver, position, lane)) return;
    this.#sql.takeTurn.run(receiver, position, lane);
  }

  /** Gives the turns of those lanes of an integration in which something waits. */
  giveTurns({ receiver, position }: Omit<Lane, 'lane'>, lanes: ReadonlySet<string>): void {
    for (const { lane } of this.#sql.waiting.all(receiver, position, textList([...lanes]))) {
      this.giveTurn({ receiver, position, lane });
    }
  }
}

function nameOf({ receiver, position, lane }: Lane): string {
  return JSON.stringify([encodeText(receiver), position, encodeText(lane)]);
}

function prepareLanes(connection: Connection) {
  const ofLane = 'receiver = ? AND position = ? AND lane = ?';
  return {
    taken: connection.prepare<{ index: number }>(
      `SELECT key AS "index" FROM json_each(?) AS given WHERE EXISTS (
         SELECT 1 FROM delivery WHERE receiver = given.value ->> 0 AND position = given.value ->> 1
           AND lane = given.value ->> 2 AND ${UNSETTLED})`,
    ),
    listing: connection.prepare<{ index: number }>(
      `SELECT key AS "index" FROM json_each(?1) AS given WHERE EXISTS (
         SELECT 1 FROM delivery JOIN notified_alert ON notified_alert.notification = delivery.notification
         WHERE receiver = given.value ->> 0 AND position = given.value ->> 1 AND lane = given.value ->> 2
           AND ${UNSETTLED}
           AND alert IN (SELECT alert FROM alert WHERE id IN (SELECT value FROM json_each(?2))))`,
    ),
    move: connection.prepare(
      `UPDATE delivery SET lane = ?4 WHERE receiver = ?1 AND position = ?2 AND lane = ?3 AND ${UNSETTLED}`,
    ),
    isLeasedIn: connection.prepare(
      `SELECT 1 FROM delivery WHERE ${ofLane} AND turn = 1 AND ${UNSETTLED} AND state = 'leased'`,
    ),
    loseTurn: connection.prepare(
      `UPDATE delivery SET turn = 0 WHERE ${ofLane} AND turn = 1 AND ${UNSETTLED} AND state <> 'leased'`,
    ),
    takeTurn: connection.prepare(
      `UPDATE delivery SET turn = 1
       WHERE seq = (
         SELECT seq FROM delivery WHERE ${ofLane} AND turn = 0 AND ${UNSETTLED} ORDER BY seq LIMIT 1)`,
    ),
    waiting: connection.prepare<{ lane: string }>(
      `SELECT value AS lane FROM json_each(?3) WHERE EXISTS (
         SELECT 1 FROM delivery WHERE receiver = ?1 AND position = ?2 AND lane = value AND ${UNSETTLED})`,
    ),
  };
}
