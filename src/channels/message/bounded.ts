/** Keeps texts and lists inside the limits of the services that take them. */

/**
 * The text with every code point encoded by `write`, cut to at most `maxUnits` UTF-16 units. The cut splits no escape
 * and no surrogate pair, and is marked by `…`.
 */
export function escapedWithin(text: string, maxUnits: number, write: (codePoint: string) => string): string {
  let written = '';
  /** What still leaves room for the `…`. */
  let safe = '';
  for (const point of text) {
    const next = written + write(point);
    if (next.length > maxUnits) return `${safe}…`;
    written = next;
    if (written.length < maxUnits) safe = written;
  }
  return written;
}

export function within(text: string, maxUnits: number): string {
  return text.length <= maxUnits ? text : escapedWithin(text, maxUnits, (point) => point);
}

/**
 * As many of the first items as fit into `maxItems` and `maxBytes` of JSON. If some are left out, `rest` makes the last
 * item, which says how many; there is always room for that.
 */
export function listWithin<T>(
  items: readonly T[],
  maxItems: number,
  maxBytes: number,
  rest: (count: number) => T,
): T[] {
  const sizeOf = (item: T) => Buffer.byteLength(JSON.stringify(item)) + 1;
  const all = items.map(sizeOf).reduce((sum, size) => sum + size, 0);
  if (items.length <= maxItems && all <= maxBytes) return [...items];
  let bytes = sizeOf(rest(items.length));
  const kept: T[] = [];
  for (const item of items.slice(0, maxItems - 1)) {
    const size = sizeOf(item);
    if (bytes + size > maxBytes) break;
    kept.push(item);
    bytes += size;
  }
  return [...kept, rest(items.length - kept.length)];
}

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
