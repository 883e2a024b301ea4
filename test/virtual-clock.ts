import type { Clock } from '../src/time/clock.ts';

/** A clock that stands still until a test moves it; timers run in the order of their instants. */
export interface VirtualClock extends Clock {
  /** Moves time forward, running every timer that becomes due, and lets promises settle between them. */
  advance(ms: number): Promise<void>;
  /** Runs timers until `done()` is true; throws if `limitMs` of virtual time pass before that. */
  advanceUntil(done: () => boolean, limitMs?: number): Promise<void>;
  /** Steps only the wall clock, as NTP or a person would; timers and durations are unaffected. */
  stepWall(ms: number): void;
  /** Lets time pass in which nothing runs, as for a suspended process; timers that became due fire afterwards. */
  stall(ms: number): void;
  /** The number of pending timers. */
  pending(): number;
}

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly wake: () => void;
  cancelled: boolean;
}

/** 2026-07-02T12:00:00Z: an instant in the range of the specification's examples. */
export const TEST_START_US = Date.UTC(2026, 6, 2, 12) * 1000;

/** `settle` lets everything run that is ready; time stands still until it resolves. */
export function createVirtualClock(startUs: number = TEST_START_US, settle = turn): VirtualClock {
  let nowMs = 0;
  let wallOffsetMs = 0;
  let order = 0;
  let waiting = 0;
  const heap: Timer[] = [];

  const before = (a: Timer, b: Timer) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

  function push(timer: Timer): void {
    let child = heap.push(timer) - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!before(heap[child]!, heap[parent]!)) break;
      [heap[child], heap[parent]] = [heap[parent]!, heap[child]!];
      child = parent;
    }
  }

  function pop(): Timer {
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length > 0) {
      heap[0] = last;
      let parent = 0;
      for (;;) {
        let least = parent;
        for (const child of [2 * parent + 1, 2 * parent + 2]) {
          if (child < heap.length && before(heap[child]!, heap[least]!)) least = child;
        }
        if (least === parent) break;
        [heap[parent], heap[least]] = [heap[least]!, heap[parent]!];
        parent = least;
      }
    }
    return first;
  }

  async function runUntil(endMs: number, done: () => boolean): Promise<boolean> {
    await settle();
    while (!done()) {
      while (heap.length > 0 && heap[0]!.cancelled) pop();
      const next = heap[0];
      if (!next || next.atMs > endMs) {
        nowMs = Math.max(nowMs, endMs);
        return false;
      }
      pop();
      nowMs = Math.max(nowMs, next.atMs);
      waiting -= 1;
      next.cancelled = true;
      next.wake();
      await settle();
    }
    return true;
  }

  return {
    nowUs: () => startUs + Math.round((nowMs + wallOffsetMs) * 1000),
    monotonicMs: () => nowMs,
    setTimer(ms, wake) {
      const timer: Timer = { atMs: nowMs + Math.max(0, ms), order: order++, wake, cancelled: false };
      push(timer);
      waiting += 1;
      return () => {
        if (!timer.cancelled) waiting -= 1;
        timer.cancelled = true;
      };
    },
    async advance(ms) {
      await runUntil(nowMs + ms, () => false);
    },
    async advanceUntil(done, limitMs = 3_600_000) {
      if (!(await runUntil(nowMs + limitMs, done))) {
        throw new Error(`not done after ${limitMs} ms of virtual time`);
      }
    },
    stall(ms) {
      nowMs += ms;
    },
    stepWall(ms) {
      wallOffsetMs += ms;
    },
    pending: () => waiting,
  };
}

/** Runs promise jobs, and by one macrotask also those that they queue. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
