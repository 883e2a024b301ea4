/**
 * What people do to alerts: silence, acknowledge, resolve and annotate them. Each is one transaction, and then
 * alerting looks again.
 */
import { type Alert, type Labels, MAX_NOTE_LENGTH, type Note } from '../domain/alert/alert.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { type ResolvedByHand, resolveByHand } from '../domain/evaluate/decide.ts';
import { formatMatcher, matchersOf, parseMatcherLists, workOf } from '../domain/matchers/matcher.ts';
import { type Recurrences, type Silence, silenceState } from '../domain/muting/silence.ts';
import {
  acknowledge,
  ended,
  expireSilence,
  forgotten,
  type SilenceChange,
  type SilenceRequest,
  setSilence,
} from '../domain/muting/silence-change.ts';
import type { Report } from '../report.ts';
import { writeDecision } from '../store/change-alerts.ts';
import type { Store, Transaction } from '../store/store.ts';
import { manyLines } from '../text/plain-text.ts';
import { type Clock, pausing } from '../time/clock.ts';
import { alertOfEpisode, SHOWN_NOTES } from './alert-record.ts';

export type SilenceEditor = ReturnType<typeof createSilenceEditor>;

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

export function createSilenceEditor(options: SilenceEditorOptions) {
  const { store, clock, recurrences, report, newId } = options;

  async function change(
    decide: (tx: Transaction, present: readonly Silence[]) => SilenceChange | Promise<SilenceChange>,
    wishId?: string,
  ): Promise<SilenceChange> {
    const result = await store.transaction(async (tx): Promise<SilenceChange> => {
      const present = await tx.silences.list();
      if (wishId !== undefined && present.some(({ id }) => id === wishId)) return DONE_BEFORE;
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

  async function set(
    tx: Transaction,
    present: readonly Silence[],
    request: SilenceRequest,
    id: string = newId(),
  ) {
    // The limits apply to all expressions together, and after a start none of them is compiled yet.
    const pauseAfter = pausing(tx);
    for (const { matchers } of present) await pauseAfter(workOf(matchers));
    return setSilence(present, request, { newId: id, recurrences, nowUs: clock.nowUs() });
  }

  return {
    set: (request: SilenceRequest) => change((tx, present) => set(tx, present, request)),
    /** With `isWhole` also the acknowledgements that were made together with it. */
    expire: (id: string, isWhole?: boolean) =>
      change((_, present) => expireSilence(present, id, clock.nowUs(), isWhole)),
    /**
     * Mutes the current episodes of firing alerts, one at least, together. Is refused if none of them can be, or if a limit is
     * reached: then nothing is written. The id is that of an acknowledgement that was made now, or, if there is none, of one
     * that was there. With `wishId`, a UUID, for one alert: the same wish is refused if it has done something before.
     */
    acknowledge: (alerts: readonly MeantAlert[], by: Signature, wishId?: string) =>
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
            ? acknowledge(known, meant.alert, by, { newId: wishId ?? newId(), nowUs })
            : meant;
          if (!decided.ok && decided.limit) return decided;
          if (!outcome?.ok || (outcome.write.length === 0 && decided.ok)) outcome = decided;
          if (!meant.ok || !decided.ok || decided.write.length === 0) continue;
          known.push(...decided.write);
          changed.push(meant.alert);
        }
        // Marks the alerts as changed, so that incident services are told.
        await inSteps(tx, changed, (some) => tx.alerts.put(some));
        return outcome?.ok ? { ...outcome, write: known.slice(present.length) } : outcome!;
      }, wishId),
    /**
     * Mutes what a firing alert is about (`usualLabels`) from now on, instead of a silence of the same by the same person, who
     * may have pressed twice. The same wish is refused if it has done this before.
     */
    silenceFor: ({ id, startsAtUs }: MeantAlert, by: Signature, forMs: number, wishId: string) =>
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
            one.createdBy === by.createdBy &&
            one.matchers.map(formatMatcher).join('\n') === about,
        );
        const matchers = parseMatcherLists(about.split('\n'));
        const added = await set(tx, present, { ...by, matchers, endsAtUs: nowUs + forMs * 1000 }, wishId);
        return added.ok && before ? { ...added, write: [...ended(before, nowUs), ...added.write] } : added;
      }, wishId),
  };
}

const DONE_BEFORE: SilenceChange = { ok: false, problem: 'invalid', message: 'this was done before' };

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

