/**
 * Faults: what failed while it was evaluated. It is set aside with its reason, so that everything else goes on: one
 * silence, rule, alert, group or stored row must never keep the others from being notified of.
 */

/**
 * - `alert`: it could not join its groups; tried again after a while.
 * - `delivery`: it could not be given to its receiver's fallback, or its integration does not accept it and accepts
 *   others; tried again after a while.
 * - `group`: it could not be flushed; tried again after a while.
 * - `inhibit_rule`, `silence`: it mutes nothing, so that too much is notified rather than too little.
 * - `receiver`: what is forwarded to it could not be put together, or what it is to hear again and again is not accepted;
 *   tried again after a while.
 * - `row`: a record of the store whose content cannot be read; it is kept beside the others.
 * - `rule`: a kind of alert could not judge a fact; other kinds and facts are judged.
 * - `step`: a step of alerting; the other steps go on, and it is tried again after a while.
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
  /** Which one, as far as people can find it by that. */
  readonly name: string;
  /** What was thrown. */
  readonly reason: string;
}

const MAX_LENGTH = 300;

export function faultOf(sort: FaultSort, name: string, error: unknown): Fault {
  return { sort, name: name.slice(0, MAX_LENGTH), reason: String(error).slice(0, MAX_LENGTH) };
}

/** Does work that may fail by what it works on: what is `otherwise` the case then counts, and the fault is noted. */
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

  /** Each once. */
  all(): readonly Fault[] {
    return [...this.#faults.values()];
  }
}
