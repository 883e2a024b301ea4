/**
 * Defines faults: what failed while it was evaluated. It is set aside with its reason, so that everything else
 * continues: one silence, rule, alert, group or stored row must never keep people from being notified of the others.
 */

/**
 * - `alert`: it could not join its groups; tried again later.
 * - `delivery`: it could not be sent to its receiver's fallback, or its integration refuses it but accepts others;
 *   tried again later.
 * - `group`: it could not be flushed; tried again later.
 * - `inhibit_rule`, `silence`: it mutes nothing, so that people get too many notifications rather than too few.
 * - `receiver`: a batch to forward to it could not be built, or it does not accept what must be repeated to it; tried
 *   again later.
 * - `row`: a stored record whose content cannot be read; it is removed, and named until the retention deletes that.
 * - `rule`: a kind of alert could not judge a fact; other kinds and facts are judged.
 * - `step`: a step of alerting failed; the other steps continue, and it is tried again later.
 */
export const FAULT_SORTS = [
  'alert',
  'delivery',
  'group',
  'inhibit_rule',
  'receiver',
  'row',
  'rule',
  'silence',
  'step',
] as const;
export type FaultSort = (typeof FAULT_SORTS)[number];

export interface Fault {
  readonly sort: FaultSort;
  /** Which one it is, as far as that helps people find it. */
  readonly name: string;
  /** The error that was thrown. */
  readonly reason: string;
}

const MAX_LENGTH = 300;

export function faultOf(sort: FaultSort, name: string, error: unknown): Fault {
  return { sort, name: name.slice(0, MAX_LENGTH), reason: String(error).slice(0, MAX_LENGTH) };
}

/** Runs work that may fail because of its input; on failure it returns `otherwise` and records the fault. */
export class FaultBox {
  readonly #faults = new Map<string, Fault>();

  guard<T>(sort: FaultSort, name: string, work: () => T, otherwise: T): T {
    try {
      return work();
    } catch (error) {
      this.note(sort, name, error);
      return otherwise;
    }
  }

  note(sort: FaultSort, name: string, error: unknown): void {
    const fault = faultOf(sort, name, error);
    this.#faults.set(`${sort} ${fault.name}`, fault);
  }

  /** All faults, each once. */
  all(): readonly Fault[] {
    return [...this.#faults.values()];
  }
}
