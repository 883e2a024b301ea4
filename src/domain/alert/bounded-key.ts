/**
 * Shortens keys made of outside names so that every store can index them: PostgreSQL refuses index rows beyond 2,704
 * bytes, and some indexes hold a receiver and an integration beside the key.
 */
import { hash } from 'node:crypto';

const MAX_BYTES = 2_000;
/** A UTF-16 unit takes at most three bytes, a surrogate pair four. */
const KEPT_OF_LONG = 600;

/** The key itself, or its beginning and a digest of the whole. */
export function boundedKey(key: string): string {
  if (key.length <= KEPT_OF_LONG || Buffer.byteLength(key) <= MAX_BYTES) return key;
  return `${key.slice(0, KEPT_OF_LONG).toWellFormed()}… ${hash('sha256', JSON.stringify(key))}`;
}
