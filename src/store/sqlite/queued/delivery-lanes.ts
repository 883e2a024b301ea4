/**
 * Lanes: whose turn it is among deliveries that are sent one after another. The turn belongs to the oldest unsettled
 * delivery of a lane, unless another one of the lane is leased: that one keeps it until it settles. `turn` is kept in
 * the row and given anew whenever a delivery of the lane settles. A lane is one receiver's integration's own: a slow
 * one never holds up another. A delivery that only some of its recipients have not accepted leaves its lane: one full
 * mailbox never holds up what is next for the others. So does one that fails alone (`delivery/unaccepted-alone.ts`).
 */

import type { DeliveryState } from '../../outbox-store.ts';
import type { DeliveryRow } from '../../rows/delivery-row.ts';
import { type Connection, encodeText, textList } from '../connection.ts';

/** A lane of one integration of one receiver; `lane` is empty for none. */
export type Lane = Pick<DeliveryRow, 'receiver' | 'position' | 'lane'>;

/** What `delivery_lane` is partial on; the text must be the same for SQLite to use it. */
const UNSETTLED = "lane <> '' AND state IN ('pending', 'leased', 'retry', 'ambiguous')";
const UNSETTLED_STATES: readonly DeliveryState[] = ['pending', 'leased', 'retry', 'ambiguous'];

export class DeliveryLanes {
  readonly #sql: ReturnType<typeof prepareLanes>;

  constructor(connection: Connection) {
    this.#sql = prepareLanes(connection);
  }

  /**
   * Says of each of these new deliveries, asked in their order, whether it has its turn at once: it is in no lane, or
   * in one where nothing waits, before it among them neither.
   */
  turnsAmong(deliveries: readonly Lane[]): (delivery: Lane & Pick<DeliveryRow, 'state'>) => boolean {
    const nameOf = ({ receiver, position, lane }: Lane) =>
      JSON.stringify([encodeText(receiver), position, encodeText(lane)]);
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

  /** Gives the lane's turn to whom it belongs, after one of its deliveries has changed its state. */
  giveTurn({ receiver, position, lane }: Lane): void {
    if (lane === '') return;
    this.#sql.loseTurn.run(receiver, position, lane);
    if (this.#sql.isLeasedIn.get(receiver, position, lane)) return;
    this.#sql.takeTurn.run(receiver, position, lane);
  }

  /** Gives the turns of those of an integration's lanes in which something waits. */
  giveTurns({ receiver, position }: Omit<Lane, 'lane'>, lanes: ReadonlySet<string>): void {
    for (const { lane } of this.#sql.waiting.all(receiver, position, textList([...lanes]))) {
      this.giveTurn({ receiver, position, lane });
    }
  }
}

function prepareLanes(connection: Connection) {
  const ofLane = 'receiver = ? AND position = ? AND lane = ?';
  return {
    taken: connection.prepare<{ index: number }>(
      `SELECT key AS "index" FROM json_each(?) AS given WHERE EXISTS (
         SELECT 1 FROM delivery WHERE receiver = given.value ->> 0 AND position = given.value ->> 1
           AND lane = given.value ->> 2 AND ${UNSETTLED})`,
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
