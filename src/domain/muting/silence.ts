/**
 * Silences, with Alertmanager's meaning: a silence mutes the alerts that it matches while it lasts; people are
 * notified of those that still fire when it ends. An acknowledgement is a silence of one alert's current episode: it
 * mutes neither the end of that episode nor the next one.
 */

import { LIMITS } from '../../limits.ts';
import { type Cron, createCron, cronProblem } from '../../time/cron.ts';
import type { Alert, Labels } from '../alert/alert.ts';
import { type Matcher, matchesAll } from '../matchers/matcher.ts';

export interface Silence {
  /** A UUID. */
  readonly id: string;
  /** All must match; at least one must not match an empty value. */
  readonly matchers: readonly Matcher[];
  readonly startsAtUs: number;
  readonly endsAtUs: number;
  readonly updatedAtUs: number;
  readonly createdBy: string;
  readonly comment: string;
  /** What else clients of Alertmanager's API want to store with it; absent for nothing. */
  readonly annotations?: Labels;
  /** It mutes only within these windows between its start and end; null for all the time. */
  readonly recurrence: Recurrence | null;
  /** The acknowledged alert; null for a plain silence. */
  readonly alertId: string | null;
  /** `startsAtUs` of the acknowledged episode; null for a plain silence. */
  readonly alertStartsAtUs: number | null;
}

/** Windows that open at each instant of the cron expression and stay open for `durationMs`. */
export interface Recurrence {
  /** Five fields: minute, hour, day of month, month, day of week. */
  readonly cron: string;
  /** An IANA name, such as `Europe/Amsterdam`. */
  readonly timezone: string;
  /** 1 minute to 7 days. */
  readonly durationMs: number;
}

/** Evaluates recurrences, and remembers what it computed of each. */
export interface Recurrences {
  /** What is wrong with a recurrence, as a sentence for people; undefined if it is valid. */
  problem(recurrence: Recurrence): string | undefined;
  /** Whether a window is open at this instant. */
  isOpen(recurrence: Recurrence, nowUs: number): boolean;
  /** When the first window in [fromUs, beforeUs) opens; undefined for none. */
  nextOpening(recurrence: Recurrence, fromUs: number, beforeUs: number): number | undefined;
}

export type SilenceState = 'pending' | 'active' | 'expired';

/**
 * Alertmanager's three states. A recurring silence is active between its windows, too. A silence that had begun, or
 * was ended by hand, when it was written stays so, even if our clock was set back since.
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

/** Whether it mutes what it matches at this instant. */
export function isHiding(silence: Silence, nowUs: number, recurrences: Recurrences): boolean {
  if (silenceState(silence, nowUs) !== 'active') return false;
  return silence.recurrence === null || recurrences.isOpen(silence.recurrence, nowUs);
}

/** From when on it mutes what it matches: now or later; undefined if never. */
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

/** The properties of an alert by which it is muted. */
export type Silenceable = Pick<Alert, 'id' | 'labels' | 'annotations' | 'state' | 'startsAtUs' | 'memory'>;

/** Whether the silence applies to this alert. */
export function concerns(silence: Silence, alert: Silenceable): boolean {
  if (silence.alertId === null) return matchesAll(silence.matchers, alert.labels);
  return silence.alertId === alert.id && !isAcknowledgementOver(silence, alert);
}

/** The silences that acknowledge each alert, by the alert's id: there may be as many as alerts. */
export function acknowledgementsByAlert(
  silences: readonly Silence[],
): ReadonlyMap<string, readonly Silence[]> {
  const own = silences.filter((one) => one.alertId !== null);
  return Map.groupBy(own, (one) => one.alertId!);
}

/** True once the acknowledged episode is over. `alert` must be the acknowledged one. */
export function isAcknowledgementOver(silence: Silence, alert: Silenceable): boolean {
  return alert.state !== 'firing' || alert.startsAtUs !== silence.alertStartsAtUs;
}

// Evaluates time windows that a cron expression opens repeatedly. Whether one is open depends on when the expression
// last matched.

const MINUTE_MS = 60_000;
const LONGEST_MS = 7 * 24 * 60 * MINUTE_MS;

/** A recurrence, and its newest opening at any instant in [fromUs, untilUs); undefined if its window is over by then. */
interface Known {
  readonly cron: Cron;
  fromUs: number;
  untilUs: number;
  openedUs: number | undefined;
}

export function createRecurrences(): Recurrences {
  const known = new Map<string, Known>();

  function look({ cron, timezone, durationMs }: Recurrence): Known {
    // How far back was searched depends on the duration: the result for a shorter one is not enough for a longer one.
    const key = JSON.stringify([cron, timezone, durationMs]);
    const found = known.get(key);
    if (found) return found;
    const made = { cron: createCron(cron, timezone), fromUs: 0, untilUs: 0, openedUs: undefined };
    // Silences come and go, so the oldest entry is evicted.
    const [oldest] = known.size >= LIMITS.silences.most ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    known.set(key, made);
    return made;
  }

  return {
    problem,
    nextOpening: (recurrence, fromUs, beforeUs) => look(recurrence).cron.next(fromUs, beforeUs),
    isOpen(recurrence, nowUs) {
      const one = look(recurrence);
      const closedUs = nowUs - recurrence.durationMs * 1000;
      if (nowUs < one.fromUs || nowUs >= one.untilUs) {
        one.openedUs = one.cron.latest(closedUs, nowUs);
        one.fromUs = nowUs;
        one.untilUs = one.cron.next(nowUs + 1, Number.POSITIVE_INFINITY) ?? Number.POSITIVE_INFINITY;
      }
      return one.openedUs !== undefined && one.openedUs > closedUs;
    },
  };
}

function problem({ cron, timezone, durationMs }: Recurrence): string | undefined {
  const mistake = cronProblem(cron, timezone);
  if (mistake) return mistake;
  const isInBounds = durationMs >= MINUTE_MS && durationMs <= LONGEST_MS;
  return isInBounds ? undefined : 'the duration must be at least 1m and not longer than 7d';
}
