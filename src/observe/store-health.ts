import { codeOf } from '../errors.ts';
import type { Happening } from '../report.ts';
import type { Clock } from '../time/clock.ts';

/** Whoever is refused tries again sooner than this, so that a silence of it means that nobody is any more. */
const REFUSAL_MS = 600_000;

/** What is reported only after its transaction was written. */
const WRITTEN: ReadonlySet<Happening['what']> = new Set(['event', 'alert', 'notified']);

interface StoreRoom {
  /** Hears what the stages report. */
  hear(happening: Happening): void;
  /** False from a refused write on, until one is accepted, or none was refused for ten minutes. */
  isThere(): boolean;
}

/** Whether the store has room to write: without it the watch stands still, although the process lives. */
export function createStoreRoom(clock: Clock): StoreRoom {
  let refusedMs: number | undefined;

  return {
    hear(happening) {
      if ('error' in happening && codeOf(happening.error) === 'disk_full') refusedMs = clock.monotonicMs();
      else if (WRITTEN.has(happening.what)) refusedMs = undefined;
    },
    isThere: () => refusedMs === undefined || clock.monotonicMs() - refusedMs >= REFUSAL_MS,
  };
}
