/**
 * Keys that are made of names from outside, short enough for every store: PostgreSQL takes no row of an index beyond 2,704
 * bytes, and in some indexes a receiver and an integration stand beside the key.
 */
import { hash } from 'node:crypto';

const MAX_BYTES = 2_000;
/** Any character takes at most three bytes, two halves of a pair four. */
const KEPT_OF_LONG = 600;

/** The key itself, or its beginning before a digest of all of it. */
export function boundedKey(key: string): string {
  if (key.length <= KEPT_OF_LONG || Buffer.byteLength(key) <= MAX_BYTES) return key;
  return `${key.slice(0, KEPT_OF_LONG).toWellFormed()}… ${hash('sha256', JSON.stringify(key))}`;
}
