import type { Clock } from '../time/clock.ts';

const INTERVAL_MS = 60_000;

/** Kinds of lines remembered; far more than regions, codes and receivers make in practice. */
const MAX_KINDS = 1_000;

/**
 * Lets one line of a kind through in a minute. Answers how many of that kind were held back since the last one that
 * passed, or undefined when this one is to be held back.
 */
export function createFloodGate(clock: Clock): (kind: string) => number | undefined {
  const passed = new Map<string, { atMs: number; held: number }>();
  return (kind) => {
    const nowMs = clock.monotonicMs();
    const last = passed.get(kind);
    if (last && nowMs - last.atMs < INTERVAL_MS) {
      last.held += 1;
      return undefined;
    }
    // The kind that was let through longest ago makes room; its count is lost with it.
    passed.delete(kind);
    if (passed.size >= MAX_KINDS) passed.delete(passed.keys().next().value!);
    passed.set(kind, { atMs: nowMs, held: 0 });
    return last?.held ?? 0;
  };
}
