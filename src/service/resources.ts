/**
 * Reads the service's resources into our own types: our names, text that is never null, ids as text, times with every
 * digit. The API's field names stop in this file.
 *
 * Reading is tolerant, because the service promises little: missing and null fields, numbers as text and text as
 * numbers, unknown values and extra keys all pass. An entry is malformed only if it is not an object, has no usable id,
 * or (if it is ordered by time) has no readable `createdAt`. Then its raw JSON is handed on.
 */

import { createHash } from 'node:crypto';
import { LIMITS, type LimitName } from '../limits.ts';
import { foldedGuid } from '../text/plain-text.ts';
import { type Instant, parseInstant } from '../time/instant.ts';

export const BIRD_STATUSES = ['active', 'unpublished', 'suspended'] as const;
export const TRIGGER_TYPES = ['manual', 'event', 'scheduled'] as const;
export const FLIGHT_STATUSES = ['succeeded', 'failed', 'cancelled', 'active'] as const;

/** The names for the integer `errorType` of a Flight log entry, by index. */
export const ERROR_TYPES = [
  'None',
  'CorePlatform',
  'PluginApplication',
  'PluginMisconfiguration',
  'PluginUnhandled',
  'RequestTimeOut',
  'OutOfMemory',
  'FileSizeLimit',
] as const;

export interface User {
  readonly id: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  /** Undefined if the service does not say. */
  readonly isActive: boolean | undefined;
}

export interface Nest {
  readonly id: string;
  readonly name: string;
  /** Members without a usable id are left out. */
  readonly members: readonly User[];
  /** True if the answer has no list of members, or one with malformed items. */
  readonly lacksMembers?: true;
}

export interface Bird {
  readonly id: string;
  readonly nestId: string;
  readonly name: string;
  /** Lower case; one of `BIRD_STATUSES` or a value not known today; '' when missing. */
  readonly status: string;
  /** Lower case; one of `TRIGGER_TYPES` or a value not known today; '' when missing. */
  readonly triggerType: string;
  /** If the service does not say: whether the status is not `unpublished`; undefined if it is not known either. */
  readonly isPublished: boolean | undefined;
}

export interface Flight {
  /** Lower case: Flight ids are GUIDs, compared without case. */
  readonly id: string;
  readonly birdId: string;
  readonly nestId: string;
  /** Lower case; one of `FLIGHT_STATUSES` or a value not known today; '' when missing. */
  readonly status: string;
  readonly errorMessages: string;
  readonly startedAt: Instant | null;
  readonly durationSeconds: number | null;
}

export interface BirdLogEntry {
  readonly id: string;
  readonly createdAt: Instant;
  readonly nestId: string;
  readonly birdId: string;
  readonly eventType: string;
  readonly message: string;
  readonly eventFailedBy: string;
  readonly errorType: string;
  readonly initiator: string;
}

export interface FlightLogEntry {
  readonly id: string;
  readonly createdAt: Instant;
  readonly nestId: string;
  /** Lower case, like a Flight's own id. */
  readonly flightId: string;
  readonly initiator: string;
  readonly message: string;
  /** 1 start, 2 end, 3 stopped, 4 SDK log, 5 error; text when it is not a number; '' when missing. */
  readonly eventType: number | string;
  readonly durationSeconds: number | null;
  readonly eventFailedBy: string;
  readonly isSkipped: boolean;
  readonly isRetried: boolean;
  readonly sdkLogType: string;
  readonly stepId: string;
  readonly scope: string;
  /** One of `ERROR_TYPES`; the digits of an unknown index; any other text as it is. */
  readonly errorType: string;
}

export interface NotificationEntry {
  readonly id: string;
  readonly createdAt: Instant;
  /** Empty if it concerns the whole organisation. */
  readonly nestId: string;
  readonly entityId: string;
  readonly entityName: string;
  readonly entityType: string;
  readonly eventType: string;
  readonly message: string;
}

/** One entry that was read, or else why it was not, with its JSON of at most 64 KiB. */
export type Parsed<T> = { readonly ok: true; readonly entry: T } | Malformed;

interface Malformed {
  readonly ok: false;
  readonly raw: string;
  readonly reason: string;
  /** Present if that can be read. */
  readonly createdAt?: Instant;
}

export interface Page<T> {
  readonly items: readonly Parsed<T>[];
  readonly totalCount: number | null;
  readonly page: number | null;
  readonly pageSize: number | null;
}

