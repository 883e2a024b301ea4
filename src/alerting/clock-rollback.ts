/**
 * Moves the stored times when our clock is set, by a person or after a start with a wrong clock. Alerts, groups and
 * deliveries wait for times on that clock. After it was set back they would wait that much longer. If it is set ahead,
 * most merely come early, but what has to last (`for`, `keep_firing_for`) must not seem to have lasted: its beginning is
 * moved ahead as well, though only while the process runs, because nobody knows how long it stood still. What is written
 * after the clock was set back already has the new time and must not be moved, so the clock is checked before every
 * transaction.
 *
 * Where several replicas share a store, all times are on the store's clock (`time/clock.ts`), and the replica
 * that alerts moves them. The store notes its clock every minute. A replica that takes over learns from that whether
 * the clock was set back since, as happens when another database server takes the place of the first.
 */
import { codeOf } from '../errors.ts';
import type { Store, Transaction } from '../store/store.ts';
import { aheadOf, type Clock, type ClockReading, LEAST_STEP_US, readClock } from '../time/clock.ts';

const NOTE_EVERY_MS = 60_000;

export class ClockRollback {
  readonly #clock: Clock;
  readonly #moved: () => void;
  readonly #isShared: boolean;
  #through: Store | undefined;
  /** Undefined until the store has been asked. */
  #last: ClockReading | undefined;
  /** When the store last noted its clock. */
  #notedMs = Number.NEGATIVE_INFINITY;
  #moving: Promise<void> | undefined;

  /** `moved` is called after times were moved: something may have come due. `isShared`: replicas share the store. */
  constructor(clock: Clock, moved: () => void, isShared = false) {
    this.#clock = clock;
    this.#moved = moved;
    this.#isShared = isShared;
  }

  /**
   * Makes this process move the stored times from now on, through the store `through`. The first transaction also moves
   * them if the clock was set back before: since the store was last written, or among replicas since one of them last
   * noted it. If the store refuses, the next transaction tries again.
   */
  begin(through: Store): void {
    this.#through = through;
    // A process that has the store to itself keeps its last reading. A replica cannot know who has alerted in the
    // meantime.
    if (!this.#isShared) return;
    this.#last = undefined;
    // A move that an earlier `begin` started says nothing about this one.
    this.#moving = undefined;
  }

  /**
   * The same store, watched. After the clock was set back, a transaction first waits until the stored times are moved,
   * and rejects if moving them fails.
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
    const present = readClock(this.#clock);
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

  /** Whether the store must be told of this reading. */
  #isToBeSaid(last: ClockReading, present: ClockReading): boolean {
    if (Math.abs(aheadOf(last, present)) >= LEAST_STEP_US) return true;
    return this.#isShared && present.monotonicMs - this.#notedMs >= NOTE_EVERY_MS;
  }

  async #move(through: Store, present: ClockReading): Promise<void> {
    const last = this.#last;
    try {
      const isMoved = await through.transaction(async (tx) => {
        const beforeUs = await this.#backBefore(tx);
        const backUs = last ? -aheadOf(last, present) : beforeUs;
        if (last && backUs <= -LEAST_STEP_US) await tx.upkeep.setClockAhead(-backUs, () => tx.pause());
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
      // The lease is lost: another replica moves the times now.
      if (codeOf(error) !== 'lease_lost') throw error;
      if (this.#through === through) this.#through = undefined;
    }
  }

  /** How far the clock was set back before this process first read it, as far as the store knows. Microseconds. */
  async #backBefore(tx: Transaction): Promise<number> {
    if (this.#isShared) return tx.ownership.noteClock();
    return (await tx.upkeep.newestInstantUs()) - this.#clock.nowUs();
  }
}
