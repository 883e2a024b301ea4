/**
 * Items in the order of an instant each. Most are added near the end and all are taken from the front, so both cost
 * next to nothing. Nothing is removed from the middle: an item that moved on leaves an entry behind, which
 * `isCurrent` recognises and which is dropped when it comes to the front.
 */
export interface InstantQueue<T> {
  add(item: T, atMs: number): void;
  /** The current entry with the earliest instant; it stays in the queue until it is current no more. */
  first(): QueueEntry<T> | undefined;
}

export interface QueueEntry<T> {
  readonly item: T;
  readonly atMs: number;
}

/** Dropped entries at the front are cut off when they are at least this many, and half of all. */
const CUT_FROM = 256;

export function createInstantQueue<T>(isCurrent: (entry: QueueEntry<T>) => boolean): InstantQueue<T> {
  const entries: QueueEntry<T>[] = [];
  let head = 0;

  /** Behind everything of the same instant or earlier. */
  function placeOf(atMs: number): number {
    let low = head;
    let high = entries.length;
    if (high === low || entries[high - 1]!.atMs <= atMs) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (entries[middle]!.atMs <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    add(item, atMs) {
      const entry = { item, atMs };
      const place = placeOf(atMs);
      if (place === entries.length) entries.push(entry);
      else entries.splice(place, 0, entry);
    },
    first() {
      while (head < entries.length && !isCurrent(entries[head]!)) head += 1;
      if (head >= CUT_FROM && head * 2 >= entries.length) {
        entries.splice(0, head);
        head = 0;
      }
      return entries[head];
    },
  };
}
