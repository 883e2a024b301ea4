/**
 * Our clock may be set back, by a person or after a start with a wrong one. Alerts, groups and deliveries wait for
 * instants on it, and would wait so much longer: those instants are set back as well. When it is set forward they merely
 * come early. What is written after the clock was set back is already of the new time and must not be moved, so the clock
 * is looked at before every transaction.
 *
 * Where several replicas share a store, all instants are on the store's clock (`time/store-clock.ts`), and the one that
 * alerts moves what waits. Another that takes over learns from the store whether its clock was set back since it was
 * noted last, as when another server took the place of the first; it is noted every minute.
 */

import { codeOf } from '../errors.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';

/** Less is how clocks are kept in time. */
const LEAST_STEP_US = 5_000_000;

const NOTE_EVERY_MS = 60_000;

interface Reading {
  readonly wallUs: number;
  readonly monotonicMs: number;
}

export class ClockRollback {
  readonly #clock: Clock;
  readonly #moved: () => void;
  readonly #isShared: boolean;
  #through: Store | undefined;
  /** Undefined until the store was first asked. */
  #last: Reading | undefined;
  /** When the store's clock was noted last. */
  #notedMs = Number.NEGATIVE_INFINITY;
  #moving: Promise<void> | undefined;

  /** `moved` is called whenever something may have come due by it; `isShared` says whether replicas share the store. */
  constructor(clock: Clock, moved: () => void, isShared = false) {
    this.#clock = clock;
    this.#moved = moved;
    this.#isShared = isShared;
  }

  /**
   * From now on the instants are this clock's to move, by way of `through`; first those that wait since the store was last
   * written, or since another replica alerted. What the store refuses is tried again at the next transaction.
   */
  begin(through: Store): void {
    this.#through = through;
    // A process that has the store to itself goes on; as one of several it cannot know who has alerted meanwhile.
    if (!this.#isShared) return;
    this.#last = undefined;
    // What is still under way for the time before says nothing of this one.
    this.#moving = undefined;
  }

  /**
   * The same store. A transaction after the clock was set back waits until what the store has is moved, and rejects with
   * what that is refused with.
   */
  follow(store: Store): Store {
    return {
      transaction: (work) => {
        const moving = this.#look();
        return moving ? moving.then(() => store.transaction(work)) : store.transaction(work);
      },
      space: () => store.space(),
      close: () => store.close(),
    };
  }

  #look(): Promise<void> | undefined {
    if (!this.#through || this.#moving) return this.#moving;
    const wallUs = this.#clock.nowUs();
    const monotonicMs = this.#clock.monotonicMs();
    const present = { wallUs, monotonicMs };
    if (this.#last && !this.#isToBeSaid(this.#last, present)) {
      this.#last = present;
      return undefined;
    }
    const moving = this.#move(this.#through, present).finally(() => {
      if (this.#moving === moving) this.#moving = undefined;
    });
    this.#moving = moving;
    return moving;
  }

  /** Whether the store has to hear of how this clock stands. */
  #isToBeSaid(last: Reading, present: Reading): boolean {
    const backUs = backOf(last, present);
    if (!this.#isShared) return backUs >= LEAST_STEP_US;
    return backUs >= LEAST_STEP_US || present.monotonicMs - this.#notedMs >= NOTE_EVERY_MS;
  }

  async #move(through: Store, present: Reading): Promise<void> {
    const last = this.#last;
    try {
      const isMoved = await through.transaction(async (tx) => {
        const beforeUs = await this.#backBefore(tx);
        const backUs = last ? backOf(last, present) : beforeUs;
        if (backUs < LEAST_STEP_US) return false;
        await tx.upkeep.rollBackClock(backUs, present.wallUs, () => tx.pause());
        return true;
      });
      if (this.#through === through) {
        this.#last = present;
        this.#notedMs = present.monotonicMs;
      }
      if (isMoved) this.#moved();
    } catch (error) {
      // Another replica moves them now.
      if (codeOf(error) !== 'lease_lost') throw error;
      if (this.#through === through) this.#through = undefined;
    }
  }

  /** By how much the clock was set back before this process looked at it, as far as the store knows. */
  async #backBefore(tx: Transaction): Promise<number> {
    if (this.#isShared) return tx.ownership.noteClock();
    return (await tx.upkeep.newestInstantUs()) - this.#clock.nowUs();
  }
}

/** By how much the clock was set back between two readings; less than 0 where it was set forward. */
function backOf(last: Reading, present: Reading): number {
  const passedUs = (present.monotonicMs - last.monotonicMs) * 1000;
  return Math.round(last.wallUs + passedUs - present.wallUs);
}
