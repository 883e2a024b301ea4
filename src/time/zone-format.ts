/** Time zones: how their clocks show an instant, and the months, days and hours into which they divide time. */
import { parseInstant } from './instant.ts';

/**
 * Caches formats that write instants in a time zone. A format takes 60 kB that the garbage collector does not know
 * about, and creating it takes a hundred times as long as using it. There are about 600 zone names, compared without
 * case, so the cache is limited even if its keys come from outside.
 */
export function createZoneFormats(
  locale: string,
  options: Intl.DateTimeFormatOptions,
): (zone: string) => Intl.DateTimeFormat {
  const formats = new Map<string, Intl.DateTimeFormat>();
  return (zone) => {
    const timeZone = zone.toLowerCase();
    const known = formats.get(timeZone);
    if (known) return known;
    const format = new Intl.DateTimeFormat(locale, { ...options, timeZone });
    formats.set(timeZone, format);
    return format;
  };
}

const clockOf = createZoneFormats('en-US', {
  calendar: 'gregory',
  numberingSystem: 'latn',
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
});

/** Returns what the clocks of a zone show at an instant. Throws for an unknown zone. */
export function wallClock(zone: string): (atMs: number) => {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
} {
  const format = clockOf(zone);
  return (atMs) => {
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    return {
      ...{ year: part('year'), month: part('month'), day: part('day') },
      ...{ hour: part('hour'), minute: part('minute'), second: part('second') },
    };
  };
}

/** A day, optionally with a time, as people write it, without an offset. */
const WALL_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,6})?)?)?$/i;

/**
 * Reads `2026-07-02`, `2026-07-02 13:59` or `2026-07-02T13:59:34` as a wall-clock time in a zone, which must be
 * valid, and returns microseconds since 1970. In an hour that occurs twice the first is meant; a time in a skipped
 * hour is moved forward. Undefined for any other text and for a day that does not exist.
 */
export function parseWallTime(text: string, zone: string): number | undefined {
  const [, day, minute = '00:00', second = ':00'] = WALL_TIME.exec(text) ?? [];
  const asUtc = day && parseInstant(`${day}T${minute}${second}Z`);
  if (!asUtc || zone === 'UTC') return asUtc ? asUtc.us : undefined;
  const { epochNanoseconds } = Temporal.PlainDateTime.from(`${day}T${minute}${second}`).toZonedDateTime(zone);
  return Number(epochNanoseconds / 1000n);
}

const MAX_ZONE_LENGTH = 64;

/**
 * Whether there is a time zone of this name, such as `Europe/Amsterdam`. Plain offsets are refused, because they have no
 * daylight saving time, and so are abbreviations, which mean several zones: Intl takes some of them, Temporal none.
 */
export function isTimezone(name: string): boolean {
  if (name.length > MAX_ZONE_LENGTH || !/^[a-z][a-z0-9_+/-]*$/i.test(name)) return false;
  try {
    new Temporal.ZonedDateTime(0n, name);
    return wallClock(name) !== undefined;
  } catch {
    return false;
  }
}

/** The name of the machine's own time zone; undefined if `TZ` is empty or names a file, from which ICU reads no zone. */
export function localTimezone(): string | undefined {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en').resolvedOptions();
    clockOf(timeZone);
    return timeZone;
  } catch {
    return undefined;
  }
}

export type PeriodSort = '1h' | '1d';

export interface Period {
  readonly fromUs: number;
  /** Exclusive. */
  readonly untilUs: number;
}

/** The months, days or hours of a zone, which must be valid. */
interface Periods {
  at(us: number): Period;
  /** The one at the same time of the week, so many weeks before. */
  weeksBefore(period: Period, weeks: number): Period;
}

export function periodsOf(sort: PeriodSort | '1mo', zone: string): Periods {
  const zoned = (us: number) =>
    Temporal.Instant.fromEpochMilliseconds(Math.floor(us / 1000)).toZonedDateTimeISO(zone);
  const begin = (time: Temporal.ZonedDateTime) => {
    if (sort === '1h') return time.round({ smallestUnit: 'hour', roundingMode: 'floor' });
    return (sort === '1mo' ? time.with({ day: 1 }) : time).startOfDay();
  };
  const periodOf = (time: Temporal.ZonedDateTime): Period => {
    const from = begin(time);
    const until =
      sort === '1h'
        ? from.add({ hours: 1 })
        : from.add(sort === '1d' ? { days: 1 } : { months: 1 }).startOfDay();
    return { fromUs: from.epochMilliseconds * 1000, untilUs: until.epochMilliseconds * 1000 };
  };
  return {
    at: (us) => periodOf(zoned(us)),
    weeksBefore: ({ fromUs }, weeks) => periodOf(zoned(fromUs).subtract({ weeks })),
  };
}
