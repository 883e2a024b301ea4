import { hash } from 'node:crypto';
import type { Labels } from './alert.ts';

/** Terminates every part, so that `ab` + `c` and `a` + `bc` differ; this byte never occurs in UTF-8. */
const SEPARATOR = 255;

const encoder = new TextEncoder();

/**
 * Alertmanager's fingerprint of a set of labels (`LabelSet.Fingerprint` of prometheus/common): FNV-1a, 64 bits, over
 * the names in order, each with its value, as 16 hexadecimal digits.
 */
export function fingerprint(labels: Labels): string {
  const parts: string[] = [];
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, value] of sorted) parts.push(name, value);
  return hash64(parts);
}

/** FNV-1a of the parts in order: a short, stable name for what is too long for a key. */
export function hash64(parts: readonly string[]): string {
  // The 64 bits are in two halves, in local variables: shared with a closure, each step would allocate an object.
  let high = 0xcbf29ce4 | 0;
  let low = 0x84222325 | 0;
  for (const part of parts) {
    const bytes = isAscii(part) ? undefined : encoder.encode(part);
    const length = bytes?.length ?? part.length;
    for (let index = 0; index <= length; index += 1) {
      low ^= index === length ? SEPARATOR : (bytes?.[index] ?? part.charCodeAt(index));
      // Multiplies by the prime 2^40 + 0x1b3 in quarters, so that everything fits 32-bit integers.
      const first = (low & 0xffff) * 0x1b3;
      const second = (low >>> 16) * 0x1b3 + (first >>> 16);
      high = (Math.imul(high, 0x1b3) + (second >>> 16) + (low << 8)) | 0;
      low = (second << 16) | (first & 0xffff);
    }
  }
  return hex(high) + hex(low);
}

function hex(half: number): string {
  return (half >>> 0).toString(16).padStart(8, '0');
}

/** Most labels are ASCII: their bytes are their code units. An encoder would cost more than the hash itself. */
function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 127) return false;
  return true;
}

// Shortens keys made of outside names so that every store can index them: PostgreSQL refuses index rows beyond 2,704
// bytes, and some indexes hold a receiver and an integration beside the key.

const MAX_BYTES = 2_000;
/** A UTF-16 unit takes at most three bytes, a surrogate pair four. */
const KEPT_OF_LONG = 600;

/** The key itself, or its beginning and a digest of the whole. */
export function boundedKey(key: string): string {
  if (key.length <= KEPT_OF_LONG || Buffer.byteLength(key) <= MAX_BYTES) return key;
  return `${key.slice(0, KEPT_OF_LONG).toWellFormed()}… ${hash('sha256', JSON.stringify(key))}`;
}
