/**
 * A queue of items ordered by an instant each. Most items are added near the end and all are taken from the front, so
 * both are cheap. Nothing is removed from the middle: an item that was planned anew leaves its old entry behind,
 * which `isCurrent` recognises. Old entries are dropped when they reach the front, or when they may be half of all
 * entries.
 */
export interface InstantQueue<T> {
  add(item: T, atMs: number): void;
  /** The current entry with the earliest instant. It stays in the queue while it is current. */
  first(): QueueEntry<T> | undefined;
}

export interface QueueEntry<T> {
  readonly item: T;
  readonly atMs: number;
}

/** Fewer entries are not worth tidying. */
const TIDY_FROM = 64;

export function createInstantQueue<T>(isCurrent: (item: T, atMs: number) => boolean): InstantQueue<T> {
  // Two arrays, since an array of numbers takes a fraction of the memory of one object for each entry.
  let items: T[] = [];
  let instantsMs: number[] = [];
  let head = 0;
  let tidyFrom = TIDY_FROM;

  /** Drops old entries, which would otherwise fill the memory. */
  function tidy(): void {
    let kept = 0;
    for (let at = head; at < items.length; at += 1) {
      if (!isCurrent(items[at]!, instantsMs[at]!)) continue;
      items[kept] = items[at]!;
      instantsMs[kept] = instantsMs[at]!;
      kept += 1;
    }
    items.length = kept;
    instantsMs.length = kept;
    head = 0;
    tidyFrom = Math.max(TIDY_FROM, 2 * kept);
  }

  /** Drops the passed entries at the front once they are half of all, also if nothing is added any more. */
  function dropFront(): void {
    if (head < TIDY_FROM || 2 * head < items.length) return;
    items = items.slice(head);
    instantsMs = instantsMs.slice(head);
    head = 0;
  }

  /** The position of a new entry: after all entries of the same or an earlier instant. */
  function placeOf(atMs: number): number {
    let low = head;
    let high = instantsMs.length;
    if (high === low || instantsMs[high - 1]! <= atMs) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (instantsMs[middle]! <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    add(item, atMs) {
      if (items.length >= tidyFrom) tidy();
      const place = placeOf(atMs);
      if (place === items.length) {
        items.push(item);
        instantsMs.push(atMs);
        return;
      }
      items.splice(place, 0, item);
      instantsMs.splice(place, 0, atMs);
    },
    first() {
      while (head < items.length && !isCurrent(items[head]!, instantsMs[head]!)) head += 1;
      dropFront();
      return head < items.length ? { item: items[head]!, atMs: instantsMs[head]! } : undefined;
    },
  };
}
