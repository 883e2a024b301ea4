/**
 * Measures how long a duty is not done by anybody who can. This counts as time without a daemon. If another replica
 * could have taken over, it must not last.
 */
import type { Store } from '../../../src/store/store.ts';
import type { VirtualClock } from '../../virtual-clock.ts';
import type { Interval } from '../run.ts';

interface TakeoverOptions {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly duties: readonly string[];
  /** Whether the replica of this number can do what it owns. */
  readonly isWell: (replica: number) => boolean;
  /** How many replicas cannot do their work. */
  readonly ailing: () => number;
  readonly complain: (what: string) => void;
}

const LOOK_MS = 500;
/** A lease, the turn in which its end is noticed, and a step behind other work; for each replica in trouble at once. */
const TAKEN_OVER_MS = 20_000;

interface Missed {
  readonly sinceMs: number;
  /** The greatest number of replicas in trouble meanwhile. */
  ailing: number;
  hasComplained: boolean;
}

export function createTakeovers(options: TakeoverOptions) {
  const { store, clock, duties, isWell, ailing, complain } = options;
  const down: Interval[] = [];
  const takenMs: number[] = [];
  const missed = new Map<string, Missed>();
  let isOver = false;

  async function look(): Promise<void> {
    const { replicas, duties: known } = await store.transaction((tx) => tx.ownership.view());
    const nowMs = clock.monotonicMs();
    const canAnybody = replicas.some(({ replica }) => isWell(replica));
    let isDown = false;
    for (const duty of duties) {
      const owner = known.find((one) => one.duty === duty)?.owner ?? 0;
      const before = missed.get(duty);
      if (owner !== 0 && isWell(owner)) {
        if (before) takenMs.push(nowMs - before.sinceMs);
        missed.delete(duty);
        continue;
      }
      isDown = true;
      if (!canAnybody) missed.delete(duty);
      else if (!before) missed.set(duty, { sinceMs: nowMs, ailing: ailing(), hasComplained: false });
      else judge(duty, before, nowMs - before.sinceMs);
    }
    const last = down.at(-1);
    if (last?.toUs === Number.POSITIVE_INFINITY) {
      if (!isDown) last.toUs = clock.nowUs();
    } else if (isDown) {
      down.push({ fromUs: clock.nowUs() - LOOK_MS * 1000, toUs: Number.POSITIVE_INFINITY });
    }
  }

  function judge(duty: string, one: Missed, forMs: number): void {
    one.ailing = Math.max(one.ailing, ailing());
    if (one.hasComplained || forMs <= TAKEN_OVER_MS * Math.max(1, one.ailing)) return;
    one.hasComplained = true;
    complain(`nobody did ${duty} for ${forMs / 1000} s`);
  }

  function lookAgain(): void {
    if (isOver) return;
    clock.setTimer(LOOK_MS, () => {
      void look();
      lookAgain();
    });
  }

  return {
    down,
    /** How long each takeover took. */
    takenMs,
    begin: lookAgain,
    end() {
      isOver = true;
    },
  };
}
