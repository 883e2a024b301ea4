/**
 * Splits a batch of forwarded events in halves if its receiver does not accept it but accepts others, and the halves
 * again. So in the end only those events are not delivered that the receiver does not accept. An event keeps its own
 * id. But each half is a message with an id of its own. So a batch is not split if any attempt of it may have been
 * accepted without an answer: its events would be sent twice.
 */
import type { ForwardNotification } from '../domain/grouping/notification.ts';
import type { ClaimedDelivery, Delivery, Settlement } from '../store/outbox-store.ts';

/** One half, sent in place of the batch. */
export interface Half {
  readonly notification: ForwardNotification;
  readonly delivery: Delivery;
}

/**
 * Both halves, to be sent at once; undefined for anything but a batch of several events. They expire when the batch
 * would.
 */
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

/** Knows the batches of which the receiver refused every attempt, so that nothing of them has arrived. */
export class RefusedBatches {
  /** By delivery id: how many of its attempts were refused. */
  readonly #refused = new Map<string, number>();

  /** Records how an attempt ended. Returns whether it and all attempts before it were refused. */
  hear({ delivery, notification }: ClaimedDelivery, { state, refusals }: Settlement): boolean {
    if (notification.kind !== 'forward' || notification.events.length < 2) return false;
    const { id, attempts } = delivery;
    const isRefused = state === 'retry' || (state === 'dead' && refusals !== undefined);
    const refused = (this.#refused.get(id) ?? 0) + Number(isRefused);
    if (state === 'retry') this.#refused.set(id, refused);
    else if (state !== 'ambiguous') this.#refused.delete(id);
    return refused >= attempts;
  }
}
