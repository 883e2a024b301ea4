import * as z from 'zod';
import { type Check, checkName, namesIn, readList, refuseRepeated } from '../../document/check.ts';
import type { Path } from '../../document/problem.ts';
import { words } from '../../document/value-shape.ts';
import { zoneMistakes } from '../../domain/kinds/kind.ts';
import {
  createTimeInterval,
  type Span,
  type TimeInterval,
  type TimeIntervals,
} from '../../domain/muting/muting.ts';
import { isTimezone, localTimezone } from '../../time/zone-format.ts';

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june'],
  ...['july', 'august', 'september', 'october', 'november', 'december'],
];

const weekday = spans({
  read: (text) => WEEKDAYS.indexOf(text),
  least: 0,
  most: 6,
  error: 'must be a weekday such as monday, or a range such as monday:friday',
  order: 'the range must not go past saturday: a week begins on sunday, so write two ranges',
});

const month = spans({
  read: (text) => (MONTHS.includes(text) ? MONTHS.indexOf(text) + 1 : wholeNumber(text)),
  least: 1,
  most: 12,
  error: 'must be a month such as may or 5, or a range such as may:august',
  order: 'the range must not go past december: write two ranges',
});

const year = spans({
  read: wholeNumber,
  least: 0,
  most: 9999,
  error: 'must be a year such as 2026, or a range such as 2026:2028',
  order: 'the first year must not come after the last',
});

/** Days from the end of the month count backwards; the shortest month has 28. */
const SHORTEST_MONTH = 28;
const dayOfMonth = spans({
  read: (text) => wholeNumber(text) || Number.NaN,
  least: -31,
  most: 31,
  error:
    'must be a day from 1 to 31, or from the end of the month -1 to -31, or a range such as 1:5 or -3:-1',
  order: 'the first day must not come after the last',
  isOrdered({ from, to }) {
    if (from < 0 && to > 0) return false;
    const [first, last] = [from, to].map((day) => (day < 0 ? SHORTEST_MONTH + day : day));
    return first! <= last!;
  },
});

/** Alertmanager's name for the machine's time zone. */
const LOCAL = 'Local';
const NO_LOCAL = 'is not known of this machine, where TZ names no zone: write one such as Europe/Amsterdam';

const NOT_A_TIME = 'must be a time such as "06:00", up to "24:00"';
const TIME = /^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/;
const timeOfDay = z
  .string({ error: ({ input }) => (input === undefined ? undefined : NOT_A_TIME) })
  .regex(TIME, { error: NOT_A_TIME });

const timesShape = z
  .strictObject({
    start_time: timeOfDay.describe('For example `"08:00"`.'),
    end_time: timeOfDay.describe('Exclusive end, up to `"24:00"`.'),
  })
  // An invalid time already has its own message.
  .refine(({ start_time, end_time }) => start_time < end_time || !TIME.test(start_time), {
    path: ['end_time'],
    error: 'must be later than `start_time`: for a night write two ranges, one up to "24:00"',
  })
  .transform(({ start_time, end_time }): Span => ({ from: minuteOf(start_time), to: minuteOf(end_time) }));

/** An empty list restricts nothing, as in Alertmanager. */
const several = <Shape extends z.ZodType>(shape: Shape) =>
  z
    .array(shape)
    .transform((list) => (list.length > 0 ? list : undefined))
    .optional();

const timeIntervalShape = z.strictObject({
  times: several(timesShape).describe('Times of day, in the time zone `location`.'),
  weekdays: several(weekday).describe('For example `monday:friday`.'),
  days_of_month: several(dayOfMonth).describe('For example `1:5`, or `-1` for the last day.'),
  months: several(month).describe('For example `may:august` or `12`.'),
  years: several(year).describe('For example `2026:2028`.'),
  location: words
    .refine((name) => name === LOCAL || isTimezone(name), {
      error: 'is not a time zone such as Europe/Amsterdam or UTC',
    })
    .transform((name, context) => {
      if (name !== LOCAL) return name;
      const zone = localTimezone();
      if (zone === undefined) context.addIssue({ code: 'custom', message: NO_LOCAL });
      return zone ?? z.NEVER;
    })
    .prefault('UTC')
    .describe("Time zone, such as Europe/Amsterdam; `Local` is this machine's."),
});

export const namedTimeIntervalShape = z.strictObject({
  name: words.describe(
    'The name by which `mute_time_intervals` and `active_time_intervals` of routes refer to it.',
  ),
  time_intervals: z
    .array(timeIntervalShape)
    .describe(
      'An instant is inside the interval if it matches one of these entries. It matches an entry if it matches everything given there.',
    ),
});

interface SpanWords {
  /** The number of a word; NaN or a number out of range if it has none. */
  readonly read: (text: string) => number;
  readonly least: number;
  readonly most: number;
  readonly error: string;
  /** The message for a range that ends before it begins. */
  readonly order: string;
  readonly isOrdered?: (span: Span) => boolean;
}

/** One value or a range, `first:last`; a bare number in the file is a value. */
function spans({ read, least, most, error, order, isOrdered = ({ from, to }) => from <= to }: SpanWords) {
  return z.union([z.string(), z.int()], { error }).transform((value, context): Span => {
    const ends = String(value).toLowerCase().split(':').map(read);
    const [from = Number.NaN, to = from] = ends;
    const isRead = ends.length <= 2 && [from, to].every((one) => one >= least && one <= most);
    if (!isRead || !isOrdered({ from, to })) {
      context.addIssue({ code: 'custom', message: isRead ? order : error });
      return z.NEVER;
    }
    return { from, to };
  });
}

function wholeNumber(text: string): number {
  return /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
}

function minuteOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

/** Alertmanager's older name for the same list, and the newer one; both may be given. */
const LISTS = ['mute_time_intervals', 'time_intervals'];

export function readTimeIntervals(check: Check): TimeIntervals {
  const intervals = new Map<string, readonly TimeInterval[]>();
  const paths = LISTS.flatMap((list) => readList(check, [list]));
  refuseRepeated(check, paths, 'time interval');
  for (const path of paths) {
    checkLocations(check, path);
    const named = check.read(namedTimeIntervalShape, path);
    if (!named) continue;
    const made = named.time_intervals.map(({ days_of_month: daysOfMonth, ...spec }) =>
      createTimeInterval({ ...spec, daysOfMonth }),
    );
    intervals.set(named.name, made);
  }
  return intervals;
}

/** Says which zone was meant, unless that would quote what comes from the environment. */
function checkLocations(check: Check, path: Path): void {
  for (const interval of readList(check, [...path, 'time_intervals'])) {
    const place = [...interval, 'location'];
    const zone = check.raw(place);
    if (!zone || zone === LOCAL || check.isExpanded(place)) continue;
    const [mistake] = zoneMistakes(() => zone);
    if (mistake) check.problem(place, mistake.message);
  }
}

/** Adds a problem for each name in the list at `path` that no time interval of the file has. */
export function checkTimeIntervalNames(check: Check, path: Path): void {
  const list = check.raw(path);
  if (!Array.isArray(list)) return;
  const names = LISTS.flatMap((key) => namesIn(check, key));
  for (const index of list.keys()) checkName(check, [...path, index], names, 'time interval');
}
