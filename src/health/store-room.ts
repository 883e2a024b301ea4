import { codeOf, isStoreFailure } from '../errors.ts';
import type { Happening } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import type { StoreRefusal } from './snapshot.ts';

/** Each region writes at least so often: where nobody is refused for longer and there is room again, it works. */
const QUIET_MS = 60_000;

/** Where the room cannot be seen, as with a quota, this is waited for. */
const BLIND_QUIET_MS = 600_000;

/** What is reported only after its transaction was written. */
const WRITTEN: ReadonlySet<Happening['what']> = new Set(['event', 'alert', 'notified']);

export interface StoreRoom {
  /** Hears what the stages report. */
  hear(happening: Happening): void;
  /**
   * Why the store takes nothing: from a refused write on until one is accepted, or none was refused for a minute while
   * there is room, or for ten minutes.
   */
  refusal(hasRoom: boolean): StoreRefusal | undefined;
}

/** Whether the store takes what is written: without it the watch stands still, although the process lives. */
export function createStoreRoom(clock: Clock): StoreRoom {
  let refused: (StoreRefusal & { readonly lastMs: number }) | undefined;

  return {
    hear(happening) {
      if ('error' in happening && isStoreFailure(happening.error)) {
        refused = {
          isFull: codeOf(happening.error) === 'disk_full',
          message: String((happening.error as Error).message),
          sinceUs: refused?.sinceUs ?? clock.nowUs(),
          lastMs: clock.monotonicMs(),
        };
      } else if (WRITTEN.has(happening.what)) refused = undefined;
    },
    refusal(hasRoom) {
      if (!refused) return undefined;
      const { lastMs, ...refusal } = refused;
      const quietMs = clock.monotonicMs() - lastMs;
      if (quietMs >= (hasRoom ? QUIET_MS : BLIND_QUIET_MS)) refused = undefined;
      return refused && refusal;
    },
  };
}
