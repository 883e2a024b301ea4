/** Names integrations for people, without secrets. */
import type { Integration } from './receiver.ts';
import { channelOf } from './registry.ts';

/** Its kind, its number among all integrations of its receiver, and whom it reaches: `webhook 3 (hook.example.com)`. */
export function numberedName(integration: Integration, index: number): string {
  return `${integration.kind} ${index + 1} (${channelOf(integration).destination(integration)})`;
}

/** The name of one of a receiver's `integrations`: its kind alone if the receiver has no other of that kind. */
export function integrationName(integrations: readonly Integration[], one: Integration): string {
  return sameKind(integrations, one.kind) > 1 ? numberedName(one, integrations.indexOf(one)) : one.kind;
}

/** How many integrations are of this kind. */
export function sameKind(integrations: readonly Integration[], kind: string): number {
  return integrations.filter((one) => one.kind === kind).length;
}
