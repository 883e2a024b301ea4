import type { GroupNotification } from '../domain/grouping/notification.ts';
import type { ClaimedDelivery, Delivery } from '../store/outbox-store.ts';

/** What the channels of the configuration know of messages, which the page itself does not. */
export interface DeliveryMessages {
  /** The message as it is sent; undefined where it cannot be shown. */
  messageOf(claimed: ClaimedDelivery): string | undefined;
  /** What tries each integration of a receiver; none for a receiver that notifies nobody, or is not known. */
  testsOf(receiver: string, nowUs: number): { notification: GroupNotification; deliveries: Delivery[] }[];
}
