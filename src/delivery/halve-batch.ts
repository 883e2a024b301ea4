/**
 * A batch of forwarded events that its receiver does not accept, though it accepts others, is sent in halves, and these
 * again: so that in the end only those events are not delivered for which it does not. An event keeps its own id in each.
 */
import type { ForwardNotification } from '../domain/grouping/notification.ts';
import type { ClaimedDelivery, Delivery } from '../store/outbox-store.ts';

/** What goes out in the place of a batch. */
export interface Half {
  readonly notification: ForwardNotification;
  readonly delivery: Delivery;
}

/** Both halves, to be sent at once; undefined for what is no batch of several events. They end when the whole would. */
export function halvesOf({ delivery, notification }: ClaimedDelivery, nowUs: number): Half[] | undefined {
  if (notification.kind !== 'forward' || notification.events.length < 2) return undefined;
  const { receiver, integration, position, lane, createdAtUs, fallbackAtUs } = delivery;
  const middle = Math.ceil(notification.events.length / 2);
  return [notification.events.slice(0, middle), notification.events.slice(middle)].map((events, at) => {
    const id = `${delivery.id}-half-${at + 1}`;
    return {
      notification: { ...notification, id, events, isHalf: true },
      delivery: {
        ...{
          id: `${id}-${position}`,
          notificationId: id,
          receiver,
          integration,
          position,
          lane,
          createdAtUs,
        },
        ...{ state: 'pending', attempts: 0, nextAttemptAtUs: nowUs, settledAtUs: 0, lastError: '' },
        ...(fallbackAtUs !== undefined && { fallbackAtUs }),
      },
    };
  });
}
