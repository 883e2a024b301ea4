/** Makes ids as the service does: UUIDv7 for entries, GUIDs for Flights and Users. */
import type { Random } from '../../time/clock.ts';

/** A UUIDv7 (RFC 9562) whose millisecond is that of `createdAtUs`. */
export function uuidV7(createdAtUs: number, random: Random): string {
  const time = Math.max(0, Math.floor(createdAtUs / 1000))
    .toString(16)
    .padStart(12, '0');
  return join(`${time}7${hexDigits(random, 3)}`, random);
}

/** A random UUID (version 4). */
export function guid(random: Random): string {
  return join(`${hexDigits(random, 8)}${hexDigits(random, 4)}4${hexDigits(random, 3)}`, random);
}

/** Appends the variant and 62 random bits to the first half of a UUID. */
function join(half: string, random: Random): string {
  const variant = (8 + Math.floor(random() * 4)).toString(16);
  const start = `${half.slice(0, 8)}-${half.slice(8, 12)}-${half.slice(12)}`;
  return `${start}-${variant}${hexDigits(random, 3)}-${hexDigits(random, 6)}${hexDigits(random, 6)}`;
}

function hexDigits(random: Random, digits: number): string {
  return Math.floor(random() * 16 ** digits)
    .toString(16)
    .padStart(digits, '0');
}
