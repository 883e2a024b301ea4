/** The integrations of a receiver as destinations of notifications, and what each of them takes. */
import { identitiesOf, positioned, traitsOf } from '../channels/integration-identity.ts';
import type { Integration, Receiver } from '../channels/receiver.ts';
import type { Notification } from '../domain/grouping/notification.ts';
import type { Delivery, LinkedSpan } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';

/** One of a receiver's integrations. */
export type Destination = readonly [position: number, integration: Integration];

/** True: it gets all of a big notification, in as many parts as needed. False: it gets one message, shortened. */
export function takesParts([, integration]: Destination): boolean {
  return traitsOf(integration).audience === 'programs';
}

/** True: it sends to people, not to programs or services that keep incidents. */
export function isForPeople([, integration]: Destination): boolean {
  return traitsOf(integration).audience === 'people';
}

/** True: it must get the state of every alert, even from a summary. */
export function needsEveryState([, integration]: Destination): boolean {
  return traitsOf(integration).needsEveryState === true;
}

/** True: it takes events instead of alerts. */
export function takesEvents([, integration]: Destination): boolean {
  return traitsOf(integration).takesEvents === true;
}

/** True: it keeps an incident open until a notification resolves it. */
export function keepsIncidents([, integration]: Destination): boolean {
  return traitsOf(integration).audience === 'incidents';
}

/** Whether a receiver has a destination that keeps incidents. */
export function hasIncidents({ integrations }: Receiver): boolean {
  return destinationsOf(integrations).some(keepsIncidents);
}

/** The addresses notified besides the members of each Nest; undefined if it does not notify members. */
export function besideMembers([, integration]: Destination): readonly string[] | undefined {
  return traitsOf(integration).nestMembers?.beside;
}

/** The most alerts that it takes in one notification. */
export function limitOf([, integration]: Destination): number {
  return traitsOf(integration).maxAlerts ?? Number.POSITIVE_INFINITY;
}

/** A receiver's integrations with their positions. */
export function destinationsOf(integrations: readonly Integration[] = []): readonly Destination[] {
  return positioned(integrations);
}

/** Queues a notification with its deliveries. `integrations`: all that its receiver has now. */
export async function queue(
  tx: Transaction,
  notification: Notification,
  integrations: readonly Integration[],
  deliveries: readonly Delivery[],
  covers?: readonly LinkedSpan[],
): Promise<void> {
  await tx.outbox.enqueue({ ...notification, identities: identitiesOf(integrations) }, deliveries, covers);
}

/** The lane in which an integration is sent the messages of one group in order. */
export function laneOf(position: number, groupKey: string): string {
  return `${position} ${groupKey}`;
}

/**
 * A new delivery of a notification, to be tried at once. Deliveries of one `groupKey` to an integration share a lane:
 * they are sent in order. One leaves the lane when only some of its recipients have accepted it, or when it fails
 * alone. Without a `groupKey` there is no order.
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
    lane: groupKey === undefined ? '' : laneOf(position, groupKey),
    state: 'pending',
    attempts: 0,
    createdAtUs: nowUs,
    nextAttemptAtUs: nowUs,
    settledAtUs: 0,
    lastError: '',
  };
}
