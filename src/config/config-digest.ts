import { createHash } from 'node:crypto';
import { effectiveOf } from './effective.ts';

/** What may differ from host to host: where one listens, and how it reaches the store. */
const OF_HOST: ReadonlySet<string> = new Set(['web', 'store']);

/**
 * The same for two configurations that watch, decide and send alike, as far as that can be seen without their secrets;
 * empty for one that came from no file. Versions differ in what they know of, and so in their digests.
 */
export function configDigest(config: object): string {
  const effective = effectiveOf(config);
  if (typeof effective !== 'object' || effective === null) return '';
  const entries = Object.entries(effective).filter(([section]) => !OF_HOST.has(section));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 16);
}
