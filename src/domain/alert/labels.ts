/** Builds the labels and annotations of events and alerts: short, on one line, never empty. */

import { manyLines, plainText, regionName } from '../../text/plain-text.ts';
import { type Labels, labelOf, type Severity } from './alert.ts';
import { reasonFirst } from './error-signature.ts';
import type { Event } from './event.ts';
import { birdOf, type Place } from './fact.ts';
import type { Rule } from './rule.ts';

const MAX_LABEL_LENGTH = 200;
const MAX_SUMMARY_LENGTH = 300;
const MAX_DESCRIPTION_LENGTH = 2000;

/** The labels of an event that matchers of `forward` see. */
export function eventLabels(event: Event): Labels {
  const { region, feed, type, nestId, nest, birdId, bird } = event;
  return { region, feed, type, nest_id: nestId, nest, bird_id: birdId, bird };
}

/** Labels that say where something is; empty ones are dropped later. */
export function placeLabels({ region, nestId, nest, birdId, bird }: Place): Labels {
  return { region, nest_id: nestId, nest, bird_id: birdId, bird };
}

export function entityLabels({ attributes }: Event): Labels {
  return {
    entity_type: String(attributes.entity_type ?? ''),
    entity_id: String(attributes.entity_id ?? ''),
    entity_name: String(attributes.entity_name ?? ''),
  };
}

/** The place of an event. A notification about a deactivated Bird names the Bird as its entity. */
export function placeOf(event: Event): Place {
  const { region, nestId, nest, attributes } = event;
  const birdId = birdOf(event);
  const bird = event.bird || (birdId && !event.birdId ? String(attributes.entity_name ?? '') : '');
  return { region, nestId, nest, birdId, bird };
}

/** Cleaned labels without empty ones, ordered by name. */
export function tidyLabels(labels: Labels): Labels {
  const entries: [name: string, value: string][] = [];
  for (const name of Object.keys(labels).sort()) {
    const value = plainText(labelOf(labels, name) ?? '', MAX_LABEL_LENGTH);
    if (value !== '') entries.push([name, value]);
  }
  return Object.fromEntries(entries);
}

/** All labels of an alert. Those `added` by its rule never hide what the alert is about. */
export function alertLabels(alertname: string, topic: Labels, added: Labels, severity: Severity): Labels {
  return tidyLabels({ ...added, ...topic, alertname, severity });
}

/**
 * The annotations of an alert; the rule's own take precedence. Hostile values in its templates come out as clean
 * text.
 */
export function annotate(
  { rule, labels }: { readonly rule: Rule; readonly labels: Labels },
  summary: string,
  message: string,
): Labels {
  const own = {
    summary: plainText(summary, MAX_SUMMARY_LENGTH),
    description: manyLines(reasonFirst(message, MAX_DESCRIPTION_LENGTH), MAX_DESCRIPTION_LENGTH),
  };
  const written = Object.entries(rule.writtenAnnotations?.({ labels, ...own }) ?? {}).map(
    ([name, value]) => [name, manyLines(value, MAX_DESCRIPTION_LENGTH)] as const,
  );
  return Object.fromEntries(
    Object.entries({ ...own, ...rule.annotations, ...Object.fromEntries(written) }).filter(
      ([, value]) => value !== '',
    ),
  );
}

/** The labels that all sets share. */
export function commonLabels([first, ...others]: readonly Labels[]): Labels {
  // Most groups have a single alert.
  if (first && others.length === 0) return first;
  return Object.fromEntries(
    Object.entries(first ?? {}).filter(([name, value]) =>
      others.every((labels) => labelOf(labels, name) === value),
    ),
  );
}

/** A Bird for people: its name, or else its id. */
export function birdName({ birdId, bird }: Place): string {
  return visible(bird) || (birdId ? `Bird ${birdId}` : 'a Bird');
}

/** A place for people: `in Marketing (EU)`, or `(EU)` if no Nest is known. */
export function whereabouts({ region, nestId, nest }: Place): string {
  const name = visible(nest) || (nestId && `Nest ${nestId}`);
  return `${name ? `in ${name} ` : ''}(${regionName(region)})`;
}

/** The name as it is; empty if nobody could see it. */
const visible = (name: string): string => (plainText(name, 1) === '' ? '' : name);

// Names events for people, and as labels that rules on events match.

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
