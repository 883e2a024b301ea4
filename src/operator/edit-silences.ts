/** Changes silences in the store, in one transaction each, and then has alerting look again. */
import type { Alert, Labels } from '../domain/alert/alert.ts';
import { formatMatcher, matchersOf, parseMatcherLists, workOf } from '../domain/matchers/matcher.ts';
import { type Recurrences, type Silence, silenceState } from '../domain/muting/silence.ts';
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
  /**
   * Mutes what a firing alert is about (`usualLabels`) from now on. A silence by the same person with the same comment
   * that still lasts is prolonged instead, so that asking twice makes one.
   */
  silenceFor(alert: MeantAlert, by: Signature, forMs: number): Promise<SilenceChange>;
}

/** The labels by which a silence finds an alert and similar ones: its subject, without what may change. */
export const SUBJECT_LABELS = [
  'alertname',
  'region',
  'nest_id',
  'bird_id',
  'entity_id',
  'error',
  'receiver',
  'integration',
  'feed',
  'reason',
  'objective',
  'type',
];

/** What a silence because of an alert is usually about: all of its Bird, or else alerts like it. */
export function usualLabels({ bird_id }: Labels): readonly string[] {
  return bird_id === undefined ? SUBJECT_LABELS : ['region', 'bird_id'];
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

  async function set(tx: Transaction, present: readonly Silence[], request: SilenceRequest) {
    // The limits apply to all expressions together, and after a start none of them is compiled yet.
    const pauseAfter = pausing(tx);
    for (const { matchers } of present) await pauseAfter(workOf(matchers));
    return setSilence(present, request, { newId: newId(), recurrences, nowUs: clock.nowUs() });
  }

  return {
    set: (request) => change((tx, present) => set(tx, present, request)),
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
    silenceFor: ({ id, startsAtUs }, by, forMs) =>
      change(async (tx, present) => {
        const meant = await findAlert(tx, id, startsAtUs);
        if (!meant.ok) return meant;
        const { state, labels } = meant.alert;
        if (state !== 'firing') return { ok: false, problem: 'invalid', message: 'the alert is not firing' };
        const about = matchersOf(labels, usualLabels(labels));
        const nowUs = clock.nowUs();
        const before = present.find(
          (one) =>
            silenceState(one, nowUs) === 'active' &&
            one.alertId === null &&
            one.recurrence === null &&
            one.createdBy === by.createdBy &&
            one.comment === by.comment &&
            one.matchers.map(formatMatcher).join('\n') === about,
        );
        return set(tx, present, {
          ...{ id: before?.id, startsAtUs: before?.startsAtUs, ...by },
          ...{ matchers: parseMatcherLists(about.split('\n')), endsAtUs: nowUs + forMs * 1000 },
        });
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
