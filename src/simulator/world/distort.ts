/**
 * Distorts answers in ways that the specification does not rule out: numbers as text, null, missing and extra fields,
 * unknown values. The distortion depends on the displayed id alone, so each reading of an entry looks the same, even
 * of an entry that appears again under the id of another.
 */
import type { Behaviours } from './behaviours.ts';
import { chanceOf } from './seeded-random.ts';
import type { EntryRecord } from './simulated-record.ts';

type Json = Readonly<Record<string, unknown>>;

/** An event type that no client knows. */
const UNKNOWN_EVENT_TYPE = 'FlowArchived';

/** Applies the switches. Only the fields named in `nullable` are ever nulled or omitted. */
export function distorted(
  behaviours: Behaviours,
  id: string,
  value: Json,
  nullable: readonly string[],
): Json {
  const { numbersAsText, nullFields, missingFields, extraKeys } = behaviours;
  if (numbersAsText + nullFields + missingFields + extraKeys === 0) return value;
  const fields = new Map(Object.entries(value));
  if (chanceOf(`${id} numbers`) < numbersAsText) {
    for (const [key, field] of fields) fields.set(key, swapped(field));
  }
  for (const key of nullable) {
    if (chanceOf(`${id} null ${key}`) < nullFields) fields.set(key, null);
    if (chanceOf(`${id} missing ${key}`) < missingFields) fields.delete(key);
  }
  if (chanceOf(`${id} extra`) < extraKeys) {
    fields.set('revision', 3);
    fields.set('links', { self: `/${id}` });
  }
  return Object.fromEntries(fields);
}

/** Turns a number into text, and an id made of digits into a number. */
function swapped(field: unknown): unknown {
  if (typeof field === 'number') return String(field);
  return typeof field === 'string' && /^[1-9]\d{0,14}$/.test(field) ? Number(field) : field;
}

export function isUnknown(behaviours: Behaviours, id: string): boolean {
  return behaviours.unknownEnums > 0 && chanceOf(`${id} enum`) < behaviours.unknownEnums;
}

/** The `eventType` as written for a Bird log entry or notification. */
export function shownEventType(behaviours: Behaviours, entry: EntryRecord): string {
  return isUnknown(behaviours, shownId(entry)) ? UNKNOWN_EVENT_TYPE : String(entry.fields.eventType ?? '');
}

/** The entry's id, or the one that a raw override sets. */
export function shownId({ id, raw }: EntryRecord): string {
  const isOverridden = typeof raw === 'object' && raw !== null && 'id' in raw && typeof raw.id === 'string';
  return isOverridden ? (raw.id as string) : id;
}
