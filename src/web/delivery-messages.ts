import type { GroupNotification } from '../domain/grouping/notification.ts';
import type { ClaimedDelivery, Delivery } from '../store/outbox-store.ts';

/** The name of a delivery's integration, told from others of its kind of the same receiver. */
export type NameOf = (delivery: Delivery) => string;

/** Names integrations, and shows and tests messages, by means of the configured channels, which the pages do not know. */
export interface DeliveryMessages {
  readonly nameOf: NameOf;
  /** The message as it is sent; undefined if it cannot be shown. */
  messageOf(claimed: ClaimedDelivery): string | undefined;
  /** A test notification for each integration of a receiver; none if the receiver notifies nobody or is unknown. */
  testsOf(receiver: string, nowUs: number): { notification: GroupNotification; deliveries: Delivery[] }[];
}
