/**
 * Silences, with Alertmanager's meaning: a silence mutes the alerts that it matches while it lasts, and people are
 * notified of those that still fire when it ends. An acknowledgement is a silence of one alert's present episode: it hides
 * neither the end of that episode nor the next one.
 */
import type { Alert, Labels } from '../alert/alert.ts';
import { type Matcher, matchesAll } from '../matchers/matcher.ts';

export interface Silence {
  /** A UUID. */
  readonly id: string;
  /** All must fit; at least one does not fit an empty value. */
  readonly matchers: readonly Matcher[];
  readonly startsAtUs: number;
  readonly endsAtUs: number;
  readonly updatedAtUs: number;
  readonly createdBy: string;
  readonly comment: string;
  /** What else clients of Alertmanager's API want to remember of it; absent for nothing. */
  readonly annotations?: Labels;
  /** It hides only within these windows between its start and its end; null for all the time. */
  readonly recurrence: Recurrence | null;
  /** The alert that is acknowledged; null for a plain silence. */
  readonly alertId: string | null;
  /** `startsAtUs` of the acknowledged episode; null for a plain silence. */
  readonly alertStartsAtUs: number | null;
}

/** Windows that open at each instant of the cron expression and stay open for `durationMs`. */
export interface Recurrence {
  /** Five fields: minute, hour, day of month, month, day of week. */
  readonly cron: string;
  /** A name of the IANA database, e.g. `Europe/Amsterdam`. */
  readonly timezone: string;
  /** 1 minute to 7 days. */
  readonly durationMs: number;
}

/** Reads cron expressions: the library stays outside of this room (`recurrence.ts`). */
export interface Recurrences {
  /** What is wrong with one, as a sentence for people; undefined for nothing. */
  problem(recurrence: Recurrence): string | undefined;
  /** Whether a window is open at this instant. */
  isOpen(recurrence: Recurrence, nowUs: number): boolean;
  /** When the first window in [fromUs, beforeUs) opens; undefined for none. */
  nextOpening(recurrence: Recurrence, fromUs: number, beforeUs: number): number | undefined;
}

export type SilenceState = 'pending' | 'active' | 'expired';

/**
 * Alertmanager's three states. A recurring silence is active between its windows, too. What had begun, or was ended by
 * hand, when the silence was written stays so, though our clock was set back since.
 */
export function silenceState({ startsAtUs, endsAtUs, updatedAtUs }: Silence, nowUs: number): SilenceState {
  if (nowUs >= endsAtUs || endsAtUs <= updatedAtUs) return 'expired';
  return nowUs < startsAtUs && startsAtUs > updatedAtUs ? 'pending' : 'active';
}

/** How many silences are in each state. */
export function countSilences(
  silences: readonly Silence[],
  nowUs: number,
): { readonly state: SilenceState; readonly count: number }[] {
  const states = silences.map((silence) => silenceState(silence, nowUs));
  return (['pending', 'active', 'expired'] as const).map((state) => ({
    state,
    count: states.filter((one) => one === state).length,
  }));
}

/** Whether it hides what it matches at this instant. */
export function isHiding(silence: Silence, nowUs: number, recurrences: Recurrences): boolean {
  if (silenceState(silence, nowUs) !== 'active') return false;
  return silence.recurrence === null || recurrences.isOpen(silence.recurrence, nowUs);
}

/** From when on it hides what it matches: now, or later; undefined where it never does. */
export function hidesFromUs(
  { startsAtUs, endsAtUs, recurrence }: Pick<Silence, 'startsAtUs' | 'endsAtUs' | 'recurrence'>,
  nowUs: number,
  recurrences: Recurrences,
): number | undefined {
  const fromUs = Math.max(startsAtUs, nowUs);
  if (fromUs >= endsAtUs) return undefined;
  if (recurrence === null || recurrences.isOpen(recurrence, fromUs)) return fromUs;
  return recurrences.nextOpening(recurrence, fromUs, endsAtUs);
}

/** What of an alert a silence looks at. */
export type Silenceable = Pick<Alert, 'id' | 'labels' | 'state' | 'startsAtUs'>;

/** Whether this alert is one of those that the silence hides while it hides. */
export function concerns(silence: Silence, alert: Silenceable): boolean {
  if (silence.alertId === null) return matchesAll(silence.matchers, alert.labels);
  return silence.alertId === alert.id && !isAcknowledgementOver(silence, alert);
}

/** Those that acknowledge an alert, by its id: there may be as many as alerts. */
export function acknowledgementsByAlert(
  silences: readonly Silence[],
): ReadonlyMap<string, readonly Silence[]> {
  const own = silences.filter((one) => one.alertId !== null);
  return Map.groupBy(own, (one) => one.alertId!);
}

/** True once the episode that was acknowledged is over. Asked with the acknowledged alert. */
export function isAcknowledgementOver(silence: Silence, alert: Silenceable): boolean {
  return alert.state !== 'firing' || alert.startsAtUs !== silence.alertStartsAtUs;
}
