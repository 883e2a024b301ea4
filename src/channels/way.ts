/**
 * By what an integration is known again when the configuration has changed: its kind, and whom it reaches. All else of
 * it may change, and so may its position among the others.
 */
import { createHash } from 'node:crypto';
import { digestOfSecret, isSecret } from '../secret.ts';
import type { Integration } from './receiver.ts';

/** What says whom an integration reaches, whatever its channel. */
const PLACE: ReadonlySet<string> = new Set([
  ...['to', 'toNestMembers', 'url', 'format', 'app', 'channel', 'routingKey', 'apiKey', 'keys', 'entry'],
]);

const known = new WeakMap<readonly Integration[], readonly string[]>();

/** By position. Nobody can tell from them what an address or a key is. */
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
 * The integration that something was queued for at `position`, when its receiver had these ways: wherever it stands now.
 * One whose address was changed is taken for the one that is new; undefined for one that was taken out.
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
  // Each stands for one alone: those that are the same first, then those that are new, in their order.
  const same = ways.map((way) => take((one) => one === way));
  const places = same.map((at, index) => at ?? take((one) => kindOf(one) === kindOf(ways[index]!)));
  const at = places[position];
  return at === undefined ? undefined : integrations[at];
}

function kindOf(way: string): string {
  return way.slice(0, way.indexOf(':'));
}
