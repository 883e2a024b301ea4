/** Instants for people, in UTC: what is written does not know where it is read. */
import { durationWords } from './duration-words.ts';
import { exactZoneTime } from './zone-time.ts';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `2 Jul 2026, 13:59 UTC` */
export function dayAndTime(us: number): string {
  return dayAndClock(us, 'HH:MM'.length);
}

/** `2 Jul 2026, 13:59:34 UTC`: fine enough to find a Flight by it in the service. */
export function dayAndSecond(us: number): string {
  return dayAndClock(us, 'HH:MM:SS'.length);
}

function dayAndClock(us: number, length: number): string {
  const at = new Date(us / 1000);
  const day = `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
  return `${day}, ${at.toISOString().slice(11, 11 + length)} UTC`;
}

const WRITTEN = new RegExp(
  `\\b(\\d{1,2}) (${MONTHS.join('|')}) (\\d{4}), (\\d\\d:\\d\\d)(:\\d\\d)? UTC\\b`,
  'g',
);

/**
 * The text with each instant that `dayAndTime` or `dayAndSecond` wrote as it is in another zone: `2 Jul 2026, 15:59 CEST`.
 * What a text is made of may have been written long before anybody knew its reader.
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

/** `2026-07-02 13:59:34 UTC`: of one width, for tables. */
export function exactTime(us: number): string {
  return `${new Date(us / 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `12 min ago`. Clocks differ a little: what is less than a minute ahead counts as now. */
export function ago(us: number, nowUs: number): string {
  if (us > nowUs + 60e6) return `in ${durationWords((us - nowUs) / 1000, 'one unit')}`;
  return `${durationWords((nowUs - us) / 1000, 'one unit')} ago`;
}
