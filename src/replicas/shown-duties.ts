/** Exchanges the state of duties: reports that of this replica's own, and reads that of all. */
import { isStoreFailure } from '../errors.ts';
import type { Report } from '../report.ts';
import type { ShownDuty } from '../store/ownership-store.ts';
import type { Store, Turns } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import type { DutyRunner } from './duty-runner.ts';

/** How often the state of duties is reported and read. */
const SHOW_MS = 15_000;
/** A replica whose own work commits nothing for this long leaves its duties to others: being alive is not enough. */
export const STUCK_MS = 60_000;

interface ShownDutiesOptions {
  readonly store: Store;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly report: Report;
  /** Called when a report gets through again after the replica was stuck. */
  readonly freed: () => void;
}

export class ShownDuties {
  readonly #options: ShownDutiesOptions;
  readonly #runner: DutyRunner;
  #shown = new Map<string, ShownDuty>();
  /** Since when a report has been waiting to get through; undefined if none is. */
  #unshownSinceMs: number | undefined;
  #isShowing = false;
  #shownMs = Number.NEGATIVE_INFINITY;

  constructor(options: ShownDutiesOptions, runner: DutyRunner) {
    this.#options = options;
    this.#runner = runner;
  }

  /** What the duty's last owner reported; undefined if none did. */
  of(duty: string): ShownDuty | undefined {
    return this.#shown.get(duty);
  }

  /**
   * Whether reports do not get through, because they are slow or refused. Then the replica does not renew, and its work
   * ends.
   */
  isStuck(): boolean {
    const sinceMs = this.#unshownSinceMs ?? Number.POSITIVE_INFINITY;
    return this.#options.clock.monotonicMs() - sinceMs >= STUCK_MS;
  }

  /** Tries whether a report gets through by now. To be called while stuck. */
  tryAgain(): void {
    if (!this.#isShowing) void this.#show(this.#options.clock.monotonicMs());
  }

  /** Reports and reads if it is time to; `beganMs` is when the turn began. */
  async exchange(beganMs: number): Promise<void> {
    if (beganMs - this.#shownMs < SHOW_MS) return;
    const shown = await this.#options.turns.shown();
    this.#shown = new Map(shown.map((one) => [one.duty, one]));
    this.#shownMs = beganMs;
    if (!this.#isShowing) void this.#show(beganMs);
  }

  /** Reports the state of its duties, queued behind its own work: of all that a turn does, this can best wait. */
  async #show(beganMs: number): Promise<void> {
    const { store, report, freed } = this.#options;
    // A replica without duties has no work to get through, and need not report, unless it lost them because it was
    // stuck.
    if (this.#runner.isIdle() && this.#unshownSinceMs === undefined) return;
    this.#isShowing = true;
    this.#unshownSinceMs ??= beganMs;
    try {
      await store.transaction(({ ownership }) => ownership.show(this.#runner.showings()));
      const wasStuck = this.isStuck();
      this.#unshownSinceMs = undefined;
      if (wasStuck) freed();
    } catch (error) {
      // An error that is not the store's would occur to any other owner too, so it does not count.
      if (!isStoreFailure(error)) this.#unshownSinceMs = undefined;
      report({ what: 'trouble', stage: 'store', error });
    } finally {
      this.#isShowing = false;
    }
  }
}
