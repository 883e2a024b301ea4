/** Shows the message of a delivery to people, and makes the deliveries that test a receiver. */

import {
  atPosition,
  identitiesOf,
  integrationName,
  linksFrom,
  type PageAddress,
  positioned,
} from '../channels/integration-identity.ts';
import type { Receiver } from '../channels/receiver.ts';
import { channelOf } from '../channels/registry.ts';
import { sampleNotification } from '../channels/sample.ts';
import type { GroupNotification } from '../domain/grouping/notification.ts';
import type { ClaimedDelivery, Delivery } from '../store/outbox-store.ts';
import { integrationOf } from './attempt.ts';

/** What the page needs to show messages and to test a receiver. `newId` returns an unused id. */
export function createDeliveryMessages(
  receivers: readonly Receiver[],
  page: PageAddress,
  newId: () => string,
) {
  return {
    nameOf({ receiver, position, integration }: Delivery): string {
      const integrations = receivers.find(({ name }) => name === receiver)?.integrations ?? [];
      const present = atPosition(integrations, position);
      return present?.kind === integration ? integrationName(integrations, present) : integration;
    },
    messageOf: (claimed: ClaimedDelivery) => messageOf(claimed, receivers, page),
    testsOf(name: string, nowUs: number) {
      const receiver = receivers.find((one) => one.name === name);
      return receiver ? testDeliveries(receiver, { nowUs, newId }) : [];
    },
  };
}

/**
 * The message as it would be sent, without secrets, by the notification and the present configuration. Undefined if the
 * notification is not about a group, or if the integration is no longer configured.
 */
async function messageOf(
  { delivery, notification }: ClaimedDelivery,
  receivers: readonly Receiver[],
  page: PageAddress,
): Promise<string | undefined> {
  const receiver = receivers.find(({ name }) => name === delivery.receiver);
  const integration = integrationOf(receiver, delivery, notification);
  if (!integration || notification.kind !== 'group') return undefined;
  return (await channelOf(integration).preview(integration, notification, linksFrom(integration, page))).text;
}

interface TestOptions {
  readonly nowUs: number;
  /** Returns an unused id. */
  readonly newId: () => string;
}

/**
 * A sample notification for each integration of a receiver. Services that keep incidents get a second one, which
 * resolves the incident that the first opens.
 */
function testDeliveries(
  { name, integrations }: Receiver,
  { nowUs, newId }: TestOptions,
): { notification: GroupNotification; deliveries: Delivery[] }[] {
  return [false, true].flatMap((isResolved) => {
    const notification = {
      ...sampleNotification(name, isResolved, nowUs),
      identities: identitiesOf(integrations),
    };
    const deliveries = positioned(integrations).flatMap(([position, integration]) =>
      isResolved && channelOf(integration).audience !== 'incidents'
        ? []
        : [{ integration: integration.kind, position, ...queuedAt(nowUs) }].map((one) => ({
            ...one,
            id: newId(),
            notificationId: notification.id,
            receiver: name,
            // What resolves an incident must come after what opens it.
            lane: notification.groupKey,
          })),
    );
    return deliveries.length > 0 ? [{ notification, deliveries }] : [];
  });
}

function queuedAt(nowUs: number) {
  return {
    ...{ state: 'pending' as const, attempts: 0, settledAtUs: 0, lastError: '' },
    ...{ createdAtUs: nowUs, nextAttemptAtUs: nowUs },
  };
}
