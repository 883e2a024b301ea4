/** Instants for people. Always UTC: a message does not know where it is read. */
import { durationWords } from './duration-words.ts';

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

/** `2026-07-02 13:59:34 UTC`: of one width, for tables. */
export function exactTime(us: number): string {
  return `${new Date(us / 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `12 min ago`. Clocks differ a little: what is less than a minute ahead counts as now. */
export function ago(us: number, nowUs: number): string {
  if (us > nowUs + 60e6) return `in ${durationWords((us - nowUs) / 1000, 'one unit')}`;
  return `${durationWords((nowUs - us) / 1000, 'one unit')} ago`;
}
