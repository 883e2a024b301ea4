/** Turns each entry of the service into an event, with the names from the inventory. */
import { BEFORE_WATCH, type Event } from '../domain/alert/event.ts';
import type { BirdLogEntry, Flight, FlightLogEntry, NotificationEntry } from '../service/resources.ts';
import type { EventCandidate } from './commit.ts';

/** Names by id, from the inventory; empty if unknown. */
export interface Names {
  nest(nestId: string): string;
  bird(birdId: string): string;
  /** The Nest of a Bird; empty if unknown. */
  nestOf(birdId: string): string;
}

export function notificationEvent(
  region: string,
  entry: NotificationEntry,
  names: Names,
  observedAtUs: number,
): Event {
  // A notification about a Flow is about the Bird with that id.
  const birdId = entry.entityType === 'Flow' ? entry.entityId : '';
  const nestId = entry.nestId || names.nestOf(birdId);
  return {
    ...logged(region, 'notification', entry, observedAtUs),
    nestId,
    nest: names.nest(nestId),
    birdId,
    bird: birdId ? names.bird(birdId) || entry.entityName : '',
    attributes: present({
      entity_type: entry.entityType,
      entity_id: entry.entityId,
      entity_name: entry.entityName,
    }),
  };
}

export function birdLogEvent(
  region: string,
  birdId: string,
  entry: BirdLogEntry,
  names: Names,
  observedAtUs: number,
): Event {
  const nestId = entry.nestId || names.nestOf(birdId);
  return {
    ...logged(region, 'bird_log', entry, observedAtUs),
    nestId,
    nest: names.nest(nestId),
    birdId,
    bird: names.bird(birdId),
    attributes: present({
      event_failed_by: entry.eventFailedBy,
      error_type: entry.errorType,
      initiator: entry.initiator,
    }),
  };
}

function logged(
  region: string,
  feed: 'notification' | 'bird_log',
  { id, eventType, createdAt, message }: NotificationEntry | BirdLogEntry,
  observedAtUs: number,
) {
  const [type, occurredAt, occurredAtUs] = [`${feed}.${eventType}`, createdAt.text, createdAt.us];
  return {
    key: `${region}/${feed}/${id}`,
    region,
    feed,
    type,
    occurredAt,
    occurredAtUs,
    observedAtUs,
    message,
  };
}

/** The end of a Flight, beyond what the Flight itself says. */
interface FlightEnd {
  readonly flight: Flight;
  /** 1 for the first end. */
  readonly ends: number;
  readonly occurredAt: { readonly us: number; readonly text: string };
  /** The Flight log entry that describes the failure, if the log was read. */
  readonly failure?: FlightLogEntry | undefined;
}

export function flightEvent(
  region: string,
  place: { readonly nestId: string; readonly birdId: string },
  end: FlightEnd,
  names: Names,
  observedAtUs: number,
): Event {
  const { flight, failure } = end;
  return {
    key: `${region}/flight/${flight.id}/${flight.status}${end.ends > 1 ? `#${end.ends}` : ''}`,
    region,
    feed: 'flight',
    type: `flight.${flight.status}`,
    occurredAt: end.occurredAt.text,
    occurredAtUs: end.occurredAt.us,
    observedAtUs,
    nestId: place.nestId,
    nest: names.nest(place.nestId),
    birdId: place.birdId,
    bird: names.bird(place.birdId),
    message: flight.errorMessages || failure?.message || '',
    attributes: present({
      flight_id: flight.id,
      status: flight.status,
      started_at: flight.startedAt?.text ?? '',
      started_at_us: flight.startedAt?.us ?? '',
      duration_seconds: flight.durationSeconds ?? '',
      step_id: failure?.stepId ?? '',
      scope: failure?.scope ?? '',
      error_type: failure?.errorType ?? '',
    }),
  };
}

/** Leaves out empty attributes, which say nothing. */
function present(attributes: Record<string, string | number | boolean>): Event['attributes'] {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== ''));
}

/**
 * Records in an event that is history why it is: its Bird came to be watched later than its region. Nothing else in the
 * store would explain why the event raised no alert. `watchedSinceUs` says since when a Bird (or, for '', the region)
 * is watched.
 */
export function markPast(
  candidate: EventCandidate,
  birdId: string,
  watchedSinceUs: (birdId: string) => number,
): EventCandidate {
  const { event, historic } = candidate;
  const isPast =
    historic && event.occurredAtUs < watchedSinceUs(birdId) && event.occurredAtUs >= watchedSinceUs('');
  if (!isPast) return candidate;
  return { ...candidate, event: { ...event, attributes: { ...event.attributes, [BEFORE_WATCH]: true } } };
}
