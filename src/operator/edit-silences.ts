/** Changes silences in the store, in one transaction each, and then has alerting look again. */
import { workOf } from '../domain/matchers/matcher.ts';
import type { Recurrences, Silence } from '../domain/muting/silence.ts';
import {
  acknowledge,
  expireSilence,
  forgotten,
  type SilenceChange,
  type SilenceRequest,
  setSilence,
} from '../domain/muting/silence-change.ts';
import type { Report } from '../report.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import { pausing } from '../time/pause-after.ts';
import { findAlert, type Signature } from './find-alert.ts';

export interface SilenceEditor {
  set(request: SilenceRequest): Promise<SilenceChange>;
  expire(id: string): Promise<SilenceChange>;
  /** Mutes the current episode of a firing alert. `startsAtUs` names the intended episode, if it is known. */
  acknowledge(alertId: string, by: Signature, startsAtUs?: number): Promise<SilenceChange>;
}

interface SilenceEditorOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly recurrences: Recurrences;
  readonly report: Report;
  /** Returns an unused UUID. */
  readonly newId: () => string;
  /** Called after a silence was written. */
  readonly changed: () => void;
}

export function createSilenceEditor(options: SilenceEditorOptions): SilenceEditor {
  const { store, clock, recurrences, report, newId } = options;

  async function change(
    decide: (tx: Transaction, present: readonly Silence[]) => SilenceChange | Promise<SilenceChange>,
  ): Promise<SilenceChange> {
    const result = await store.transaction(async (tx) => {
      const present = await tx.silences.list();
      const decided = await decide(tx, present);
      if (decided.ok) {
        await tx.silences.put(decided.write);
        await tx.silences.delete(forgotten(present, clock.nowUs()));
      }
      return decided;
    });
    if (!result.ok && result.limit) report({ what: 'limit_reached', limit: result.limit });
    if (result.ok && result.write.length > 0) options.changed();
    return result;
  }

  return {
    set: (request) =>
      change(async (tx, present) => {
        // The limits apply to all expressions together, and after a start none of them is compiled yet.
        const pauseAfter = pausing(tx);
        for (const { matchers } of present) await pauseAfter(workOf(matchers));
        return setSilence(present, request, { newId: newId(), recurrences, nowUs: clock.nowUs() });
      }),
    expire: (id) => change((_, present) => expireSilence(present, id, clock.nowUs())),
    acknowledge: (alertId, by, startsAtUs) =>
      change(async (tx, present) => {
        const meant = await findAlert(tx, alertId, startsAtUs);
        if (!meant.ok) return meant;
        const { alert } = meant;
        const decided = acknowledge(present, alert, by, { newId: newId(), nowUs: clock.nowUs() });
        // Marks the alert as changed, so that incident services are told.
        if (decided.ok && decided.write.length > 0) await tx.alerts.put([alert]);
        return decided;
      }),
  };
}
