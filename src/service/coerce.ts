/** Reads single values of JSON from outside. Each function takes whatever came and never throws. */
import { createHash } from 'node:crypto';
import { LIMITS, type LimitName } from '../limits.ts';
import { type Instant, parseInstant } from '../time/instant.ts';

/** Called when a text is longer than this limit, so that only its beginning is kept. */
export type Cut = (limit: LimitName) => void;

export type Json = Readonly<Record<string, unknown>>;

/** How much of an id that is too long for a key is kept, in front of a hash of all of it. */
const KEPT_OF_LONG_ID = 200;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const NOT_IN_IDS = /[\u0000-\u0020\u007f-\u009f\u2028\u2029]/;

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as text. Absent and null become ''; a list its items, one per line; an object its JSON. */
export function text(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  if (typeof value !== 'object') return String(value);
  return Array.isArray(value) ? value.map(line).join('\n') : jsonText(value);
}

/** An item of a list. Lists in it become JSON, because they may be nested deeper than the stack. */
function line(item: unknown): string {
  return typeof item === 'object' && item !== null ? jsonText(item) : text(item);
}

/** A word of the service (a state, a trigger type), in lower case and without surrounding space, to be compared. */
export function lower(value: unknown, cut?: Cut): string {
  return bounded(text(value).trim(), 'word_characters', cut).toLowerCase();
}

/**
 * An id as text; '' if there is no usable one. Whole numbers are written out; those beyond 2^53 are already text
 * (`parseJson`). `.` and `..` are refused, since they would change the path that they are put into.
 */
export function id(value: unknown): string {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : '';
  const id = idText(value);
  return id.length > LIMITS.id_characters.most ? '' : id;
}

/**
 * The id of an entry, which is never used in a request. If it is too long, it is replaced by its beginning and a hash
 * that tells it from others with the same beginning.
 */
export function entryId(value: unknown, cut?: Cut): string {
  if (typeof value === 'number') return id(value);
  const whole = idText(value);
  if (whole.length <= LIMITS.id_characters.most) return whole;
  cut?.('id_characters');
  return `${copied(whole.slice(0, KEPT_OF_LONG_ID))}~${createHash('sha256').update(whole).digest('hex').slice(0, 40)}`;
}

function idText(value: unknown): string {
  if (typeof value !== 'string') return '';
  const id = value.trim();
  return NOT_IN_IDS.test(id) || id === '.' || id === '..' ? '' : id;
}

/** A text, cut at a limit; if it was longer, how many characters are missing. */
export function bounded(
  value: unknown,
  limit: 'name_characters' | 'word_characters' | 'message_characters',
  cut?: Cut,
): string {
  const whole = text(value);
  const { most } = LIMITS[limit];
  if (whole.length <= most) return whole;
  cut?.(limit);
  return `${copied(whole.slice(0, most))}… [${whole.length - most} more characters]`;
}

/** A copy of a part of a text. Without the copy, V8 would keep the whole text in memory. */
function copied(part: string): string {
  return Buffer.from(part, 'utf16le').toString('utf16le');
}

/** True for `true` and `1`, also as text in any case; `otherwise` for what is neither yes nor no. */
export function bool<T>(value: unknown, otherwise: T): boolean | T {
  if (typeof value === 'boolean') return value;
  const word = lower(value);
  if (word === 'true' || word === '1') return true;
  return word === 'false' || word === '0' ? false : otherwise;
}

/** A finite number, also if it came as text; null for anything else. */
export function number(value: unknown): number | null {
  if (typeof value === 'string' && value.trim() !== '') return number(Number(value));
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function instant(value: unknown): Instant | null {
  return typeof value === 'string' ? (parseInstant(value) ?? null) : null;
}

/**
 * JSON text, without ever throwing, even if values are nested deeper than the stack. Of each text in it at most
 * `mostOfText` characters are taken.
 */
export function jsonText(value: unknown, mostOfText = Number.POSITIVE_INFINITY): string {
  const shorten = (_: string, one: unknown) =>
    typeof one === 'string' && one.length > mostOfText ? one.slice(0, mostOfText) : one;
  try {
    return (
      (mostOfText === Number.POSITIVE_INFINITY ? JSON.stringify(value) : JSON.stringify(value, shorten)) ?? ''
    );
  } catch {
    return '[not writable as JSON]';
  }
}
