/**
 * Recognizes an integration after the configuration has changed: by its kind and by whom it reaches, written as one
 * text, its *way*. Everything else about it may change, including its position.
 */
import { createHash } from 'node:crypto';
import { digestOfSecret, isSecret } from '../secret.ts';
import type { Integration } from './receiver.ts';

/** The fields that say whom an integration reaches, in any channel. */
const PLACE: ReadonlySet<string> = new Set([
  ...['to', 'toNestMembers', 'url', 'format', 'app', 'channel', 'routingKey', 'apiKey', 'keys', 'entry'],
]);

const known = new WeakMap<readonly Integration[], readonly string[]>();

/** The way of each integration, by position. Addresses and keys cannot be recovered from it. */
export function waysOf(integrations: readonly Integration[]): readonly string[] {
  const ways = known.get(integrations) ?? integrations.map(wayOf);
  known.set(integrations, ways);
  return ways;
}

function wayOf(integration: Integration): string {
  const place = Object.entries(integration).filter(([name]) => PLACE.has(name));
  const text = JSON.stringify(withoutSecrets(place));
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
 * `ways`. An integration whose address has changed is taken to be a new one of the same kind. Undefined if it was
 * removed.
 */
export function integrationAt(
  integrations: readonly Integration[],
  position: number,
  ways: readonly string[],
): Integration | undefined {
  const present = waysOf(integrations);
  if (ways.length === present.length && ways.every((way, at) => way === present[at])) {
    return integrations[position];
  }
  const free = new Set(present.keys());
  const take = (fits: (way: string) => boolean) => {
    const at = [...free].find((one) => fits(present[one]!));
    if (at !== undefined) free.delete(at);
    return at;
  };
  // Matches each present integration with one former: first those that are the same, then, in order, those of the same
  // kind.
  const same = ways.map((way) => take((one) => one === way));
  const places = same.map((at, index) => at ?? take((one) => kindOf(one) === kindOf(ways[index]!)));
  const at = places[position];
  return at === undefined ? undefined : integrations[at];
}

function kindOf(way: string): string {
  return way.slice(0, way.indexOf(':'));
}
