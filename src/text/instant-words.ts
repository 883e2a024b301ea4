/** Writes durations, counts and instants for people; instants in UTC where the reader's time zone is unknown. */
import { createZoneFormats, wallClock } from '../time/zone-format.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

const UNITS = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'min'],
  [SECOND_MS, 's'],
] as const;

type Unit = (typeof UNITS)[number][1];

/**
 * How precisely a duration is written:
 *
 * - `two units`: the two largest units, rounded down: `3 days 4 h`, `2 h 10 min`, `12 min`, `45 s`
 * - `one unit`: the largest unit of which there are at least two, rounded down: `3 days`, `47 h`, `119 s`
 * - `rounded`: for measured values: `26 h`, `1.5 h`, `42 min`
 * - `exact`: for configured values: `26 h`, `10 min`, `90 s`
 */
export type Precision = 'two units' | 'one unit' | 'rounded' | 'exact';

/** A duration for people; negative ones count as 0. */
export function durationWords(durationMs: number, precision: Precision): string {
  if (precision === 'two units') return twoUnits(Math.max(0, durationMs));
  const { count, unit } = durationParts(durationMs, precision);
  return precision === 'one unit' ? inUnit(count, unit) : `${count} ${unit}`;
}

function durationParts(
  durationMs: number,
  precision: Exclude<Precision, 'two units'>,
): { readonly count: number; readonly unit: Unit } {
  const ms = Math.max(0, durationMs);
  switch (precision) {
    case 'one unit': {
      const [size, unit] = largestUnit((unitMs) => ms >= 2 * unitMs);
      return { count: Math.floor(ms / size), unit };
    }
    case 'rounded': {
      const [size, unit] = largestUnit((unitMs) => ms >= (unitMs === DAY_MS ? 3 : 1) * unitMs);
      const count = ms / size;
      return { count: count < 10 && unit !== 's' ? Math.round(count * 10) / 10 : Math.round(count), unit };
    }
    case 'exact': {
      const [size, unit] = largestUnit((unitMs) => ms >= unitMs && ms % unitMs === 0);
      return { count: ms / size, unit };
    }
  }
}

/** Seconds appear only for durations under a minute. */
function twoUnits(ms: number): string {
  const [size, unit] = largestUnit((unitMs) => ms >= unitMs);
  const first = inUnit(Math.floor(ms / size), unit);
  const [restMs, restUnit] = unit === 'd' ? [HOUR_MS, 'h'] : [MINUTE_MS, 'min'];
  const rest = Math.floor((ms % size) / restMs);
  return rest > 0 ? `${first} ${rest} ${restUnit}` : first;
}

function largestUnit(fits: (unitMs: number) => boolean): (typeof UNITS)[number] {
  return UNITS.find(([unitMs]) => fits(unitMs)) ?? UNITS[3];
}

function inUnit(count: number, unit: string): string {
  return unit === 'd' ? howMany(count, 'day') : `${count} ${unit}`;
}

