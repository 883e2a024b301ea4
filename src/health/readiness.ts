/** Judges whether the store accepts writes, and with that whether the daemon is ready. */
import { codeOf, isStoreFailure } from '../errors.ts';
import type { RegionSnapshot } from '../region-progress.ts';
import type { Happening } from '../report.ts';
import type { Clock } from '../time/clock.ts';

export interface StoreRefusal {
  /** `away`: the store's server does not answer, or another program has locked its file. */
  readonly why: 'full' | 'away' | 'fails';
  readonly message: string;
  readonly sinceUs: number;
}

interface Watch {
  regions(): readonly Pick<RegionSnapshot, 'region' | 'started' | 'health'>[];
  /** Why the store accepts nothing; undefined while it works. */
  storeRefusal(): StoreRefusal | undefined;
}

export interface Readiness {
  readonly healthy: true;
  readonly working: boolean;
  readonly ready: boolean;
  /** Why it is not ready, one sentence each. */
  readonly reasons: readonly string[];
}

const REFUSALS = {
  full: 'The store has no space left to grow: nothing new can be kept or sent.',
  away: 'The store does not answer or refuses access: nothing new can be kept or sent.',
  fails: 'The store fails: nothing new can be kept or sent.',
} as const;

/**
 * Judges whether the daemon is ready: once every region was read or is known to be in trouble, since one region's
 * trouble is an alert. From then on it stays ready as long as the store answers. A region that is added later, or moves
 * here from another replica, takes no page away from people.
 */
export function createReadiness({ regions, storeRefusal }: Watch): () => Readiness {
  let hasBegun = false;
  return () => {
    const refusal = storeRefusal();
    const waiting = regions().filter(({ started, health }) => !started && health.health === 'up');
    hasBegun ||= waiting.length === 0;
    const unread = hasBegun ? [] : waiting.map(({ region }) => `Region ${region} has not been read yet.`);
    const reasons = refusal ? [REFUSALS[refusal.why], ...unread] : unread;
    return { healthy: true, working: !refusal, ready: reasons.length === 0, reasons };
  };
}

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
