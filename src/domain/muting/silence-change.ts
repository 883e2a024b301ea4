/**
 * Decides how silences are created, changed and ended. Pure: from the present silences and a request follow those to
 * write. By Alertmanager's rules, what was muted in the past stays on record. So a silence whose matchers change, or
 * one that is over, is replaced by a new one with its own id.
 */

import { LIMITS, type LimitName } from '../../limits.ts';
import type { Alert, Labels } from '../alert/alert.ts';
import { formatMatcher, knownMatcher, type Matcher, sizeOf } from '../matchers/matcher.ts';
import { type Recurrence, type Recurrences, type Silence, silenceState } from './silence.ts';

/** What somebody requests. */
export interface SilenceRequest {
  /** The silence to change; absent for a new one. */
  readonly id?: string | undefined;
  readonly matchers: readonly Matcher[];
  /** Absent for now. */
  readonly startsAtUs?: number | undefined;
  readonly endsAtUs: number;
  readonly createdBy: string;
  readonly comment: string;
  readonly annotations?: Labels | undefined;
  /** Absent: as in the silence to change, or none. */
  readonly recurrence?: Recurrence | null | undefined;
}

/** The id of the resulting silence and what to write, or why not. */
export type SilenceChange =
  | { readonly ok: true; readonly id: string; readonly write: readonly Silence[] }
  | {
      readonly ok: false;
      readonly problem: 'not_found' | 'invalid';
      /** For people, without a full stop. */
      readonly message: string;
      /** The limit that was reached. */
      readonly limit?: LimitName;
    };

export interface ChangeContext {
  /** An unused UUID. */
  readonly newId: string;
  readonly recurrences: Recurrences;
  readonly nowUs: number;
}

type SilenceLimit = Extract<
  LimitName,
  'acknowledgements' | 'silence_characters' | 'silences' | 'silences_instructions'
>;

/**
 * An acknowledged alert may fire for long. The end of the episode ends the silence; this is only a valid end date for
 * it.
 */
const UNTIL_RESOLVED_US = 10 * 365 * 86_400_000_000;

/** Adds a silence, or changes the one that the request names. */
export function setSilence(
  present: readonly Silence[],
  request: SilenceRequest,
  context: ChangeContext,
): SilenceChange {
  const { nowUs } = context;
  const before = present.find(({ id }) => id === request.id);
  if (request.id && !before) return { ok: false, problem: 'not_found', message: 'silence not found' };
  const wanted: Silence = {
    id: context.newId,
    matchers: request.matchers,
    startsAtUs: request.startsAtUs ?? nowUs,
    endsAtUs: request.endsAtUs,
    updatedAtUs: nowUs,
    createdBy: request.createdBy,
    comment: request.comment,
    ...(request.annotations && { annotations: request.annotations }),
    recurrence: request.recurrence === undefined ? (before?.recurrence ?? null) : request.recurrence,
    alertId: null,
    alertStartsAtUs: null,
  };
  const message = mistakeOf(wanted, context);
  if (message !== undefined) return { ok: false, problem: 'invalid', message };
  const others = present.filter((one) => one !== before && isPlain(one) && nowUs < one.endsAtUs);
  const limit = limitReached(others, wanted);
  if (limit) return tooMuch(limit);
  if (before && isSame(before, wanted, nowUs)) {
    const { id, alertId, alertStartsAtUs } = before;
    const startsAtUs = silenceState(before, nowUs) === 'active' ? before.startsAtUs : wanted.startsAtUs;
    return { ok: true, id, write: [{ ...wanted, id, startsAtUs, alertId, alertStartsAtUs }] };
  }
  const added = { ...wanted, startsAtUs: Math.max(wanted.startsAtUs, nowUs) };
  return { ok: true, id: added.id, write: [...(before ? ended(before, nowUs) : []), added] };
}

/**
 * Ends a silence now, with `isWhole` all acknowledgements that were made together with it. One that is already over stays
 * as it is.
 */
export function expireSilence(
  present: readonly Silence[],
  id: string,
  nowUs: number,
  isWhole = false,
): SilenceChange {
  const silence = present.find((one) => one.id === id);
  if (!silence) return { ok: false, problem: 'not_found', message: 'silence not found' };
  const meant = isWhole ? madeTogether(silence, present) : [silence];
  return { ok: true, id, write: meant.flatMap((one) => ended(one, nowUs)) };
}

/** The silences that one action made, this one among them. */
export function madeTogether(silence: Silence, present: readonly Silence[]): Silence[] {
  const { alertId, createdBy, comment, startsAtUs } = silence;
  if (alertId === null) return [silence];
  return present.filter(
    (one) =>
      !isPlain(one) &&
      one.startsAtUs === startsAtUs &&
      one.createdBy === createdBy &&
      one.comment === comment,
  );
}

