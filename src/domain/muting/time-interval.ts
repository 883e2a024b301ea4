/**
 * Time intervals, with Alertmanager's meaning: an instant is in an interval if every list of the interval contains
 * the corresponding part of its date and time, by the clocks of the interval's location. Seconds do not matter.
 */
import { wallClock } from '../../time/zone-format.ts';
import type { Route } from '../routing/route.ts';

/** Both ends are included. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A missing list contains everything. */
export interface TimeIntervalSpec {
  /** Minutes of the day from 0 to 1440; the end is exclusive. */
  readonly times?: readonly Span[] | undefined;
  /** 0 for Sunday to 6. */
  readonly weekdays?: readonly Span[] | undefined;
  /** 1 to 31, or -1 for the last day of the month to -31. */
  readonly daysOfMonth?: readonly Span[] | undefined;
  /** 1 for January to 12. */
  readonly months?: readonly Span[] | undefined;
  readonly years?: readonly Span[] | undefined;
  /** An IANA name. */
  readonly location: string;
}

export interface TimeInterval {
  readonly spec: TimeIntervalSpec;
  contains(atUs: number): boolean;
}

/** By name. A name contains an instant if one of its intervals does. */
export type TimeIntervals = ReadonlyMap<string, readonly TimeInterval[]>;

/** Throws a `RangeError` for an unknown location. */
export function createTimeInterval(spec: TimeIntervalSpec): TimeInterval {
  const clock = wallTime(spec.location);
  return {
    spec,
    contains(atUs) {
      const { minute, weekday, day, month, year } = clock(atUs);
      const daysInMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
      return (
        isIn(spec.times, ({ from, to }) => minute >= from && minute < to) &&
        isIn(spec.daysOfMonth, (span) => isDayIn(span, day, daysInMonth)) &&
        isIn(spec.months, ({ from, to }) => month >= from && month <= to) &&
        isIn(spec.weekdays, ({ from, to }) => weekday >= from && weekday <= to) &&
        isIn(spec.years, ({ from, to }) => year >= from && year <= to)
      );
    },
  };
}

/** Tells whether any of some intervals contains an instant; an unknown name contains nothing. */
export function isWithinAny(intervals: TimeIntervals): (names: readonly string[], atUs: number) => boolean {
  return (names, atUs) => names.some((name) => intervals.get(name)?.some((one) => one.contains(atUs)));
}

/**
 * The names of the intervals that mute a route at an instant: those of its `mute_time_intervals` that contain it, and
 * all of its `active_time_intervals` if none of them contains it. An unknown name contains nothing.
 */
export function mutingIntervals(
  route: Pick<Route, 'muteTimeIntervals' | 'activeTimeIntervals'>,
  intervals: TimeIntervals,
  atUs: number,
): string[] {
  const { muteTimeIntervals = [], activeTimeIntervals = [] } = route;
  const isWithin = isWithinAny(intervals);
  const holds = (name: string) => isWithin([name], atUs);
  const muting = muteTimeIntervals.filter(holds);
  return activeTimeIntervals.length === 0 || activeTimeIntervals.some(holds)
    ? muting
    : [...activeTimeIntervals, ...muting];
}

function isIn(spans: readonly Span[] | undefined, holds: (span: Span) => boolean): boolean {
  return spans === undefined || spans.some(holds);
}

/**
 * Resolves negative days, and days beyond the month's end, by the month's length: a range from the 31st never begins
 * in April.
 */
function isDayIn({ from, to }: Span, day: number, daysInMonth: number): boolean {
  const first = from < 0 ? daysInMonth + from + 1 : from;
  const last = to < 0 ? daysInMonth + to + 1 : to;
  return day >= first && day <= last;
}

interface WallTime {
  /** Minute of the day. */
  readonly minute: number;
  readonly weekday: number;
  readonly day: number;
  readonly month: number;
  readonly year: number;
}

/** What the clocks of a location show. */
function wallTime(location: string): (atUs: number) => WallTime {
  const clock = wallClock(location);
  return (atUs) => {
    const { year, month, day, hour, minute } = clock(Math.floor(atUs / 1000));
    const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
    return { minute: hour * 60 + minute, weekday, day, month, year };
  };
}
