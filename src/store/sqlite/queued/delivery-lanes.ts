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
import { type Connection, encodeText } from '../connection.ts';

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
}

function nameOf({ receiver, position, lane }: Lane): string {
  return JSON.stringify([encodeText(receiver), position, encodeText(lane)]);
}

function prepareLanes(connection: Connection) {
  return {
    taken: connection.prepare<{ index: number }>(
      `SELECT key AS "index" FROM json_each(?) AS given WHERE EXISTS (
         SELECT 1 FROM delivery WHERE receiver = given.value ->> 0 AND position = given.value ->> 1
           AND lane = given.value ->> 2 AND ${UNSETTLED})`,
    ),
  };
}
