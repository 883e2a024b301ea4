/**
 * Splits a batch of forwarded events in halves if its receiver does not accept it but accepts others, and the halves
 * again. So in the end only those events are not delivered that the receiver does not accept. An event keeps its own
 * id. But each half is a message with an id of its own. So a batch is not split if any attempt of it may have been
 * accepted without an answer: its events would be sent twice.
 */
import type { ForwardNotification, Notification } from '../domain/grouping/notification.ts';
import type { ClaimedDelivery, Delivery, Settlement } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';

/** Whether it is a batch that has halves. */
export function isBatch(notification: Notification): notification is ForwardNotification {
  return notification.kind === 'forward' && notification.events.length > 1;
}

/** How a batch is settled that is sent in halves. */
export function halved({ id, lastError, nextAttemptAtUs }: Settlement): Settlement {
  const why = `not accepted as a whole, so its events are sent in two halves: ${lastError}`;
  return { id, state: 'suppressed', nextAttemptAtUs, lastError: why };
}

/**
 * Queues both halves in place of a batch that was settled as `halved`, unless another attempt of it was begun since:
 * then that one counts. They are due at once, and expire when the batch would.
 */
export async function queueHalves(
  tx: Transaction,
  { id, nowUs }: { readonly id: string; readonly nowUs: number },
): Promise<void> {
  const found = await tx.outbox.find(id);
  if (found?.delivery.state !== 'suppressed' || !isBatch(found.notification)) return;
  for (const { delivery, notification } of halvesOf(found.delivery, found.notification, nowUs)) {
    await tx.outbox.enqueue(notification, [delivery]);
  }
}

function halvesOf(whole: Delivery, batch: ForwardNotification, nowUs: number): ClaimedDelivery[] {
  const { receiver, integration, position, lane, createdAtUs } = whole;
  const middle = Math.ceil(batch.events.length / 2);
  return [batch.events.slice(0, middle), batch.events.slice(middle)].map((events, at) => {
    const id = `${whole.id}-half-${at + 1}`;
    return {
      notification: { ...batch, id, events, isHalf: true },
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
      },
    };
  });
}
