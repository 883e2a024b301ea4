import { createHash } from 'node:crypto';
import { isSameSecret } from '../secret.ts';
import type { Config } from './config.ts';
import { effectiveOf } from './effective.ts';

/**
 * Whether two parts of configurations are equal. Secrets are equal if they come from the same text or file. What
 * cannot be compared, such as compiled templates, counts as different, so whatever depends on it is restarted.
 */
export function isSameSetting(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (isSameSecret(a, b)) return true;
  if (!isPlain(a) || !isPlain(b)) return false;
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  return (
    left.size === right.size &&
    [...left].every(([key, value]) => right.has(key) && isSameSetting(value, right.get(key)))
  );
}

function isPlain(value: object): boolean {
  const made = Object.getPrototypeOf(value);
  return made === Object.prototype || made === Array.prototype;
}

/** Sections that may differ between hosts: where the daemon listens, and how it reaches the store. */
const OF_HOST: ReadonlySet<string> = new Set(['web', 'store']);

/**
 * A digest of the configuration's file with all defaults, and of the Birds that it declares, but without secrets and the
 * sections `OF_HOST`; empty for a configuration that did not come from a file. Versions that know different keys
 * may have different digests of one file.
 */
export function configDigest(config: Pick<Config, 'rules'>): string {
  const effective = effectiveOf(config);
  if (typeof effective !== 'object' || effective === null) return '';
  const entries = Object.entries(effective).filter(([section]) => !OF_HOST.has(section));
  // The file has only the names of the files of declared Birds.
  const declared = config.rules.flatMap((rule) => ('declared' in rule ? [rule.declared] : []));
  return createHash('sha256')
    .update(JSON.stringify([entries, declared]))
    .digest('hex')
    .slice(0, 16);
}

/** Equal for two configurations with the same routes; undefined for one that did not come from a file. */
export function routesAsText(config: object): string | undefined {
  const effective = effectiveOf(config);
  if (typeof effective !== 'object' || effective === null || !('route' in effective)) return undefined;
  return JSON.stringify(effective.route);
}
