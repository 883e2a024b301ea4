/** Names events for people, and as labels that rules on events match. */

import type { Labels } from './alert.ts';
import type { Event } from './event.ts';
import { entityLabels, placeLabels, placeOf, tidyLabels } from './labels.ts';

const TITLES: ReadonlyMap<string, string> = new Map([
  ['flight.failed', 'Flight failed'],
  ['flight.succeeded', 'Flight succeeded'],
  ['flight.cancelled', 'Flight cancelled'],
  ['bird_log.Published', 'Bird published'],
  ['bird_log.Saved', 'Bird saved'],
  ['bird_log.Discarded', 'Changes discarded'],
  ['bird_log.Suspended', 'Bird suspended'],
  ['bird_log.Activated', 'Bird activated'],
  ['bird_log.Deactivated', 'Bird deactivated'],
  ['bird_log.EventError', 'Trigger error'],
  ['notification.ConnectionDisconnected', 'Connection lost'],
  ['notification.FlowDeactivated', 'Bird deactivated'],
  ['notification.FlowSuspended', 'Bird suspended'],
  ['inventory.nest_created', 'Nest created'],
  ['inventory.nest_gone', 'Nest gone'],
  ['inventory.nest_renamed', 'Nest renamed'],
  ['inventory.bird_created', 'Bird created'],
  ['inventory.bird_gone', 'Bird gone'],
  ['inventory.bird_moved', 'Bird moved'],
  ['inventory.bird_renamed', 'Bird renamed'],
  ['inventory.bird_trigger_changed', 'Trigger changed'],
  ['inventory.bird_published', 'Bird is published'],
  ['inventory.bird_unpublished', 'Bird is no longer published'],
  ['inventory.member_added', 'Member added'],
  ['inventory.member_removed', 'Member removed'],
  ['inventory.user_deactivated', 'User deactivated'],
  ['inventory.user_activated', 'User activated'],
  ['action.asked', 'Fly again asked for'],
  ['action.done', 'Flown again'],
  ['action.refused', 'Fly again refused'],
  ['action.unknown', 'Flown again or not: unknown'],
]);

/** What happened, in a few words; undefined for a type that is not known. */
export function eventTitle(type: string): string | undefined {
  return TITLES.get(type);
}

/** Labels of an event that alerts about it may have. */
export const EVENT_LABELS = [
  ...['bird', 'bird_id', 'entity_id', 'entity_name', 'entity_type', 'error_type'],
  ...['initiator', 'nest', 'nest_id', 'region', 'status', 'type'],
] as const;

/** What else of an event rules match, and no alert has as a label: it may be long, or other for each event. */
export const MATCHED_ONLY = ['after', 'before', 'email', 'event_failed_by', 'message'] as const;

/** The labels of an event, without empty ones. */
export function labelsOfEvent(event: Event): Labels {
  const { type, attributes } = event;
  const own = ['error_type', 'initiator', 'status'].map((name) => [name, String(attributes[name] ?? '')]);
  return tidyLabels({
    ...placeLabels(placeOf(event)),
    ...entityLabels(event),
    type,
    ...Object.fromEntries(own),
  });
}

/** All that rules on events match. */
export function matchedLabels(event: Event): Labels {
  const { message, attributes } = event;
  const only = MATCHED_ONLY.map((name) => [name, String(attributes[name] ?? '')]);
  return { ...Object.fromEntries(only), message, ...labelsOfEvent(event) };
}
