/**
 * The deadlines of a rule, and how the Flights of a Bird met them. This follows from the Flights and the rule as they are
 * now, so it is computed again for every page and digest, and nothing of it is stored.
 */
import { clockIn, durationWords } from '../../text/instant-words.ts';
import { createCron } from '../../time/cron.ts';
import type { Period } from '../../time/zone-format.ts';

const DAY_US = 86_400_000_000;

/** Matches of a cron expression that one search looks at: all may be inside a time interval, and each takes 70 µs. */
export const MOST_LOOKED_AT = 100;

/** What a rule says of its deadlines. */
interface DeadlineRule {
  /** A cron expression; undefined gives no deadlines. */
  readonly landedBy: string | undefined;
  readonly timezone: string;
  readonly withinMs: number | undefined;
  /** Names of time intervals. */
  readonly except: readonly string[];
}

/** An instant by which a Flight must have landed. */
export interface Due {
  readonly atUs: number;
  /** A Flight that started before does not count. */
  readonly fromUs: number;
}

/** A deadline that has passed. */
export interface Deadline extends Due {
  /** `late`: a Flight that counts has landed since, and before the next deadline. */
  readonly outcome: 'met' | 'late' | 'missed';
  /** The first Flight that landed; only of one that is late. */
  readonly landed?: { readonly flightId: string; readonly atUs: number };
}

/** A Flight as last seen. */
export interface PastFlight {
  readonly flightId: string;
  /** 0 if the service does not say: its end stands in for it (`startOf`). */
  readonly startedAtUs: number;
  readonly status: string;
  /** Absent while it is in the air, or if unknown. */
  readonly endedAtUs?: number;
}

/** When a Flight started or, if the service does not say, ended; 0 if it does not say that either. */
export function startOf({ startedAtUs, endedAtUs = 0 }: PastFlight): number {
  return startedAtUs || endedAtUs;
}

interface Schedule {
  /** The first deadline after this instant; undefined if none of the next `MOST_LOOKED_AT` is one. */
  after(us: number): Due | undefined;
  /**
   * The last deadlines in (afterUs, untilUs], at most `most`, oldest first. No more matches of the cron expression are
   * looked at than `MOST_LOOKED_AT`, or `most` if that is more. `matches`: those of a period that contains this one
   * (`matchesOf`), so that they are not searched again.
   */
  between(afterUs: number, untilUs: number, most: number, matches?: readonly number[]): Due[];
}

/** All matches of a rule in [fromUs, untilUs), newest first, in turns of about 10 ms. */
export async function matchesOf(
  { landedBy, timezone }: DeadlineRule,
  { fromUs, untilUs }: Period,
  pause: () => Promise<unknown>,
): Promise<number[]> {
  const found: number[] = [];
  if (landedBy === undefined) return found;
  for (const atUs of createCron(landedBy, timezone).backwards(fromUs - 1, untilUs - 1)) {
    found.push(atUs);
    if (found.length % MOST_LOOKED_AT === 0) await pause();
  }
  return found;
}

/** `isWithin` says whether one of these time intervals contains an instant. */
export function scheduleOf(
  rule: DeadlineRule,
  isWithin: (intervals: readonly string[], us: number) => boolean,
): Schedule {
  const { landedBy, timezone, withinMs, except } = rule;
  if (landedBy === undefined) return { after: () => undefined, between: () => [] };
  const cron = createCron(landedBy, timezone);
  /** The instants of the last deadlines in (afterUs, untilUs], at most so many, oldest first. */
  const last = (
    afterUs: number,
    untilUs: number,
    most: number,
    matches: Iterable<number> = cron.backwards(afterUs, untilUs),
  ): number[] => {
    const found: number[] = [];
    let looked = 0;
    for (const atUs of matches) {
      if (looked === Math.max(MOST_LOOKED_AT, most) || found.length === most) break;
      looked += 1;
      if (!isWithin(except, atUs)) found.push(atUs);
    }
    return found.reverse();
  };
  /** By default a Flight counts that started since the deadline before, for a day at most. */
  const fromOf = (atUs: number, beforeUs = last(atUs - DAY_US, atUs - 1, 1)[0] ?? 0) =>
    Math.max(beforeUs, atUs - DAY_US);
  const due = (atUs: number, beforeUs?: number): Due => ({
    atUs,
    fromUs: withinMs !== undefined ? atUs - withinMs * 1000 : fromOf(atUs, beforeUs),
  });
  return {
    after(us) {
      let atUs: number | undefined = us;
      for (let looked = 0; atUs !== undefined && looked < MOST_LOOKED_AT; looked += 1) {
        atUs = cron.next(atUs + 1, us + 366 * DAY_US);
        if (atUs !== undefined && !isWithin(except, atUs)) return due(atUs);
      }
      return undefined;
    },
    between: (afterUs, untilUs, most, matches) =>
      last(
        afterUs,
        untilUs,
        most,
        matches?.filter((atUs) => atUs > afterUs && atUs <= untilUs),
      ).map((atUs, at, all) => due(atUs, all[at - 1])),
  };
}

