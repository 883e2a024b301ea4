import { parseInstant } from './instant.ts';

/**
 * Writes instants as the clocks of a time zone show them. A format takes 60 kB of which the garbage collector knows
 * nothing, and a hundred times as long to make as to use: each is made once and kept. There are some 600 names of zones,
 * which are the same in letters of either case, so what others ask for is bounded.
 */
export function createZoneFormats(
  options: Intl.DateTimeFormatOptions,
): (locale: string, zone: string) => Intl.DateTimeFormat {
  const formats = new Map<string, Intl.DateTimeFormat>();
  return (locale, zone) => {
    const timeZone = zone.toLowerCase();
    const key = `${locale} ${timeZone}`;
    const known = formats.get(key);
    if (known) return known;
    const format = new Intl.DateTimeFormat(locale, { ...options, timeZone });
    formats.set(key, format);
    return format;
  };
}

const clockOf = createZoneFormats({
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

/** What the clocks of a zone show at an instant; throws for what is no zone. */
export function wallClock(zone: string): (atMs: number) => {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
} {
  const format = clockOf('en-US', zone);
  return (atMs) => {
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    return {
      ...{ year: part('year'), month: part('month'), day: part('day') },
      ...{ hour: part('hour'), minute: part('minute'), second: part('second') },
    };
  };
}

/** What people write of a day and its time, without an offset. */
const WALL_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,6})?)?)?$/i;

/**
 * The microseconds of `2026-07-02`, `2026-07-02 13:59` or `2026-07-02T13:59:34` by the clocks of a zone, which must be
 * one. An hour that comes twice is the first, and in one that is left out the clocks count on. Undefined for any other
 * text, and for a day that there is not.
 */
export function parseWallTime(text: string, zone: string): number | undefined {
  const [, day, minute = '00:00', second = ':00'] = WALL_TIME.exec(text) ?? [];
  const asUtc = day && parseInstant(`${day}T${minute}${second}Z`);
  if (!asUtc || zone === 'UTC') return asUtc ? asUtc.us : undefined;
  const { epochNanoseconds } = Temporal.PlainDateTime.from(`${day}T${minute}${second}`).toZonedDateTime(zone);
  return Number(epochNanoseconds / 1000n);
}

/** Whether a name of a time zone is known here. Only names: an offset does not know when its clocks change. */
export function isTimezone(name: string): boolean {
  try {
    return /^[a-z]/i.test(name) && wallClock(name) !== undefined;
  } catch {
    return false;
  }
}

/** The name of the machine's own time zone. */
export function localTimezone(): string {
  return new Intl.DateTimeFormat('en').resolvedOptions().timeZone;
}
