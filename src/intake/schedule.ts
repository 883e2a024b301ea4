/**
 * Which stream to poll next. A stream is due an interval after its last poll began; among those that are due the
 * one that waits longest comes first, so that where the allowed rate is too low for the aim every stream is slowed
 * down alike and none starves. A hint brings a stream forward, but never closer to its last poll than the minimum.
 */
export interface Stream {
  readonly name: string;
  /** The aim between two polls. */
  readonly intervalMs: number;
}

export interface Schedule {
  add(stream: Stream): void;
  remove(name: string): void;
  has(name: string): boolean;
  /** Takes the stream that is most overdue, or tells how long nothing is due (Infinity: nothing is known). */
  take(nowMs: number): { readonly name: string } | { readonly waitMs: number };
  /** Gives a taken stream back after its poll; `delayMs` replaces its interval. */
  done(name: string, nowMs: number, delayMs?: number): void;
  /** Something is expected there: poll it as soon as the minimum interval allows. */
  hint(name: string, nowMs: number): void;
  readonly size: number;
}

interface Slot {
  readonly name: string;
  intervalMs: number;
  dueMs: number;
  lastMs: number;
  taken: boolean;
  hinted: boolean;
}

export function createSchedule(minIntervalMs: number): Schedule {
  const slots = new Map<string, Slot>();
  return {
    get size() {
      return slots.size;
    },
    has: (name) => slots.has(name),
    add(stream) {
      const slot = slots.get(stream.name);
      if (slot) slot.intervalMs = stream.intervalMs;
      else {
        const { name, intervalMs } = stream;
        const [dueMs, lastMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
        slots.set(name, { name, intervalMs, dueMs, lastMs, taken: false, hinted: false });
      }
    },
    remove(name) {
      slots.delete(name);
    },
    take(nowMs) {
      let first: Slot | undefined;
      for (const slot of slots.values()) {
        if (!slot.taken && (!first || slot.dueMs < first.dueMs)) first = slot;
      }
      if (!first) return { waitMs: Number.POSITIVE_INFINITY };
      if (first.dueMs > nowMs) return { waitMs: first.dueMs - nowMs };
      first.taken = true;
      first.hinted = false;
      first.lastMs = nowMs;
      return { name: first.name };
    },
    done(name, nowMs, delayMs) {
      const slot = slots.get(name);
      if (!slot) return;
      slot.taken = false;
      const aimMs = delayMs === undefined ? slot.lastMs + slot.intervalMs : nowMs + delayMs;
      slot.dueMs = slot.hinted ? Math.min(aimMs, slot.lastMs + minIntervalMs) : aimMs;
    },
    hint(name, nowMs) {
      const slot = slots.get(name);
      if (!slot) return;
      if (slot.taken) slot.hinted = true;
      else slot.dueMs = Math.min(slot.dueMs, Math.max(nowMs, slot.lastMs + minIntervalMs));
    },
  };
}
