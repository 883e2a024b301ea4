/**
 * Our clock may be set back, by a person or after a start with a wrong one. Alerts, groups and deliveries wait for
 * instants on it, and would wait so much longer: those instants are set back as well. When it is set forward they merely
 * come early. What is written after the clock was set back is already of the new time and must not be moved, so the clock
 * is looked at before every transaction.
 */

import { codeOf } from '../errors.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';

/** Less is how clocks are kept in time. */
const LEAST_STEP_US = 5_000_000;

interface Reading {
  readonly wallUs: number;
  readonly monotonicMs: number;
}

export class ClockRollback {
  readonly #clock: Clock;
  readonly #moved: () => void;
  #through: Store | undefined;
  /** Undefined until the store was first asked. */
  #last: Reading | undefined;
  #moving: Promise<void> | undefined;

  /** `moved` is called whenever something may have come due by it. */
  constructor(clock: Clock, moved: () => void) {
    this.#clock = clock;
    this.#moved = moved;
  }

  /**
   * From now on the instants are this clock's to move, by way of `through`; first those that wait since the store was last
   * written. What the store refuses is tried again at the next transaction.
   */
  begin(through: Store): void {
    this.#through = through;
    this.#last = undefined;
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
    if (this.#last && this.#backUs(this.#last, present) < LEAST_STEP_US) {
      this.#last = present;
      return undefined;
    }
    this.#moving = this.#move(this.#through, present).finally(() => {
      this.#moving = undefined;
    });
    return this.#moving;
  }

  #backUs(last: Reading, present: Reading): number {
    const passedUs = (present.monotonicMs - last.monotonicMs) * 1000;
    return Math.round(last.wallUs + passedUs - present.wallUs);
  }

  async #move(through: Store, present: Reading): Promise<void> {
    const last = this.#last;
    try {
      const isMoved = await through.transaction(async (tx) => {
        const backUs = last
          ? this.#backUs(last, present)
          : (await tx.upkeep.newestInstantUs()) - present.wallUs;
        if (backUs < LEAST_STEP_US) return false;
        await tx.upkeep.rollBackClock(backUs, present.wallUs, () => tx.pause());
        return true;
      });
      this.#last = present;
      if (isMoved) this.#moved();
    } catch (error) {
      // Another replica moves them now.
      if (codeOf(error) !== 'lease_lost') throw error;
      this.#through = undefined;
    }
  }
}
