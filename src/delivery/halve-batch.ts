/**
 * A batch of forwarded events that its receiver does not accept, though it accepts others, is sent in halves, and these
 * again: so that in the end only those events are not delivered for which it does not. An event keeps its own id in each.
 * But a half is a message under another id: so none is made where any try may have been accepted without an answer.
 */
import type { ForwardNotification } from '../domain/grouping/notification.ts';
import type { ClaimedDelivery, Delivery, Settlement } from '../store/outbox-store.ts';

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

/** Knows of which batches every try, from the first on, was answered with a refusal: nothing of them has arrived. */
export class RefusedBatches {
  /** By deliveries, how many of their tries were. */
  readonly #refused = new Map<string, number>();

  /** Hears how a try ended; says whether it and all before it were refused. */
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
