import type { Happening } from '../report.ts';

/** What one step did in its transaction. Its happenings are reported only once that is committed. */
export interface Step {
  /** Rows that it handled; 0 ends its turn. */
  readonly done: number;
  /** True: it handled all that there was, so its turn ends although more may have come since. */
  readonly isAll?: boolean;
  /** Deliveries that it queued. */
  readonly queued: number;
  readonly happenings: readonly Happening[];
}

export const NOTHING: Step = { done: 0, isAll: true, queued: 0, happenings: [] };

/** What the parts of one step have added up so far, while its transaction is open. */
export interface Tally {
  queued: number;
  readonly happenings: Happening[];
}
