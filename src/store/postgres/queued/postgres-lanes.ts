/**
 * Decides whose turn it is among the deliveries of a lane, which are sent one after another. The turn belongs to the
 * lane's oldest unsettled delivery, unless another one of the lane is leased: that one keeps it until it settles.
 * `turn` is stored in the row and assigned again whenever a delivery of the lane settles. A lane belongs to one
 * integration of one receiver, so a slow integration never delays another. A delivery leaves its lane when only some
 * of its recipients have not accepted it, and when it fails alone (`delivery/isolated-failure.ts`).
 */
import type { DeliveryState, Lane } from '../../outbox-store.ts';

/** The condition of the partial index `delivery_lane`. */
const UNSETTLED = "delivery.lane <> '' AND delivery.state IN ('pending', 'leased', 'retry', 'ambiguous')";
const UNSETTLED_STATES: readonly DeliveryState[] = ['pending', 'leased', 'retry', 'ambiguous'];

/**
 * True if nothing waits in the lane of a given delivery. `OFFSET 0` makes the server look up each lane by itself: it
 * would read those of all that waits, and then conflict with whatever is settled meanwhile.
 */
export const LANE_IS_FREE = `NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.receiver = given.receiver
  AND delivery.position = given.position AND delivery.lane = given.lane AND ${UNSETTLED} OFFSET 0)`;

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

const valuesOf = ({ receiver, position, lane }: Lane) => [receiver, position, lane];
const nameOf = (lane: Lane) => JSON.stringify(valuesOf(lane));
