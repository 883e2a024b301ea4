import { codeOf, isStoreFailure } from '../errors.ts';
import type { Happening } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import type { StoreRefusal } from './snapshot.ts';

/**
 * Each region writes at least this often. If no write was refused for longer and there is free space, the store
 * works.
 */
const QUIET_MS = 60_000;

/** The same if the free space cannot be measured, for example under a quota. */
const BLIND_QUIET_MS = 600_000;

/** These are reported only after their transaction was committed. */
const WRITTEN: ReadonlySet<Happening['what']> = new Set(['events', 'alert', 'notified']);

const WHY: ReadonlyMap<string, StoreRefusal['why']> = new Map([
  ['disk_full', 'full'],
  ['store_down', 'away'],
]);

interface StoreRoom {
  /** Receives the reports of the stages. */
  hear(happening: Happening): void;
  /** Call this when the store answered, which means that its server is reachable. */
  answered(): void;
  /**
   * Why the store accepts nothing. This lasts from a refused write until one is accepted, or until none was refused
   * for a minute while there is free space, or for ten minutes without. If the server was away, it also ends when the
   * server answers.
   */
  refusal(hasRoom: boolean): StoreRefusal | undefined;
}

/** What a failure of the store says about it. */
export function refusalOf(error: unknown): Pick<StoreRefusal, 'why' | 'message'> {
  return { why: WHY.get(codeOf(error)) ?? 'fails', message: String((error as Error).message) };
}

/** Tracks whether the store accepts writes. Without that the watch stands still, although the process lives. */
export function createStoreRoom(clock: Clock): StoreRoom {
  let refused: (StoreRefusal & { readonly lastMs: number }) | undefined;

  return {
    hear(happening) {
      if ('error' in happening && isStoreFailure(happening.error)) {
        refused = {
          ...refusalOf(happening.error),
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
