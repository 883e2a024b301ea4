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

const WHY: ReadonlyMap<string, StoreRefusal['why']> = new Map([
  ['disk_full', 'full'],
  ['store_down', 'away'],
]);

export interface StoreRoom {
  /** Hears what the stages report. */
  hear(happening: Happening): void;
  /** It answered: then its server is not away. */
  answered(): void;
  /**
   * Why the store takes nothing: from a refused write on until one is accepted, or none was refused for a minute while
   * there is room, or for ten minutes; where its server was away, until it answers.
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
          why: WHY.get(codeOf(happening.error)) ?? 'fails',
          message: String((happening.error as Error).message),
          sinceUs: refused?.sinceUs ?? clock.nowUs(),
          lastMs: clock.monotonicMs(),
        };
      } else if (WRITTEN.has(happening.what)) refused = undefined;
    },
    answered() {
      if (refused?.why === 'away') refused = undefined;
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
