import type { Labels } from './alert.ts';

/** Stands behind every part, so that `ab` + `c` and `a` + `bc` differ; no UTF-8 text contains it. */
const SEPARATOR = 255;

const encoder = new TextEncoder();

/**
 * Alertmanager's fingerprint of a set of labels (`LabelSet.Fingerprint` of prometheus/common): FNV-1a, 64 bits,
 * over the names in order, each with its value; 16 hexadecimal digits.
 */
export function fingerprint(labels: Labels): string {
  const parts: string[] = [];
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, value] of sorted) parts.push(name, value);
  return hash64(parts);
}

/** FNV-1a of the parts in their order: a short, stable name for what is too long to stand in a key. */
export function hash64(parts: readonly string[]): string {
  // The 64 bits in two halves, each in a local variable: one that a closure shares is an object of its own at each step.
  let high = 0xcbf29ce4 | 0;
  let low = 0x84222325 | 0;
  for (const part of parts) {
    const bytes = isAscii(part) ? undefined : encoder.encode(part);
    const length = bytes?.length ?? part.length;
    for (let index = 0; index <= length; index += 1) {
      low ^= index === length ? SEPARATOR : (bytes?.[index] ?? part.charCodeAt(index));
      // Times the prime 2^40 + 0x1b3, by quarters, so that all of it stays in integers of 32 bits.
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

/** Most labels are: their bytes are their code units, and need no encoder, which costs more than the hash itself. */
function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 127) return false;
  return true;
}
