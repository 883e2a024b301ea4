/** A receiver's integrations as places that notifications go to, and what each of them takes. */
import type { Integration } from '../config/config.ts';
import type { Delivery } from '../store/outbox-store.ts';

/** One of a receiver's integrations. */
export type Destination = readonly [position: number, integration: Integration];

/** Integrations whose receiver is a program. */
const IN_PARTS: ReadonlySet<string> = new Set(['webhook', 'alertmanager']);

/** True: a big notification goes to it whole, in as many parts as it takes. False: in one message, cut. */
export function takesParts([, { kind }]: Destination): boolean {
  return IN_PARTS.has(kind);
}

/** True: it needs the state of every alert, also from a summary. */
export function needsEveryState([, { kind }]: Destination): boolean {
  return kind === 'alertmanager';
}

/** True: it takes events and no alerts. */
export function takesEvents([, integration]: Destination): boolean {
  return integration.kind === 'webhook' && integration.format === 'cloudevents';
}

/** True: it keeps an incident open until it is notified that it is over. */
export function keepsIncidents([, { kind }]: Destination): boolean {
  return kind === 'pagerduty';
}

/** True: it goes to the members of each Nest. */
export function goesToMembers([, integration]: Destination): boolean {
  return integration.kind === 'email' && integration.toNestMembers === true;
}

/** True: there is nobody that it goes to but members of Nests. */
export function hasNoAddress([, integration]: Destination): boolean {
  return integration.kind === 'email' && integration.to.length === 0;
}

/** How many alerts it takes in one notification at the most. */
export function limitOf([, integration]: Destination): number {
  const max = integration.kind === 'webhook' ? integration.maxAlerts : 0;
  return max > 0 ? max : Number.POSITIVE_INFINITY;
}

/** A receiver's integrations with their positions. */
export function destinationsOf(integrations: readonly Integration[] = []): Destination[] {
  return [...integrations.entries()];
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
