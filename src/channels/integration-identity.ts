/**
 * Recognizes an integration after the configuration has changed: by its kind and by whom it reaches, written as one
 * text, its *identity*. Everything else about it may change, including its position.
 *
 * Its position says which one of its kind it is, so it stays the same when integrations of other kinds come or go: what
 * waits for it keeps its order with what is queued later, and a failure stays its own.
 */
import { createHash } from 'node:crypto';
import { digestOfSecret, isSecret } from '../secret.ts';
import type { Audience, Traits } from './channel.ts';
import type { Integration, Receiver } from './receiver.ts';
import { CHANNELS, channelOf } from './registry.ts';

/** More than there are channels. */
const POSITIONS_APART = 100;

const CHANNEL_NUMBERS = new Map(CHANNELS.map(({ kind }, number) => [kind, number]));

/** The positions of integrations of these kinds; undefined for a kind that is not known. */
function positionsOf(kinds: readonly string[]): (number | undefined)[] {
  const before = new Map<string, number>();
  return kinds.map((kind) => {
    const number = CHANNEL_NUMBERS.get(kind);
    const count = before.get(kind) ?? 0;
    before.set(kind, count + 1);
    return number === undefined ? undefined : number + count * POSITIONS_APART;
  });
}

type Positioned = readonly (readonly [position: number, integration: Integration])[];

const knownPositions = new WeakMap<readonly Integration[], Positioned>();

/** A receiver's integrations with their positions. */
export function positioned(integrations: readonly Integration[]): Positioned {
  const before = knownPositions.get(integrations);
  if (before) return before;
  const positions = positionsOf(integrations.map(({ kind }) => kind));
  const all = integrations.map((one, index) => [positions[index] ?? -1, one] as const);
  knownPositions.set(integrations, all);
  return all;
}

/** The integration at this position now; undefined for none. */
export function atPosition(integrations: readonly Integration[], position: number): Integration | undefined {
  return positioned(integrations).find(([one]) => one === position)?.[1];
}

/** The fields that say whom an integration reaches, in any channel. */
const IDENTIFYING: ReadonlySet<string> = new Set([
  ...['to', 'toNestMembers', 'url', 'format', 'app', 'channel', 'routingKey', 'apiKey', 'keys', 'entry'],
]);

const knownIdentities = new WeakMap<readonly Integration[], readonly string[]>();

/** The identity of each integration, in order. Addresses and keys cannot be recovered from it. */
export function identitiesOf(integrations: readonly Integration[]): readonly string[] {
  const identities = knownIdentities.get(integrations) ?? integrations.map(identityOf);
  knownIdentities.set(integrations, identities);
  return identities;
}

function identityOf(integration: Integration): string {
  const fields = Object.entries(integration).filter(([name]) => IDENTIFYING.has(name));
  const text = JSON.stringify(withoutSecrets(fields));
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${integration.kind}:${digest}`;
}

function withoutSecrets(value: unknown): unknown {
  if (isSecret(value)) return digestOfSecret(value);
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value).map(([name, inner]) => [name, withoutSecrets(inner)]);
}

/**
 * The present integration for something that was queued for `position` when its receiver's integrations had these
 * `identities`. An integration whose address has changed is taken to be a new one of the same kind. Undefined if it was
 * removed, or if `identities` has none at that position.
 */
export function integrationAt(
  integrations: readonly Integration[],
  position: number,
  identities: readonly string[],
): Integration | undefined {
  const present = identitiesOf(integrations);
  if (identities.length === present.length && identities.every((identity, at) => identity === present[at])) {
    return atPosition(integrations, position);
  }
  const free = new Set(present.keys());
  const take = (fits: (identity: string) => boolean) => {
    const at = [...free].find((one) => fits(present[one]!));
    if (at !== undefined) free.delete(at);
    return at;
  };
  // Matches each present integration with one former: first those that are the same, then, in order, those of the same
  // kind.
  const same = identities.map((identity) => take((one) => one === identity));
  const places = same.map((at, index) => at ?? take((one) => kindOf(one) === kindOf(identities[index]!)));
  const at = places[positionsOf(identities.map(kindOf)).indexOf(position)];
  return at === undefined ? undefined : integrations[at];
}

function kindOf(identity: string): string {
  return identity.slice(0, identity.indexOf(':'));
}

/** Its kind, and its number among its receiver's of that kind: `webhook 2`. */
export function numberedKind(integrations: readonly Integration[], one: Integration): string {
  return `${one.kind} ${integrations.filter(({ kind }) => kind === one.kind).indexOf(one) + 1}`;
}

/** The same, and whom it reaches: `webhook 2 (hook.example.com)`. */
export function numberedName(integrations: readonly Integration[], one: Integration): string {
  return `${numberedKind(integrations, one)} (${channelOf(one).destination(one)})`;
}

/** The name of one of a receiver's `integrations`: its kind alone if the receiver has no other of that kind. */
export function integrationName(integrations: readonly Integration[], one: Integration): string {
  return sameKind(integrations, one.kind) > 1 ? numberedName(integrations, one) : one.kind;
}

/** How many integrations are of this kind. */
export function sameKind(integrations: readonly Integration[], kind: string): number {
  return integrations.filter((one) => one.kind === kind).length;
}

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

export interface PageAddress {
  readonly externalUrl: string;
  /** True if no external URL is configured. */
  readonly hasDefaultUrl?: boolean | undefined;
}

/** What links in a message begin with; empty if its readers may not be able to reach the page. */
export function linksFrom(integration: Integration, { externalUrl, hasDefaultUrl }: PageAddress): string {
  return hasDefaultUrl && traitsOf(integration).audience !== 'programs' ? '' : externalUrl;
}
