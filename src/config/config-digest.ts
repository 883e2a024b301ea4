import { createHash } from 'node:crypto';
import { effectiveOf } from './effective.ts';

/** Sections that may differ between hosts: where the daemon listens, and how it reaches the store. */
const OF_HOST: ReadonlySet<string> = new Set(['web', 'store']);

/**
 * Equal for two configurations that watch, decide and send alike, as far as that shows without their secrets; empty
 * for a configuration that did not come from a file. Versions know different keys, so their digests differ.
 */
export function configDigest(config: object): string {
  const effective = effectiveOf(config);
  if (typeof effective !== 'object' || effective === null) return '';
  const entries = Object.entries(effective).filter(([section]) => !OF_HOST.has(section));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 16);
}
