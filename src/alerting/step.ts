import type { Happening } from '../report.ts';

/** What one step did in its transaction; what it has to report counts only once that is committed. */
export interface Step {
  /** Rows that it took up; 0 ends its turn. */
  readonly done: number;
  /** True: it took up all that there was, so its turn ends though something may have come since. */
  readonly isAll?: boolean;
  /** Deliveries that it queued. */
  readonly queued: number;
  readonly happenings: readonly Happening[];
}

export const NOTHING: Step = { done: 0, isAll: true, queued: 0, happenings: [] };

/** What the parts of one step add up to while its transaction is open. */
export interface Tally {
  queued: number;
  readonly happenings: Happening[];
}
