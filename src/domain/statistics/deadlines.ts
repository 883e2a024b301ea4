/**
 * The deadlines of a rule, and how the Flights of a Bird met them. This follows from the Flights and the rule as they are
 * now, so it is computed again for every page and digest, and nothing of it is stored.
 */
import { type Cron, createCron } from '../../time/cron.ts';

const DAY_US = 86_400_000_000;

/** Matches of a cron expression that one search looks at: all may be inside a time interval, and each takes 70 µs. */
const MOST_LOOKED_AT = 100;

/** What a rule says of its deadlines. */
export interface DeadlineRule {
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

interface SeenFlight {
  readonly flightId: string;
  readonly startedAtUs: number;
  readonly status: string;
  readonly endedAtUs?: number;
}

interface Schedule {
  /** The first deadline after this instant; undefined if none of the next `MOST_LOOKED_AT` is one. */
  after(us: number): Due | undefined;
  /** The last deadlines in (afterUs, untilUs], at most so many (100), oldest first. */
  between(afterUs: number, untilUs: number, most: number): Due[];
}

/** `isWithin` says whether one of these time intervals contains an instant. */
export function scheduleOf(
  rule: DeadlineRule,
  isWithin: (intervals: readonly string[], us: number) => boolean,
): Schedule {
  const { landedBy, timezone, withinMs, except } = rule;
  if (landedBy === undefined) return { after: () => undefined, between: () => [] };
  const cron = createCron(landedBy, timezone);
  const due = (atUs: number): Due => ({ atUs, fromUs: fromOf(cron, withinMs, atUs) });
  return {
    after(us) {
      let atUs: number | undefined = us;
      for (let looked = 0; atUs !== undefined && looked < MOST_LOOKED_AT; looked += 1) {
        atUs = cron.next(atUs + 1, us + 366 * DAY_US);
        if (atUs !== undefined && !isWithin(except, atUs)) return due(atUs);
      }
      return undefined;
    },
    between(afterUs, untilUs, most) {
      const found: Due[] = [];
      let atUs: number | undefined = untilUs + 1;
      for (let looked = 0; looked < MOST_LOOKED_AT && found.length < most; looked += 1) {
        atUs = cron.latest(afterUs, atUs - 1);
        if (atUs === undefined) break;
        if (!isWithin(except, atUs)) found.unshift(due(atUs));
      }
      return found;
    },
  };
}

/** Since when a Flight counts: by default since the deadline before, for a day at most. */
function fromOf(cron: Cron, withinMs: number | undefined, atUs: number): number {
  if (withinMs !== undefined) return atUs - withinMs * 1000;
  return cron.latest(atUs - DAY_US, atUs - 1) ?? atUs - DAY_US;
}

/** How these Flights met deadlines, oldest first. One that landed after the next deadline was missed, not late. */
export function outcomesOf(due: readonly Due[], flights: readonly SeenFlight[]): Deadline[] {
  return due.map((one, index) => {
    const { atUs, fromUs } = one;
    const landed = flights
      .filter(({ status, startedAtUs }) => status === 'succeeded' && startedAtUs >= fromUs)
      .map((flight) => ({ flight, endedUs: flight.endedAtUs ?? flight.startedAtUs }))
      .filter(({ endedUs }) => endedUs <= (due[index + 1]?.atUs ?? Number.POSITIVE_INFINITY))
      .sort((a, b) => a.endedUs - b.endedUs)[0];
    if (!landed) return { ...one, outcome: 'missed' };
    if (landed.endedUs <= atUs) return { ...one, outcome: 'met' };
    return { ...one, outcome: 'late', landed: { flightId: landed.flight.flightId, atUs: landed.endedUs } };
  });
}
