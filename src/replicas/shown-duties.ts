/** How the duties stand: what this replica shows of its own to all, and what it sees of all. */
import { isStoreFailure } from '../errors.ts';
import type { Report } from '../report.ts';
import type { ShownDuty } from '../store/ownership-store.ts';
import type { Store, Turns } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import type { OwnedWorks } from './owned-works.ts';

/** How often is shown, and read, how the duties stand. */
const SHOW_MS = 15_000;
/** One whose own work commits nothing for so long leaves its duties to others: alive alone it is of no use. */
export const STUCK_MS = 60_000;

interface ShownDutiesOptions {
  readonly store: Store;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly report: Report;
  /** Called when what it shows gets through again, after it was stuck. */
  readonly freed: () => void;
}

export class ShownDuties {
  readonly #options: ShownDutiesOptions;
  readonly #works: OwnedWorks;
  #shown = new Map<string, ShownDuty>();
  /** Since when it waits in vain to have shown how its duties stand; undefined while it does not. */
  #unshownSinceMs: number | undefined;
  #isShowing = false;
  #shownMs = Number.NEGATIVE_INFINITY;

  constructor(options: ShownDutiesOptions, works: OwnedWorks) {
    this.#options = options;
    this.#works = works;
  }

  /** As its last owner has shown; undefined where it never did. */
  of(duty: string): ShownDuty | undefined {
    return this.#shown.get(duty);
  }

  /** Whether what it shows does not get through, be it late or refused: then its time runs out, and its work ends. */
  isStuck(): boolean {
    const sinceMs = this.#unshownSinceMs ?? Number.POSITIVE_INFINITY;
    return this.#options.clock.monotonicMs() - sinceMs >= STUCK_MS;
  }

  /** Where it is stuck: tries whether anything gets through by now. */
  tryAgain(): void {
    if (!this.#isShowing) void this.#show(this.#options.clock.monotonicMs());
  }

  /** Where it is time to, at a turn that began at `beganMs`. */
  async exchange(beganMs: number): Promise<void> {
    if (beganMs - this.#shownMs < SHOW_MS) return;
    const shown = await this.#options.turns.shown();
    this.#shown = new Map(shown.map((one) => [one.duty, one]));
    this.#shownMs = beganMs;
    if (!this.#isShowing) void this.#show(beganMs);
  }

  /** Says how its duties stand, behind the work that it does: of all that a turn does it is what can best wait. */
  async #show(beganMs: number): Promise<void> {
    const { store, report, freed } = this.#options;
    // Whoever has nothing to show is not asked whether its work gets through, as it has none; unless it lost it by that.
    if (this.#works.areNone() && this.#unshownSinceMs === undefined) return;
    this.#isShowing = true;
    this.#unshownSinceMs ??= beganMs;
    try {
      await store.transaction(({ ownership }) => ownership.show(this.#works.showings()));
      const wasStuck = this.isStuck();
      this.#unshownSinceMs = undefined;
      if (wasStuck) freed();
    } catch (error) {
      // What is no fault of the way to the store would befall whoever took over as well.
      if (!isStoreFailure(error)) this.#unshownSinceMs = undefined;
      report({ what: 'trouble', stage: 'store', error });
    } finally {
      this.#isShowing = false;
    }
  }
}
