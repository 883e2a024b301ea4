import type { Integration } from '../config/config.ts';
import type { Delivery } from '../store/outbox-store.ts';

/** One of a receiver's integrations. */
export type Destination = readonly [position: number, integration: Integration];

/**
 * A delivery of a notification that is tried at once. Those of one `groupKey` never overtake each other on the way to
 * an integration, but for recipients who have not accepted what others have; without one they are in no order.
 */
export function newDelivery(
  notification: { readonly id: string; readonly receiver: string; readonly groupKey?: string },
  [position, { kind }]: Destination,
  nowUs: number,
): Delivery {
  const { id, receiver, groupKey } = notification;
  return {
    id: `${id}-${position}`,
    notificationId: id,
    receiver,
    integration: kind,
    position,
    lane: groupKey === undefined ? '' : `${position} ${groupKey}`,
    state: 'pending',
    attempts: 0,
    createdAtUs: nowUs,
    nextAttemptAtUs: nowUs,
    settledAtUs: 0,
    lastError: '',
  };
}
