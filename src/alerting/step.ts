import type { Alert } from '../domain/alert/alert.ts';
import { transitions } from '../domain/alert/transition.ts';
import type { Happening } from '../report.ts';

/** What one step did in its transaction; what it has to report counts only once that is committed. */
export interface Step {
  /** Rows that it took up; 0 ends its turn. */
  readonly done: number;
  /** Deliveries that it queued. */
  readonly queued: number;
  readonly happenings: readonly Happening[];
}

export const NOTHING: Step = { done: 0, queued: 0, happenings: [] };

/** What there is to report of alerts that changed their state. */
export function alertHappenings(before: readonly Alert[], after: readonly Alert[]): Happening[] {
  return transitions(before, after).map(({ alert, state }) => ({
    what: 'alert',
    alertname: alert.alertname,
    region: alert.labels.region ?? '',
    state,
    alertId: alert.id,
  }));
}
