import type { Labels } from './alert.ts';

/** Stands behind every part, so that `ab` + `c` and `a` + `bc` differ; no UTF-8 text contains it. */
const SEPARATOR = 255;

const encoder = new TextEncoder();

/**
 * Alertmanager's fingerprint of a set of labels (`LabelSet.Fingerprint` of prometheus/common): FNV-1a, 64 bits,
 * over the names in order, each with its value; 16 hexadecimal digits.
 */
export function fingerprint(labels: Labels): string {
  return hash64(
    Object.entries(labels)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flat(),
  );
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
      // Times the prime 2^40 + 0x1b3, which doubles hold exactly half by half.
      const product = (low >>> 0) * 0x1b3;
      high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) | 0;
      low = product | 0;
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
