/**
 * The short id of an event, for paper and telephone: `7hq2m9-x4t`. It depends on the event alone, so every message,
 * page and log line shows the same one, whichever store the event is in. Six letters encode the second in which it
 * occurred (repeating after 34 years), three a hash of its key: two events in a store hardly ever share one.
 */
import { hash } from 'node:crypto';
import type { Event } from './event.ts';

/** Crockford's alphabet: without `i`, `l`, `o` and `u`, which are misread. */
const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz';
const SECOND_LETTERS = 6;
const HASH_LETTERS = 3;

/** Seconds after which the first part repeats. */
export const SHORT_ID_ERA = 2 ** (5 * SECOND_LETTERS);

export function shortId({ key, occurredAtUs }: Pick<Event, 'key' | 'occurredAtUs'>): string {
  const second = Math.floor(occurredAtUs / 1e6);
  const within = ((second % SHORT_ID_ERA) + SHORT_ID_ERA) % SHORT_ID_ERA;
  const first = Number.parseInt(hash('sha256', key.toWellFormed()).slice(0, 4), 16) >> 1;
  return `${letters(within, SECOND_LETTERS)}-${letters(first, HASH_LETTERS)}`;
}

interface ShortId {
  /** As `shortId` writes it. */
  readonly text: string;
  /** The second within its era. */
  readonly second: number;
}

/** Reads a short id as people type it, in any case and with characters easily mistaken; undefined for anything else. */
export function readShortId(typed: string): ShortId | undefined {
  const text = typed.trim().toLowerCase().replaceAll('o', '0').replaceAll(/[il]/g, '1');
  const [, first, last] = /^([0-9a-hjkmnp-tv-z]{6})-?([0-9a-hjkmnp-tv-z]{3})$/.exec(text) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const second = [...first].reduce((sum, letter) => sum * 32 + LETTERS.indexOf(letter), 0);
  return { text: `${first}-${last}`, second };
}

function letters(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32))
    text = LETTERS[rest % 32]! + text;
  return text;
}
