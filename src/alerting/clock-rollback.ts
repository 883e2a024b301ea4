/**
 * Our clock may be set back, by a person or after a start with a wrong one. Alerts, groups and deliveries wait for
 * instants on it, and would wait so much longer: those instants are set back as well. When it is set forward they merely
 * come early. What is written after the clock was set back is already of the new time and must not be moved, so the clock
 * is looked at before every transaction.
 *
 * Where several replicas share a store, what waits is on the clock of the one that alerts. The store knows by how much
 * that clock is ahead of its own (`OwnershipStore.changeClock`). Whoever takes over moves what waits by as much as the two
 * clocks differ, be it earlier or later: so nothing comes earlier each time that alerting goes to and fro, or that another
 * configuration comes. Since the store's own clock may be set as well, the difference is measured anew every minute.
 *
 * What a replica writes that does not alert is on its own clock, and waits as much longer as that is ahead.
 */

import { codeOf } from '../errors.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';

/** Less is how clocks are kept in time. */
const LEAST_STEP_US = 5_000_000;

const MEASURE_EVERY_MS = 60_000;

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
  /** When it was last said to the store by how much this clock is ahead of its own. */
  #measuredMs = Number.NEGATIVE_INFINITY;
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
    return Math.abs(backUs) >= LEAST_STEP_US || present.monotonicMs - this.#measuredMs >= MEASURE_EVERY_MS;
  }

  async #move(through: Store, present: Reading): Promise<void> {
    const last = this.#last;
    try {
      const isMoved = await through.transaction(async (tx) => {
        const takenUs = await this.#backAtTakeover(tx);
        const backUs = last ? Math.max(0, backOf(last, present)) : takenUs;
        if (Math.abs(backUs) < LEAST_STEP_US) return false;
        // What was due already stays so.
        const dueUs = Math.min(present.wallUs, present.wallUs + backUs);
        await tx.upkeep.rollBackClock(backUs, dueUs, () => tx.pause());
        return true;
      });
      if (this.#through === through) {
        this.#last = present;
        this.#measuredMs = present.monotonicMs;
      }
      if (isMoved) this.#moved();
    } catch (error) {
      // Another replica moves them now.
      if (codeOf(error) !== 'lease_lost') throw error;
      if (this.#through === through) this.#through = undefined;
    }
  }

  /** By how much this clock is behind the one on which all waits; less than 0 where it is ahead. */
  async #backAtTakeover(tx: Transaction): Promise<number> {
    if (this.#isShared) {
      const beforeUs = this.#clock.nowUs();
      const behindUs = await tx.ownership.changeClock(beforeUs);
      // It was measured no better than that.
      const withinUs = this.#clock.nowUs() - beforeUs;
      if (behindUs !== undefined) return Math.abs(behindUs) - withinUs < LEAST_STEP_US ? 0 : behindUs;
    }
    return Math.max(0, (await tx.upkeep.newestInstantUs()) - this.#clock.nowUs());
  }
}

/** By how much the clock was set back between two readings; less than 0 where it was set forward. */
function backOf(last: Reading, present: Reading): number {
  const passedUs = (present.monotonicMs - last.monotonicMs) * 1000;
  return Math.round(last.wallUs + passedUs - present.wallUs);
}