/** The context of reading: ids from the request's path, for entries that leave them out, and whom to tell of cuts. */
interface Within {
  readonly nestId?: string;
  readonly birdId?: string;
  readonly flightId?: string;
  readonly cut?: Cut;
}

export function readUser(value: unknown, within: Within = {}): Parsed<User> {
  if (!isRecord(value)) return malformed(value, 'not an object');
  const userId = id(value.id);
  if (userId === '') return malformed(value, 'no usable id');
  return {
    ok: true,
    entry: {
      id: userId,
      firstName: name(value.firstName, within),
      lastName: name(value.lastName, within),
      email: emailAddress(value.email),
      isActive: bool(value.isActive, undefined),
    },
  };
}

export function readNest(value: unknown, within: Within = {}): Parsed<Nest> {
  if (!isRecord(value)) return malformed(value, 'not an object');
  const nestId = id(value.id);
  if (nestId === '') return malformed(value, 'no usable id');
  const members = Array.isArray(value.members)
    ? value.members.map((member) => readUser(member, within))
    : undefined;
  return {
    ok: true,
    entry: {
      id: nestId,
      name: name(value.name, within),
      members: (members ?? []).flatMap((member) => (member.ok ? [member.entry] : [])),
      ...(!members?.every(({ ok }) => ok) && { lacksMembers: true }),
    },
  };
}

export function readBird(value: unknown, within: Within): Parsed<Bird> {
  if (!isRecord(value)) return malformed(value, 'not an object');
  const birdId = id(value.id);
  if (birdId === '') return malformed(value, 'no usable id');
  const status = lower(value.status, within.cut);
  return {
    ok: true,
    entry: {
      id: birdId,
      nestId: id(value.nestId) || (within.nestId ?? ''),
      name: name(value.name, within),
      status,
      triggerType: lower(value.triggerType, within.cut),
      isPublished: bool(
        value.isPublished,
        BIRD_STATUSES.some((one) => one === status) ? status !== 'unpublished' : undefined,
      ),
    },
  };
}

export function readFlight(value: unknown, within: Within): Parsed<Flight> {
  if (!isRecord(value)) return malformed(value, 'not an object');
  const flightId = foldedGuid(id(value.id));
  if (flightId === '') return malformed(value, 'no usable id');
  return {
    ok: true,
    entry: {
      id: flightId,
      birdId: id(value.birdId) || (within.birdId ?? ''),
      nestId: id(value.nestId) || (within.nestId ?? ''),
      status: lower(value.status, within.cut),
      errorMessages: message(value.errorMessages, within),
      startedAt: instant(value.startDate),
      durationSeconds: number(value.duration),
    },
  };
}

const name = (value: unknown, { cut }: Within) => bounded(value, 'name_characters', cut);
const word = (value: unknown, { cut }: Within) => bounded(value, 'word_characters', cut);
const message = (value: unknown, { cut }: Within) => bounded(value, 'message_characters', cut);

/** More than an address may have (RFC 5321, 4.5.3.1), so that a part of a longer one is never taken for an address. */
const MAX_EMAIL_LENGTH = 320;

const emailAddress = (value: unknown) => text(value).slice(0, MAX_EMAIL_LENGTH);

/**
 * Reads an entry of a log or of the notifications. Every one must have what identifies it and gives its place in order;
 * `read` reads the rest.
 */
function stamped<T>(
  value: unknown,
  { cut }: Within,
  read: (fields: Json) => T,
): Parsed<T & { readonly id: string; readonly createdAt: Instant }> {
  if (!isRecord(value)) return malformed(value, 'not an object');
  const ownId = entryId(value.id, cut);
  const createdAt = instant(value.createdAt);
  if (createdAt === null) return malformed(value, ownId === '' ? 'no usable id' : 'no readable createdAt');
  if (ownId === '') return { ...malformed(value, 'no usable id'), createdAt };
  return { ok: true, entry: { id: ownId, createdAt, ...read(value) } };
}

export function readBirdLogEntry(value: unknown, within: Within): Parsed<BirdLogEntry> {
  return stamped(value, within, (fields) => ({
    nestId: id(fields.workspaceId) || (within.nestId ?? ''),
    birdId: id(fields.workflowId) || (within.birdId ?? ''),
    eventType: word(fields.eventType, within),
    message: message(fields.message, within),
    eventFailedBy: name(fields.eventFailedBy, within),
    errorType: errorType(fields.errorType, within),
    initiator: name(fields.initiator, within),
  }));
}

