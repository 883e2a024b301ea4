/** Names integrations for people, without secrets. */
import { positioned } from './integration-identity.ts';
import type { Integration } from './receiver.ts';
import { channelOf } from './registry.ts';

/** Its kind, its number among all integrations of its receiver, and whom it reaches: `webhook 3 (hook.example.com)`. */
export function numberedName(integration: Integration, index: number): string {
  return `${integration.kind} ${index + 1} (${channelOf(integration).destination(integration)})`;
}

/** The name of the integration at a position: its kind alone if its receiver has no other of that kind. */
export function nameAt(integrations: readonly Integration[], position: number): string {
  const index = positioned(integrations).findIndex(([one]) => one === position);
  const integration = integrations[index];
  if (!integration) throw new Error(`no integration has the position ${position}`);
  return sameKind(integrations, integration.kind) > 1 ? numberedName(integration, index) : integration.kind;
}

/** How many integrations are of this kind. */
export function sameKind(integrations: readonly Integration[], kind: string): number {
  return integrations.filter((one) => one.kind === kind).length;
}
