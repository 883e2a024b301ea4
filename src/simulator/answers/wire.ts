/** Writes records as the JSON of the specification, distorted as the behaviours ask. */
import { formatInstant } from '../../time/instant.ts';
import type { Behaviours } from '../world/behaviours.ts';
import { distorted, isUnknown, shownEventType, shownId } from '../world/distort.ts';
import {
  type BirdRecord,
  type EntryRecord,
  endOf,
  type FlightLogRecord,
  type FlightRecord,
  type NestRecord,
  type UserRecord,
} from '../world/simulated-record.ts';

const SECOND_US = 1_000_000;
/** Notifications older than this count as seen by a person. */
const SEEN_AFTER_US = 3600 * SECOND_US;

export function userJson(behaviours: Behaviours, user: UserRecord): unknown {
  const { id, firstName, lastName, email, isActive } = user;
  const json = { id, firstName, lastName, email, isActive };
  return distorted(behaviours, id, json, ['lastName', 'email']);
}

export function nestJson(
  behaviours: Behaviours,
  nest: NestRecord,
  users: ReadonlyMap<string, UserRecord>,
): unknown {
  const members = [...nest.memberIds].flatMap((id) => {
    const user = users.get(id);
    return user ? [userJson(behaviours, user)] : [];
  });
  return distorted(behaviours, nest.id, { id: nest.id, name: nest.name, members }, ['members']);
}

export function birdJson(behaviours: Behaviours, bird: BirdRecord): unknown {
  const { id, nestId, name, status } = bird;
  const triggerType = isUnknown(behaviours, id) ? 'agent' : bird.triggerType;
  const json = { id, nestId, name, status, triggerType, isPublished: status !== 'unpublished' };
  return distorted(behaviours, id, json, ['isPublished']);
}

export function flightJson(
  behaviours: Behaviours,
  flight: FlightRecord,
  nestId: string,
  nowUs: number,
): unknown {
  const end = endOf(flight);
  const messagesAtUs = end ? end.endedAtUs + behaviours.errorMessagesLateMs * 1000 : nowUs;
  const startDate = instantText(behaviours, flight.startedAtUs);
  const json = {
    id: flight.id,
    birdId: flight.birdId,
    nestId,
    status: end?.status ?? 'active',
    errorMessages: end?.errorMessages && nowUs >= messagesAtUs ? end.errorMessages : undefined,
    startDate: behaviours.startDateWithoutZ ? startDate.slice(0, -1) : startDate,
    duration: Math.floor(((end?.endedAtUs ?? nowUs) - flight.startedAtUs) / SECOND_US),
  };
  return distorted(behaviours, flight.id, json, ['errorMessages', 'duration']);
}

export function birdLogJson(behaviours: Behaviours, entry: EntryRecord): unknown {
  const { message, eventFailedBy, initiator } = entry.fields;
  const errorType = entry.fields.errorType;
  const json = {
    id: entry.id,
    createdAt: instantText(behaviours, entry.createdAtUs),
    workspaceId: Number(entry.nestId),
    workflowId: Number(entry.birdId),
    ...entry.fields,
    eventType: shownEventType(behaviours, entry),
    message,
    eventFailedBy,
    errorType: errorType !== undefined && isUnknown(behaviours, shownId(entry)) ? 'PluginQuota' : errorType,
    initiator,
  };
  return overlaid(
    distorted(behaviours, shownId(entry), json, ['workspaceId', 'message', 'initiator']),
    entry.raw,
  );
}

export function notificationJson(behaviours: Behaviours, entry: EntryRecord, nowUs: number): unknown {
  const { entityId, entityName, entityType, message } = entry.fields;
  const json = {
    id: entry.id,
    createdAt: instantText(behaviours, entry.createdAtUs),
    workspaceId: entry.nestId === '' ? null : Number(entry.nestId),
    entityId,
    entityName,
    entityType,
    ...entry.fields,
    eventType: shownEventType(behaviours, entry),
    isSeen: nowUs - entry.createdAtUs > SEEN_AFTER_US,
    message,
  };
  return overlaid(distorted(behaviours, shownId(entry), json, ['workspaceId', 'message']), entry.raw);
}

export function flightLogJson(behaviours: Behaviours, entry: FlightLogRecord, nestId: string): unknown {
  const json = {
    id: entry.id,
    createdAt: instantText(behaviours, entry.createdAtUs),
    workspaceId: Number(nestId),
    flowInstanceId: entry.flightId,
    ...entry.fields,
    // Only event types that nothing depends on become unknown: a client must not miss the end of a Flight.
    eventType: entry.fields.eventType === 4 && isUnknown(behaviours, entry.id) ? 9 : entry.fields.eventType,
  };
  return distorted(behaviours, entry.id, json, ['workspaceId', 'message', 'initiator']);
}

export function instantText({ shownPrecision, trimsZeros }: Behaviours, us: number): string {
  const whole = formatInstant(us);
  const digits = { microsecond: 6, millisecond: 3, second: 0 }[shownPrecision];
  const text = digits === 0 ? `${whole.slice(0, 19)}Z` : `${whole.slice(0, 20 + digits)}Z`;
  return trimsZeros ? text.replace(/\.?0+Z$/, (zeros) => (text.includes('.') ? 'Z' : zeros)) : text;
}

/** A raw override wins over everything; an undefined value in it removes the key. */
function overlaid(json: Readonly<Record<string, unknown>>, raw: unknown): unknown {
  if (raw === undefined) return json;
  const isRecord = typeof raw === 'object' && raw !== null && !Array.isArray(raw);
  return isRecord ? { ...json, ...raw } : raw;
}
