/** Instants and durations in words, for mails. Always UTC: a mail does not know where it is read. */
import { day } from './day-and-time.ts';

/** `2 Jul 2026, 13:59:34 UTC`: fine enough to find a Flight by it in the service. */
export function dayAndSecond(us: number): string {
  const at = new Date(us / 1000);
  return `${day(at)} ${at.getUTCFullYear()}, ${at.toISOString().slice(11, 19)} UTC`;
}

/** `45 s`, `12 min`, `2 h 10 min`, `3 days 4 h`: the two largest units, cut. */
export function duration(us: number): string {
  const seconds = Math.max(0, Math.floor(us / 1_000_000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (days > 0) return join(days === 1 ? '1 day' : `${days} days`, hours % 24, 'h');
  if (hours > 0) return join(`${hours} h`, minutes % 60, 'min');
  return minutes > 0 ? `${minutes} min` : `${seconds} s`;
}

function join(first: string, rest: number, unit: string): string {
  return rest > 0 ? `${first} ${rest} ${unit}` : first;
}
