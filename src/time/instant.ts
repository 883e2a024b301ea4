/**
 * Reads and writes instants. In the program an instant is a whole number of microseconds since 1970 (`…Us`), which a
 * double holds exactly until the year 2255. A JavaScript `Date` would lose the last three digits. The service's own
 * text may have up to nine fraction digits, so the text is kept beside the number for display.
 */
export interface Instant {
  /** Microseconds since 1970; further digits are cut off, never rounded up. */
  readonly us: number;
  /** RFC 3339 in UTC with a `Z` and every fraction digit received. */
  readonly text: string;
}

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?\s*([Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?$/;

/** The form in which the service writes nearly every instant. */
const CANONICAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/** The years whose microseconds a double holds exactly. .NET's "not set" (year 1) and "never" (9999) lie outside. */
const FIRST_YEAR = 1685;
const LAST_YEAR = 2254;

/**
 * Reads an RFC 3339 date-time with 0 to 9 fraction digits. Without an offset it is taken as UTC (the service's
 * `startDate` may lack the `Z`). Returns undefined for anything else, including dates that do not exist and instants
 * that a double cannot hold exactly.
 */
export function parseInstant(text: string): Instant | undefined {
  return (CANONICAL.test(text) ? parseCanonical(text) : undefined) ?? parseAny(text);
}

/**
 * Every entry carries an instant, so the usual form is parsed without captures and without rewriting it, ten times as
 * fast. Days after the 28th and anything unusual are left to `parseAny`.
 */
function parseCanonical(text: string): Instant | undefined {
  const two = (at: number) => (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
  const year = two(0) * 100 + two(2);
  const month = two(5);
  const day = two(8);
  const isPlain =
    month >= 1 && month <= 12 && day >= 1 && day <= 28 && year >= FIRST_YEAR && year <= LAST_YEAR;
  if (!isPlain || two(11) > 23 || two(14) > 59 || two(17) > 59) return undefined;
  let us = Date.UTC(year, month - 1, day, two(11), two(14), two(17)) * 1000;
  for (let at = 20, unit = 100_000; at < text.length - 1 && unit >= 1; at += 1, unit /= 10) {
    us += (text.charCodeAt(at) - 48) * unit;
  }
  return { us, text };
}

function parseAny(text: string): Instant | undefined {
  const match = RFC3339.exec(text.trim());
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', offset = 'Z'] = match;
  if (+year! < FIRST_YEAR || +year! > LAST_YEAR) return undefined;
  if (+hour! > 23 || +minute! > 59 || +second! > 60) return undefined;
  const minuteMs = Date.UTC(+year!, +month! - 1, +day!, +hour!, +minute!);
  const date = new Date(minuteMs);
  if (date.getUTCMonth() !== +month! - 1 || date.getUTCDate() !== +day!) return undefined;
  // A leap second counts as the next one, mostly that of the next day.
  const wallMs = minuteMs + +second! * 1000;
  let offsetMinutes = 0;
  if (offset !== 'Z' && offset !== 'z') {
    const digits = offset.slice(1).replace(':', '');
    offsetMinutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2));
    if (offset[0] === '-') offsetMinutes = -offsetMinutes;
  }
  const utcMs = wallMs - offsetMinutes * 60_000;
  const us = utcMs * 1000 + Number(fraction.slice(0, 6).padEnd(6, '0'));
  const seconds = new Date(utcMs).toISOString().slice(0, 19);
  return { us, text: `${seconds}${fraction ? `.${fraction}` : ''}Z` };
}

/** What is wrong with a text that is no instant, as the end of a sentence. `example` says how one is written. */
export function instantMistake(text: string, example: string): string {
  const isLate = Number(/^\d{4}(?=-\d\d-\d\d)/.exec(text.trim())?.[0]) > LAST_YEAR;
  return isLate ? `must be before the year ${LAST_YEAR + 1}` : `must be ${example}`;
}

/** RFC 3339 in UTC with six fraction digits, the form in which the service writes its own times. */
export function formatInstant(us: number): string {
  const ms = Math.floor(us / 1000);
  const micros = us - ms * 1000;
  return `${new Date(ms).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}
