/**
 * Schedules actions for instants. Nothing runs by itself: `runUntil` runs what is due, in order of instant, and in
 * order of entry within one instant. While an action runs, `presentUs` is that action's own instant. So a world that
 * nobody queried for an hour catches up as if it had been watched all along.
 */
export interface Agenda {
  at(instantUs: number, action: () => void): void;
  /** Runs everything due at `nowUs`. Does nothing when called while it is running. */
  runUntil(nowUs: number): void;
  /** The instant of the running action; undefined between actions. */
  presentUs(): number | undefined;
  /** The instant of the earliest waiting action. */
  nextUs(): number | undefined;
}

interface Item {
  readonly atUs: number;
  readonly order: number;
  readonly action: () => void;
}

export function createAgenda(): Agenda {
  // A binary heap: the earliest item comes first.
  const heap: Item[] = [];
  let order = 0;
  let presentUs: number | undefined;

  return {
    at(instantUs, action) {
      const item = { atUs: instantUs, order: order++, action };
      let child = heap.push(item) - 1;
      while (child > 0) {
        const parent = (child - 1) >> 1;
        if (!isBefore(item, heap[parent]!)) break;
        heap[child] = heap[parent]!;
        child = parent;
      }
      heap[child] = item;
    },
    runUntil(nowUs) {
      if (presentUs !== undefined) return;
      try {
        while (heap.length > 0 && heap[0]!.atUs <= nowUs) {
          const { atUs, action } = takeFirst(heap);
          presentUs = atUs;
          action();
        }
      } finally {
        presentUs = undefined;
      }
    },
    presentUs: () => presentUs,
    nextUs: () => heap[0]?.atUs,
  };
}

function isBefore(a: Item, b: Item): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order);
}

function takeFirst(heap: Item[]): Item {
  const first = heap[0]!;
  const last = heap.pop()!;
  if (heap.length === 0) return first;
  let parent = 0;
  for (;;) {
    let child = 2 * parent + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
    if (!isBefore(heap[child]!, last)) break;
    heap[parent] = heap[child]!;
    parent = child;
  }
  heap[parent] = last;
  return first;
}