/** A count for people: `1 event`, `312 events`, `2 tries`. */
export function howMany(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A part of a whole for people: `16.7 %`. What is not whole is never rounded up to it. */
export function percentWords(ratio: number): string {
  const percent = Math.round(ratio * 1000) / 10;
  return `${percent === 100 && ratio < 1 ? 99.9 : percent} %`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `2 Jul 2026, 13:59 UTC` */
export function dayAndTime(us: number): string {
  return dayAndClock(us, 'HH:MM'.length);
}

/** `2 Jul 2026, 13:59:34 UTC`: precise enough to find a Flight by it in the service. */
export function dayAndSecond(us: number): string {
  return dayAndClock(us, 'HH:MM:SS'.length);
}

/** `2 Jul` */
function dayAndMonth(us: number): string {
  const at = new Date(us / 1000);
  return `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}`;
}

/**
 * Writes instants in a zone as seen on the day of `nowUs`: `07:00`, `yesterday, 16:02`, `tomorrow, 07:00`,
 * `25 Nov, 16:02`. The zone must be valid.
 */
export function clockIn(zone: string, nowUs: number): (us: number) => string {
  const clock = wallClock(zone);
  const dayOf = (us: number) => {
    const { year, month, day } = clock(us / 1000);
    return Date.UTC(year, month - 1, day);
  };
  return (us) => {
    const { hour, minute } = clock(us / 1000);
    const time = [hour, minute].map((part) => String(part).padStart(2, '0')).join(':');
    const days = (dayOf(us) - dayOf(nowUs)) / 86_400_000;
    if (days === 0) return time;
    const day = days === -1 ? 'yesterday' : days === 1 ? 'tomorrow' : dayAndMonth(dayOf(us) * 1000);
    return `${day}, ${time}`;
  };
}

function dayAndClock(us: number, length: number): string {
  const at = new Date(us / 1000);
  const day = `${dayAndMonth(us)} ${at.getUTCFullYear()}`;
  return `${day}, ${at.toISOString().slice(11, 11 + length)} UTC`;
}

const WRITTEN = new RegExp(
  `\\b(\\d{1,2}) (${MONTHS.join('|')}) (\\d{4}), (\\d\\d:\\d\\d)(:\\d\\d)? UTC\\b`,
  'g',
);

/**
 * Converts each instant that `dayAndTime` or `dayAndSecond` wrote in the text to another zone: `2 Jul 2026, 15:59
 * CEST`. Stored texts may have been written before their reader was known.
 */
export function instantsIn(text: string, zone: string): string {
  return text.replace(WRITTEN, (_, day: string, month: string, year: string, clock: string, seconds = '') => {
    const ms = Date.UTC(Number(year), MONTHS.indexOf(month), Number(day), ...clockOf(`${clock}${seconds}`));
    const [date = '', time = '', ...name] = exactZoneTime(ms * 1000, zone).split(' ');
    const [years, months, days] = date.split('-').map(Number) as [number, number, number];
    const shown = seconds === '' ? time.slice(0, 'HH:MM'.length) : time;
    return `${days} ${MONTHS[months - 1]} ${years}, ${shown} ${name.join(' ')}`;
  });
}

function clockOf(text: string): [hours: number, minutes: number, seconds: number] {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number);
  return [hours, minutes, seconds];
}

/** `2026-07-02 13:59:34 UTC`: of constant width, for tables. */
export function exactTime(us: number): string {
  return `${new Date(us / 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `12 min ago`. Clocks differ a little: up to a minute in the future counts as now. */
export function ago(us: number, nowUs: number): string {
  if (us > nowUs + 60e6) return `in ${durationWords((us - nowUs) / 1000, 'one unit')}`;
  return `${durationWords((nowUs - us) / 1000, 'one unit')} ago`;
}

/** Writes instants in a zone for a narrow column, `29 Nov 06:38:39`: of constant width. The zone must be valid. */
export function shortClock(zone: string): (us: number) => string {
  const clock = wallClock(zone);
  return (us) => {
    const { month, day, hour, minute, second } = clock(us / 1000);
    const time = [hour, minute, second].map((part) => String(part).padStart(2, '0')).join(':');
    return `${String(day).padStart(2)} ${MONTHS[month - 1]} ${time}`;
  };
}

const twoDigits = { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
const formatOf = createZoneFormats('en-GB', {
  ...{ year: 'numeric', ...twoDigits, second: '2-digit' },
  ...{ hourCycle: 'h23', timeZoneName: 'short' },
});

/** `2026-07-02 15:59:34 CEST`: of constant width, for tables. `zone` must be valid. */
export function exactZoneTime(us: number, zone: string): string {
  const parts = formatOf(zone).formatToParts(us / 1000);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? '';
  const day = `${part('year')}-${part('month')}-${part('day')}`;
  return `${day} ${part('hour')}:${part('minute')}:${part('second')} ${part('timeZoneName')}`;
}
