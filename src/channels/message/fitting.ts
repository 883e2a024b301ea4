/** The limits of a mail, which keep it readable, and far below the size that mail programs cut. */
export const MAX_PART_BYTES = 30_000;
export const MAX_CLUSTERS = 20;
export const MAX_EVENTS = 12;

export interface Fitting<T> {
  /** The first items, as written. */
  readonly kept: readonly string[];
  /** Their bytes, each with a line end. */
  readonly bytes: number;
  /** The items that found no room. */
  readonly rest: readonly T[];
}

/** Writes as many of the first items as fit into `maxBytes` of UTF-8 and `maxItems`. */
export function fitting<T>(
  items: readonly T[],
  write: (item: T) => string,
  maxBytes: number,
  maxItems: number,
): Fitting<T> {
  const kept: string[] = [];
  let bytes = 0;
  for (const item of items.slice(0, maxItems)) {
    const text = write(item);
    const size = Buffer.byteLength(text) + 1;
    if (bytes + size > maxBytes) break;
    kept.push(text);
    bytes += size;
  }
  return { kept, bytes, rest: items.slice(kept.length) };
}
