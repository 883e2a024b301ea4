/** A receiver's integrations as places that notifications go to, and what each of them takes. */
import type { Integration } from '../channels/receiver.ts';
import { traitsOf } from '../channels/traits.ts';
import { waysOf } from '../channels/way.ts';
import type { Notification } from '../domain/grouping/notification.ts';
import type { Delivery, LinkedSpan } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';

/** One of a receiver's integrations. */
export type Destination = readonly [position: number, integration: Integration];

/** True: a big notification goes to it whole, in as many parts as it takes. False: in one message, cut. */
export function takesParts([, integration]: Destination): boolean {
  return traitsOf(integration).audience === 'programs';
}

/** True: it needs the state of every alert, also from a summary. */
export function needsEveryState([, integration]: Destination): boolean {
  return traitsOf(integration).needsEveryState === true;
}

/** True: it takes events and no alerts. */
export function takesEvents([, integration]: Destination): boolean {
  return traitsOf(integration).takesEvents === true;
}

/** True: it keeps an incident open until it is notified that it is over. */
export function keepsIncidents([, integration]: Destination): boolean {
  return traitsOf(integration).audience === 'incidents';
}

/** Who is notified beside the members of each Nest; undefined where it does not go to members. */
export function besideMembers([, integration]: Destination): readonly string[] | undefined {
  return traitsOf(integration).nestMembers?.beside;
}

/** How many alerts it takes in one notification at the most. */
export function limitOf([, integration]: Destination): number {
  return traitsOf(integration).maxAlerts ?? Number.POSITIVE_INFINITY;
}

/** A receiver's integrations with their positions. */
export function destinationsOf(integrations: readonly Integration[] = []): Destination[] {
  return [...integrations.entries()];
}

/** Queues a notification for deliveries to some of these integrations, all that its receiver has now. */
export async function queue(
  tx: Transaction,
  notification: Notification,
  integrations: readonly Integration[],
  deliveries: readonly Delivery[],
  covers?: readonly LinkedSpan[],
): Promise<void> {
  await tx.outbox.enqueue({ ...notification, ways: waysOf(integrations) }, deliveries, covers);
}

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