/** Mutes a firing alert until its current episode is over. An existing acknowledgement stays. */
export function acknowledge(
  present: readonly Silence[],
  alert: Alert,
  by: { readonly createdBy: string; readonly comment: string },
  { newId, nowUs }: Pick<ChangeContext, 'newId' | 'nowUs'>,
): SilenceChange {
  if (alert.state !== 'firing') {
    return { ok: false, problem: 'invalid', message: 'the alert is not firing' };
  }
  const known = present.find(
    (one) =>
      one.alertId === alert.id &&
      one.alertStartsAtUs === alert.startsAtUs &&
      silenceState(one, nowUs) === 'active',
  );
  if (known) return { ok: true, id: known.id, write: [] };
  const lasting = present.filter((one) => !isPlain(one) && nowUs < one.endsAtUs);
  if (lasting.length >= LIMITS.acknowledgements.most) return tooMuch('acknowledgements');
  const matchers = Object.entries(alert.labels).map(([name, value]) =>
    knownMatcher({ name, op: '=', value }),
  );
  const silence: Silence = {
    id: newId,
    matchers,
    startsAtUs: nowUs,
    endsAtUs: nowUs + UNTIL_RESOLVED_US,
    updatedAtUs: nowUs,
    ...by,
    recurrence: null,
    alertId: alert.id,
    alertStartsAtUs: alert.startsAtUs,
  };
  return { ok: true, id: newId, write: [silence] };
}

/** Ids of expired silences beyond the number that is kept: those that ended first. */
export function forgotten(present: readonly Silence[], nowUs: number): string[] {
  const over = present.filter((one) => silenceState(one, nowUs) === 'expired');
  const ended = over.toSorted((a, b) => b.endsAtUs - a.endsAtUs);
  return ended.slice(LIMITS.silences.most).map(({ id }) => id);
}

/** The silence to write in order to end it now; none if it is already over. */
export function ended(silence: Silence, nowUs: number): Silence[] {
  switch (silenceState(silence, nowUs)) {
    case 'expired':
      return [];
    case 'pending':
      return [{ ...silence, startsAtUs: nowUs, endsAtUs: nowUs, updatedAtUs: nowUs }];
    case 'active':
      return [{ ...silence, endsAtUs: nowUs, updatedAtUs: nowUs }];
  }
}

/** The wording is Alertmanager's where it has one. */
function mistakeOf(wanted: Silence, { recurrences, nowUs }: ChangeContext): string | undefined {
  const { matchers, startsAtUs, endsAtUs, recurrence } = wanted;
  if (matchers.length === 0) return 'at least one matcher required';
  if (matchers.every(isMetByNothing)) {
    return 'at least one matcher must not match the empty string';
  }
  if (startsAtUs >= endsAtUs) return 'start time must be before end time';
  if (endsAtUs < nowUs) return "end time can't be in the past";
  return recurrence === null ? undefined : recurrences.problem(recurrence);
}

/**
 * Whether a matcher requires an empty label. As in Alertmanager, one that excludes a value counts as requiring more.
 */
function isMetByNothing(matcher: Matcher): boolean {
  return (matcher.op === '=' || matcher.op === '=~') && matcher.matches({});
}

/** True for a silence that is not an acknowledgement. */
function isPlain({ alertId }: Silence): boolean {
  return alertId === null;
}

/** The limit that a silence would exceed, together with the `others` that are not over. */
function limitReached(others: readonly Silence[], wanted: Silence): SilenceLimit | undefined {
  if (charactersOf(wanted) > LIMITS.silence_characters.most) return 'silence_characters';
  if (others.length >= LIMITS.silences.most) return 'silences';
  const instructions = [...others, wanted].flatMap(({ matchers }) => matchers.map(safeSizeOf));
  const sum = instructions.reduce((total, one) => total + one, 0);
  return sum > LIMITS.silences_instructions.most ? 'silences_instructions' : undefined;
}

/** A silence stored under other limits that no longer compiles counts as no work. */
function safeSizeOf(matcher: Matcher): number {
  try {
    return sizeOf(matcher);
  } catch {
    return 0;
  }
}

function charactersOf({ matchers, createdBy, comment, annotations = {} }: Silence): number {
  const pairs = [...matchers.map(({ name, value }) => [name, value]), ...Object.entries(annotations)];
  return [...pairs.flat(), createdBy, comment].reduce((sum, text) => sum + text!.length, 0);
}

function tooMuch(limit: SilenceLimit): SilenceChange {
  const { most, unit, of } = LIMITS[limit];
  const message = `no more than ${most} ${unit} are taken for ${of}`;
  return { ok: false, problem: 'invalid', message, limit };
}

/** Whether the change leaves what was muted so far as it was, so that the silence can keep its id. */
function isSame(before: Silence, wanted: Silence, nowUs: number): boolean {
  if (textOf(before.matchers) !== textOf(wanted.matchers)) return false;
  if (JSON.stringify(before.recurrence) !== JSON.stringify(wanted.recurrence)) return false;
  switch (silenceState(before, nowUs)) {
    case 'expired':
      return false;
    case 'pending':
      return wanted.startsAtUs >= nowUs;
    case 'active':
      // Clients send the start back in milliseconds.
      return Math.floor(before.startsAtUs / 1e6) === Math.floor(wanted.startsAtUs / 1e6);
  }
}

function textOf(matchers: readonly Matcher[]): string {
  return matchers.map(formatMatcher).toSorted().join(',');
}
