/** Changes silences in the store, in one transaction each, and then has alerting look again. */
import type { Alert } from '../domain/alert/alert.ts';
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
  /** With `isWhole` also the acknowledgements that were made together with it. */
  expire(id: string, isWhole?: boolean): Promise<SilenceChange>;
  /**
   * Mutes the current episodes of firing alerts, one at least, together. Is refused if none of them can be, or if a limit is reached:
   * then nothing is written.
   */
  acknowledge(alerts: readonly MeantAlert[], by: Signature): Promise<SilenceChange>;
}

export interface MeantAlert {
  readonly id: string;
  /** Names the intended episode, if it is known. */
  readonly startsAtUs?: number;
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
        await inSteps(tx, decided.write, (some) => tx.silences.put(some));
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
    expire: (id, isWhole) => change((_, present) => expireSilence(present, id, clock.nowUs(), isWhole)),
    acknowledge: (alerts, by) =>
      change(async (tx, present) => {
        const pauseAfter = pausing(tx);
        const nowUs = clock.nowUs();
        const known = [...present];
        const changed: Alert[] = [];
        let outcome: SilenceChange | undefined;
        for (const { id, startsAtUs } of alerts) {
          await pauseAfter(known.length);
          const meant = await findAlert(tx, id, startsAtUs);
          const decided: SilenceChange = meant.ok
            ? acknowledge(known, meant.alert, by, { newId: newId(), nowUs })
            : meant;
          if (!decided.ok && decided.limit) return decided;
          if (!outcome?.ok) outcome = decided;
          if (!meant.ok || !decided.ok || decided.write.length === 0) continue;
          known.push(...decided.write);
          changed.push(meant.alert);
        }
        // Marks the alerts as changed, so that incident services are told.
        await inSteps(tx, changed, (some) => tx.alerts.put(some));
        return outcome?.ok ? { ...outcome, write: known.slice(present.length) } : outcome!;
      }),
  };
}

/** Written between two turns of the event loop. */
const STEP = 100;

async function inSteps<T>(
  tx: Transaction,
  items: readonly T[],
  put: (some: readonly T[]) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += STEP) {
    await put(items.slice(at, at + STEP));
    await tx.pause();
  }
}
