import { faultOf } from '../domain/alert/fault.ts';
import { isStoreFailure } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import { noteFaults } from './set-aside.ts';
import type { Step } from './step.ts';

/** How long a step rests after it failed though the store works. */
const RESTS_MS = 60_000;

interface StepRunnerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly report: Report;
  /** Called after a commit that queued deliveries; a promise that it returns is awaited. */
  readonly queued: () => unknown;
}

/**
 * Runs the steps of alerting. A step that fails though the store works rests for a while, and the others go on without
 * it.
 */
export class StepRunner {
  readonly #options: StepRunnerOptions;
  /** Steps that failed, and when each runs again. */
  readonly #resting = new Map<string, number>();

  constructor(options: StepRunnerOptions) {
    this.#options = options;
  }

  /** Whether a step rests, so that work that is due for it is not done. */
  isResting(): boolean {
    return this.#resting.size > 0;
  }

  /** Runs a step until it finds nothing more to do. Rejects only when the store itself fails. */
  async run(name: string, step: (tx: Transaction) => Promise<Step>): Promise<void> {
    const { clock, report } = this.#options;
    if ((this.#resting.get(name) ?? 0) > clock.monotonicMs()) return;
    this.#resting.delete(name);
    try {
      await this.#exhaust(step);
    } catch (error) {
      if (isStoreFailure(error)) throw error;
      report({ what: 'trouble', stage: 'alerting', error });
      this.#resting.set(name, clock.monotonicMs() + RESTS_MS);
      await this.#setAside(name, error);
    }
  }

  async #exhaust(step: (tx: Transaction) => Promise<Step>): Promise<void> {
    const { store, report, queued } = this.#options;
    for (;;) {
      const done = await store.transaction(step);
      for (const happening of done.happenings) report(happening);
      if (done.queued > 0) await queued();
      if (done.done === 0 || done.isAll) return;
    }
  }

  async #setAside(name: string, error: unknown): Promise<void> {
    const { store, clock, report } = this.#options;
    const fault = faultOf('step', name, error);
    const happenings = await store.transaction((tx) => noteFaults(tx, [fault], clock.nowUs()));
    for (const happening of happenings) report(happening);
  }
}
