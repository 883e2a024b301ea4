import { type Fault, faultOf } from '../domain/alert/fault.ts';
import type { Group } from '../domain/grouping/group.ts';
import { isStoreFailure } from '../errors.ts';
import type { Happening, Report } from '../report.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';

/** What one step did in its transaction. Its happenings are reported only once that is committed. */
export interface Step {
  /** Rows that it handled; 0 ends its turn. */
  readonly done: number;
  /** True: it handled all that there was, so its turn ends although more may have come since. */
  readonly isAll?: boolean;
  /** Deliveries that it queued. */
  readonly queued: number;
  readonly happenings: readonly Happening[];
  /** Keeps in memory what the step found out. Called only once the transaction is committed, as the store may repeat it. */
  readonly remember?: () => void;
}

export const NOTHING: Step = { done: 0, isAll: true, queued: 0, happenings: [] };

/** What the parts of one step have added up so far, while its transaction is open. */
export interface Tally {
  queued: number;
  readonly happenings: Happening[];
}

// Sets aside what fails in alerting, so that everything else goes on. It is tried again after a while, or after the
// next start of the process if that comes first. The store keeps when.

/** What was set aside is tried again after this long. */
const AGAIN_AFTER_US = 300_000_000;
/** Alerts tried again in one transaction. */
const BATCH = 200;

/** Notes faults in the store; returns the new ones, to be reported. */
export async function noteFaults(
  tx: Transaction,
  faults: readonly Fault[],
  nowUs: number,
  againUs?: number,
): Promise<Happening[]> {
  const fresh = await tx.faults.note(faults, nowUs, againUs);
  return fresh.map((fault) => ({ what: 'set_aside', ...fault }));
}

/** Puts off a group whose flush failed. */
export async function setGroupAside(
  tx: Transaction,
  group: Group,
  error: unknown,
  nowUs: number,
): Promise<Happening[]> {
  const againUs = nowUs + AGAIN_AFTER_US;
  await tx.groups.put([{ ...group, nextFlushAtUs: againUs }]);
  return noteFaults(tx, [faultOf('group', group.key, error)], nowUs, againUs);
}

/** Takes an alert that could not join its groups out of those that wait to join. */
export async function setAlertAside(
  tx: Transaction,
  alertId: string,
  error: unknown,
  nowUs: number,
): Promise<Happening[]> {
  await tx.alerts.markRouted([alertId]);
  return noteFaults(tx, [faultOf('alert', alertId, error)], nowUs, nowUs + AGAIN_AFTER_US);
}

/** Puts off forwarding to a receiver. */
export async function setReceiverAside(
  tx: Transaction,
  receiver: string,
  error: unknown,
  nowUs: number,
): Promise<Happening[]> {
  return noteFaults(tx, [faultOf('receiver', receiver, error)], nowUs, nowUs + AGAIN_AFTER_US);
}

/** Puts off giving a delivery to its receiver's fallback. */
export async function setDeliveryAside(
  tx: Transaction,
  id: string,
  error: unknown,
  nowUs: number,
): Promise<Happening[]> {
  const againUs = nowUs + AGAIN_AFTER_US;
  await tx.outbox.fallBackAt(id, againUs);
  return noteFaults(tx, [faultOf('delivery', id, error)], nowUs, againUs);
}

/** Lets alerts that were set aside long enough ago try again to join their groups. */
export async function retryAlerts(tx: Transaction, nowUs: number): Promise<Step> {
  const names = (await tx.faults.names('alert', nowUs)).slice(0, BATCH);
  if (names.length > 0) {
    await tx.faults.mend('alert', names);
    await tx.alerts.joinAgain(names);
  }
  return { done: names.length, queued: 0, happenings: [] };
}

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

  /**
   * Runs a step until it finds nothing more to do, unless it rests. Resolves to whether it did. Rejects only when the
   * store itself fails.
   */
  async run(name: string, step: (tx: Transaction) => Promise<Step>): Promise<boolean> {
    const { clock, report } = this.#options;
    if ((this.#resting.get(name) ?? 0) > clock.monotonicMs()) return false;
    this.#resting.delete(name);
    try {
      await this.#exhaust(step);
      return true;
    } catch (error) {
      if (isStoreFailure(error)) throw error;
      report({ what: 'trouble', stage: 'alerting', error });
      this.#resting.set(name, clock.monotonicMs() + RESTS_MS);
      await this.#setAside(name, error);
      return false;
    }
  }

  async #exhaust(step: (tx: Transaction) => Promise<Step>): Promise<void> {
    const { store, report, queued } = this.#options;
    for (;;) {
      const done = await store.transaction(step);
      done.remember?.();
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
