import type { Audience, Traits } from './channel.ts';
import type { Integration, Receiver } from './receiver.ts';
import { channelOf } from './registry.ts';

/** What alerting must know of an integration: whom its messages are for, and what is special about it. */
export function traitsOf(integration: Integration): Traits & { readonly audience: Audience } {
  const { audience, traits } = channelOf(integration);
  return { ...traits?.(integration), audience };
}

/** Whether a receiver is notified of alerts: those who take single events want these alone. */
export function takesAlerts({ integrations }: Receiver): boolean {
  return integrations.some((one) => !traitsOf(one).takesEvents);
}

/** Whether members of Nests are notified of anything. */
export function notifiesMembers(receivers: readonly Receiver[]): boolean {
  return receivers.some(({ integrations }) =>
    integrations.some((one) => traitsOf(one).nestMembers !== undefined),
  );
}

interface PageAddress {
  readonly externalUrl: string;
  /** True where nobody said how people reach the page. */
  readonly hasDefaultUrl?: boolean | undefined;
}

/** What links of a message begin with; empty for people who may not be able to reach the page. */
export function linksFrom(integration: Integration, { externalUrl, hasDefaultUrl }: PageAddress): string {
  return hasDefaultUrl && traitsOf(integration).audience !== 'programs' ? '' : externalUrl;
}
