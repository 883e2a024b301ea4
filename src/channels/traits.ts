import type { Audience, Traits } from './channel.ts';
import type { Integration, Receiver } from './receiver.ts';
import { channelOf } from './registry.ts';

/** What alerting must know of an integration: its audience, and what is special about it. */
export function traitsOf(integration: Integration): Traits & { readonly audience: Audience } {
  const { audience, traits } = channelOf(integration);
  return { ...traits?.(integration), audience };
}

/** Whether a receiver is notified of alerts, and not of single events only. */
export function takesAlerts({ integrations }: Receiver): boolean {
  return integrations.some((one) => !traitsOf(one).takesEvents);
}

/** Whether any receiver notifies members of Nests. */
export function notifiesMembers(receivers: readonly Receiver[]): boolean {
  return receivers.some(({ integrations }) =>
    integrations.some((one) => traitsOf(one).nestMembers !== undefined),
  );
}

interface PageAddress {
  readonly externalUrl: string;
  /** True if no external URL is configured. */
  readonly hasDefaultUrl?: boolean | undefined;
}

/** What links in a message begin with; empty if its readers may not be able to reach the page. */
export function linksFrom(integration: Integration, { externalUrl, hasDefaultUrl }: PageAddress): string {
  return hasDefaultUrl && traitsOf(integration).audience !== 'programs' ? '' : externalUrl;
}