/**
 * How these Flights met deadlines, oldest first. One that landed after the next deadline was missed, not late; `nextUs` is
 * the deadline after the last of them, if it may have passed.
 */
export function outcomesOf(
  due: readonly Due[],
  flights: readonly PastFlight[],
  nextUs = Number.POSITIVE_INFINITY,
): Deadline[] {
  const landings = flights
    .filter(({ status }) => status === 'succeeded')
    .map((flight) => ({ ...flight, landedUs: flight.endedAtUs ?? flight.startedAtUs }))
    .toSorted((a, b) => a.landedUs - b.landedUs);
  let next = 0;
  return due.map((one, index) => {
    const { atUs, fromUs } = one;
    const untilUs = due[index + 1]?.atUs ?? nextUs;
    // What started too early for one deadline did so for all later ones.
    while (next < landings.length && startOf(landings[next]!) < fromUs) next += 1;
    const first = landings[next];
    if (!first || first.landedUs > untilUs) return { ...one, outcome: 'missed' };
    if (first.landedUs <= atUs) return { ...one, outcome: 'met' };
    return { ...one, outcome: 'late', landed: { flightId: first.flightId, atUs: first.landedUs } };
  });
}

/** How many deadlines had each outcome. */
export interface Outcomes {
  readonly met: number;
  readonly late: number;
  readonly missed: number;
  /** How late the latest of those that were late was. */
  readonly latestUs: number;
}

export function countOutcomes(deadlines: readonly Deadline[]): Outcomes {
  const count = (outcome: Deadline['outcome']) => deadlines.filter((one) => one.outcome === outcome).length;
  const latestUs = deadlines.reduce((latest, one) => Math.max(latest, lateUs(one)), 0);
  return { met: count('met'), late: count('late'), missed: count('missed'), latestUs };
}

/** `12 met, 1 late (24 min), 1 missed` */
export function outcomeWords(outcomes: Outcomes): string {
  return [`${outcomes.met} met`, ...unmetWords(outcomes)].join(', ');
}

/** `1 late (24 min)`, `1 missed`; without those that did not happen. */
export function unmetWords({ late, missed, latestUs }: Outcomes): string[] {
  return [
    ...(late > 0 ? [`${late} late (${durationWords(latestUs / 1000, 'two units')})`] : []),
    ...(missed > 0 ? [`${missed} missed`] : []),
  ];
}

/** `today, 07:00 (Amsterdam), missed`, or `…, late (24 min)`. */
export function deadlineWords(deadline: Deadline, zone: string, nowUs: number): string {
  const late = deadline.landed ? ` (${durationWords(lateUs(deadline) / 1000, 'two units')})` : '';
  return `${nearWords(deadline.atUs, zone, nowUs)} (${zonePlace(zone)}), ${deadline.outcome}${late}`;
}

/** `today, 07:00` */
export function nearWords(us: number, zone: string, nowUs: number): string {
  return clockIn(zone, nowUs)(us).replace(/^\d\d:/, 'today, $&');
}

/** How late a Flight landed that was late; otherwise 0. */
export function lateUs({ atUs, landed }: Deadline): number {
  return landed ? landed.atUs - atUs : 0;
}

/** `Amsterdam` of `Europe/Amsterdam`. */
export function zonePlace(zone: string): string {
  return zone.split('/').at(-1)!.replaceAll('_', ' ');
}