/** Who acts on an alert, and why. */
export interface Signature {
  readonly createdBy: string;
  readonly comment: string;
}

type FoundAlert =
  | { readonly ok: true; readonly alert: Alert }
  | { readonly ok: false; readonly problem: 'not_found' | 'invalid'; readonly message: string };

/** Finds an alert. `startsAtUs` names the intended episode, if it is known. */
export async function findAlert(tx: Transaction, id: string, startsAtUs?: number): Promise<FoundAlert> {
  const alert = await tx.alerts.find(id);
  if (!alert) return { ok: false, problem: 'not_found', message: 'there is no such alert' };
  if (startsAtUs === undefined || alert.startsAtUs === startsAtUs) return { ok: true, alert };
  return { ok: false, problem: 'invalid', message: 'the alert was resolved, and has fired anew since' };
}

export type AlertResolver = ReturnType<typeof createAlertResolver>;

interface AlertResolverOptions {
  readonly store: Store;
  readonly rules: readonly Rule[];
  readonly clock: Clock;
  readonly report: Report;
  /** Makes intake probe at once a region that it otherwise probes only now and then. */
  readonly probe: (region: string) => void;
  /** Called after an alert was resolved. */
  readonly changed: () => void;
}

export function createAlertResolver({ store, rules, clock, report, probe, changed }: AlertResolverOptions) {
  return {
    /** Resolves the current episode of a firing alert. `startsAtUs` names the intended episode, if it is known. */
    async resolve(alertId: string, by: Signature, startsAtUs?: number): Promise<FoundAlert | ResolvedByHand> {
      const { result, happenings } = await store.transaction(async (tx) => {
        const meant = await findAlert(tx, alertId, startsAtUs);
        if (!meant.ok) return { result: meant, happenings: [] };
        const result = resolveByHand(meant.alert, by, rules, clock.nowUs());
        const alerts = result.ok ? [result.alert] : [];
        const decision = { alerts, links: [] };
        return { result, ...(await writeDecision(tx, [meant.alert], decision, rules, clock.nowUs())) };
      });
      if (!result.ok) {
        if ('probes' in result && result.probes !== undefined) probe(result.probes);
        return result;
      }
      for (const happening of happenings) report(happening);
      changed();
      return result;
    },
  };
}

export type WrittenNote = Pick<Note, 'author' | 'text' | 'isPublic'>;

type AddedNote = { readonly ok: true; readonly note: Note } | Extract<FoundAlert, { readonly ok: false }>;

export type NoteWriter = ReturnType<typeof createNoteWriter>;

interface NoteWriterOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Returns an unused id. */
  readonly newId: () => string;
  readonly isPublicNest: (name: string, nestId: string) => boolean;
}

export function createNoteWriter({ store, clock, newId, isPublicNest }: NoteWriterOptions) {
  const isOpen = ({ nest = '', nest_id: nestId }: Labels) =>
    nestId !== undefined && isPublicNest(nest, nestId);
  return {
    /** Whether everybody may see the state of the alert's Nest, and so what is noted for everybody. */
    isOpen,
    async add(alertId: string, { author, text: typed, isPublic }: WrittenNote): Promise<AddedNote> {
      const text = typed.replaceAll('\r\n', '\n').trim();
      if (manyLines(text, MAX_NOTE_LENGTH) === '') return refused('a note needs a text');
      if (text.length > MAX_NOTE_LENGTH) {
        return refused(`a note has at most ${MAX_NOTE_LENGTH} characters; this one has ${text.length}`);
      }
      return store.transaction(async (tx) => {
        const [last] = await tx.alerts.episodes(alertId, 1);
        const alert = (await tx.alerts.find(alertId)) ?? (last && alertOfEpisode(last));
        if (!alert) return { ok: false, problem: 'not_found', message: `there is no alert ${alertId}` };
        if (isPublic && !isOpen(alert.labels)) {
          return refused('no public page shows this alert: it is of no Nest that `web.public.nests` names');
        }
        if ((await tx.notes.ofAlert(alertId, SHOWN_NOTES)).length === SHOWN_NOTES) {
          return refused(`the alert has ${SHOWN_NOTES} notes already, the most that one may have`);
        }
        const { startsAtUs } = alert;
        const note = { id: newId(), alertId, startsAtUs, atUs: clock.nowUs(), author, text, isPublic };
        await tx.notes.add(note);
        return { ok: true, note };
      });
    },
  };
}

function refused(message: string): AddedNote {
  return { ok: false, problem: 'invalid', message };
}