export function readFlightLogEntry(value: unknown, within: Within): Parsed<FlightLogEntry> {
  return stamped(value, within, (fields) => ({
    nestId: id(fields.workspaceId) || (within.nestId ?? ''),
    flightId: foldedGuid(id(fields.flowInstanceId) || (within.flightId ?? '')),
    initiator: name(fields.initiator, within),
    message: message(fields.message, within),
    eventType: number(fields.eventType) ?? word(fields.eventType, within),
    durationSeconds: number(fields.durationInSeconds),
    eventFailedBy: name(fields.eventFailedBy, within),
    isSkipped: bool(fields.isSkipped, false),
    isRetried: bool(fields.isRetried, false),
    sdkLogType: word(fields.sdkLogType, within),
    stepId: name(fields.stepId, within),
    scope: name(fields.scope, within),
    errorType: errorType(fields.errorType, within),
  }));
}

export function readNotification(value: unknown, within: Within = {}): Parsed<NotificationEntry> {
  return stamped(value, within, (fields) => ({
    nestId: id(fields.workspaceId),
    entityId: id(fields.entityId),
    entityName: name(fields.entityName, within),
    entityType: word(fields.entityType, within),
    eventType: word(fields.eventType, within),
    message: message(fields.message, within),
  }));
}

/**
 * The page in an answer whose items were read already (`itemsOf`); undefined if it is none. `items` may be null, or
 * absent if the count is 0. Any other object without a list is no page: an error object must not pass for the end of
 * a list.
 */
export function pageIn<T>(value: unknown): Page<T> | undefined {
  if (!isRecord(value)) return undefined;
  const totalCount = number(value.totalCount);
  const items = value.items === null || (value.items === undefined && totalCount === 0) ? [] : value.items;
  if (!Array.isArray(items)) return undefined;
  return {
    items: items as Parsed<T>[],
    totalCount,
    page: number(value.page),
    pageSize: number(value.pageSize),
  };
}

function errorType(value: unknown, within: Within): string {
  const index = number(value);
  return index === null ? word(value, within) : (ERROR_TYPES[index] ?? String(index));
}

/** How much of a malformed entry is kept. */
const MAX_RAW_BYTES = 65_536;

function malformed(value: unknown, reason: string): Malformed {
  const whole = jsonText(value, MAX_RAW_BYTES);
  // A code unit takes at most three bytes of UTF-8, and so does the replacement for a character that was cut in two.
  const raw =
    whole.length * 3 <= MAX_RAW_BYTES
      ? whole
      : Buffer.from(whole.slice(0, MAX_RAW_BYTES))
          .subarray(0, MAX_RAW_BYTES - 3)
          .toString();
  return { ok: false, raw, reason };
}

// Reads single values of JSON from outside. Each function takes whatever came and never throws.

/** Called when a text is longer than this limit, so that only its beginning is kept. */
export type Cut = (limit: LimitName) => void;

type Json = Readonly<Record<string, unknown>>;

/** How much of an id that is too long for a key is kept, in front of a hash of all of it. */
const KEPT_OF_LONG_ID = 200;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const NOT_IN_IDS = /[\u0000-\u0020\u007f-\u009f\u2028\u2029]/;

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as text. Absent and null become ''; a list its items, one per line; an object its JSON. */
function text(value: unknown): string {
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
function lower(value: unknown, cut?: Cut): string {
  return bounded(text(value).trim(), 'word_characters', cut).toLowerCase();
}

/**
 * An id as text; '' if there is no usable one. Whole numbers are written out; those beyond 2^53 are already text
 * (`parseJson`). `.` and `..` are refused, since they would change the path that they are put into.
 */
function id(value: unknown): string {
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
function bounded(
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
function bool<T>(value: unknown, otherwise: T): boolean | T {
  if (typeof value === 'boolean') return value;
  const word = lower(value);
  if (word === 'true' || word === '1') return true;
  return word === 'false' || word === '0' ? false : otherwise;
}

/** A finite number, also if it came as text; null for anything else. */
function number(value: unknown): number | null {
  if (typeof value === 'string' && value.trim() !== '') return number(Number(value));
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function instant(value: unknown): Instant | null {
  return typeof value === 'string' ? (parseInstant(value) ?? null) : null;
}

/**
 * JSON text, without ever throwing, even if values are nested deeper than the stack. Of each text in it at most
 * `mostOfText` characters are taken.
 */
function jsonText(value: unknown, mostOfText = Number.POSITIVE_INFINITY): string {
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
