/** A notification of a type that no other kind knows becomes an alert as it is, so that none is ever dropped. */

import { fire } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import { annotate, entityLabels, placeLabels, placeOf, whereabouts } from '../alert/labels.ts';
import { resolvedAfter } from '../alert/rule.ts';
import { isDeactivation } from './bird-deactivated.ts';
import { DISCONNECTED } from './connection-disconnected.ts';
import { defineKind, ENTITY_LABELS, endQuiet, PLACE_LABELS, quietAtUs, subjectPart } from './kind.ts';

export const serviceNotification = defineKind({
  name: 'ServiceNotification',
  fires: 'the service sends a notification of a type that no other kind handles',
  resolves: 'there was no new one for `resolve_after`',
  words: {
    firing: 'Notice from the service',
    still: 'Notice from the service',
    over: 'Notice closed',
  },
  runbook: {
    look: 'its text.',
    act: "what the text says. If the type comes often, tell nestwatch's maintainers.",
  },
  parameters: resolvedAfter(3_600_000),
  severities: ['warning'],
  labels: [...PLACE_LABELS, ...ENTITY_LABELS, 'type'],
  isResolvableByHand: () => true,

  raisedBy: ['event'],
  observes: [],
  eventTypes: ['notification'],

  topic({ event, historic }) {
    if (event.feed !== 'notification' || historic) return undefined;
    if (isDeactivation(event) || event.type === DISCONNECTED) return undefined;
    const entity = entityLabels(event);
    return {
      subject: [
        'notification',
        event.type,
        event.nestId,
        entity.entity_type,
        entity.entity_id || entity.entity_name,
      ]
        .map(subjectPart)
        .join('/'),
      // Two types about one entity are two alerts, which differ only in the type.
      labels: { ...placeLabels(placeOf(event)), ...entity, type: event.type },
    };
  },

  raise(alert, fact, { rule, labels, nowUs }) {
    const { event } = fact;
    return fire(
      alert,
      {
        startsAtUs: event.occurredAtUs,
        labels,
        annotations: annotate({ rule, labels }, summary(event), event.message),
        events: [event],
        memory: null,
        dueAtUs: quietAtUs(rule, event.observedAtUs),
      },
      nowUs,
    );
  },

  tick: (alert, context) => endQuiet(alert, 'no further notification', context),
});

function summary(event: Event): string {
  const { entity_name: name, entity_id: id, entity_type: type } = entityLabels(event);
  const about = name || (id && `${type || 'entity'} ${id}`);
  const what = event.type.slice('notification.'.length) || 'something without a type';
  return `The service reports ${what}${about ? ` about ${about}` : ''} ${whereabouts(placeOf(event))}`;
}
