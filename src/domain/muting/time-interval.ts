/**
 * Time intervals, with Alertmanager's meaning: an instant lies in an interval when each list that the interval has
 * holds its part of the date and time, as the clocks of the interval's location show it. Seconds do not matter.
 */
import { wallClock } from '../../time/zone-format.ts';
import type { Route } from '../routing/route.ts';

/** Both ends belong to it. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Lists that are absent hold everything. */
export interface TimeIntervalSpec {
  /** Minutes of the day from 0 to 1440, the end exclusive. */
  readonly times?: readonly Span[] | undefined;
  /** 0 for Sunday to 6. */
  readonly weekdays?: readonly Span[] | undefined;
  /** 1 to 31, or -1 for the last day of the month to -31. */
  readonly daysOfMonth?: readonly Span[] | undefined;
  /** 1 for January to 12. */
  readonly months?: readonly Span[] | undefined;
  readonly years?: readonly Span[] | undefined;
  /** A name of the IANA database. */
  readonly location: string;
}

export interface TimeInterval {
  readonly spec: TimeIntervalSpec;
  contains(atUs: number): boolean;
}

/** By name; an instant is in what a name stands for when it is in one of its intervals. */
export type TimeIntervals = ReadonlyMap<string, readonly TimeInterval[]>;

/** Throws a `RangeError` for a location that is not known here. */
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

/**
 * The names of the intervals that mute a route at an instant: those of its `mute_time_intervals` that hold it, and
 * all of its `active_time_intervals` where none of them holds it. A name that is not known holds nothing.
 */
export function mutingIntervals(
  route: Pick<Route, 'muteTimeIntervals' | 'activeTimeIntervals'>,
  intervals: TimeIntervals,
  atUs: number,
): string[] {
  const { muteTimeIntervals = [], activeTimeIntervals = [] } = route;
  const holds = (name: string) => intervals.get(name)?.some((one) => one.contains(atUs)) ?? false;
  const muting = muteTimeIntervals.filter(holds);
  return activeTimeIntervals.length === 0 || activeTimeIntervals.some(holds)
    ? muting
    : [...activeTimeIntervals, ...muting];
}

function isIn(spans: readonly Span[] | undefined, holds: (span: Span) => boolean): boolean {
  return spans === undefined || spans.some(holds);
}

/** Days that count from the end, and days beyond it, take the month's own length: the 31st never begins in April. */
function isDayIn({ from, to }: Span, day: number, daysInMonth: number): boolean {
  const first = from < 0 ? daysInMonth + from + 1 : from;
  const last = to < 0 ? daysInMonth + to + 1 : to;
  return day >= first && day <= last;
}

interface WallTime {
  /** Of the day. */
  readonly minute: number;
  readonly weekday: number;
  readonly day: number;
  readonly month: number;
  readonly year: number;
}

/** What the clocks of a place show. */
function wallTime(location: string): (atUs: number) => WallTime {
  const clock = wallClock(location);
  return (atUs) => {
    const { year, month, day, hour, minute } = clock(Math.floor(atUs / 1000));
    const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
    return { minute: hour * 60 + minute, weekday, day, month, year };
  };
}
