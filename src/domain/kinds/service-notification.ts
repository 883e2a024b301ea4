/** A notification of a type that no other kind knows: told as it is, so that none is ever dropped. */

import { durationWords } from '../../text/duration-words.ts';
import type { Event } from '../alert/event.ts';
import { type Kind, quietAtUs, subjectPart } from '../alert/kind.ts';
import { annotate, entityLabels, placeLabels, placeOf, whereabouts } from '../alert/labels.ts';
import { fire, resolve } from '../alert/lifecycle.ts';
import { isDeactivation } from './bird-deactivated.ts';
import { isDisconnection } from './connection-disconnected.ts';

export const serviceNotification: Kind = {
  alertname: 'ServiceNotification',

  topic(fact) {
    if (fact.fact !== 'event' || fact.event.feed !== 'notification' || fact.historic) return undefined;
    const { event } = fact;
    if (isDeactivation(event) || isDisconnection(event)) return undefined;
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
      // Two types about one entity are two alerts: the type tells them apart.
      labels: { ...placeLabels(placeOf(event)), ...entity, type: event.type },
      severity: 'warning',
    };
  },

  raise(alert, fact, { rule, labels, nowUs }) {
    if (fact.fact !== 'event') return undefined;
    const { event } = fact;
    return fire(
      alert,
      {
        startsAtUs: event.occurredAtUs,
        labels,
        annotations: annotate(rule, summary(event), event.message),
        events: [event],
        memory: null,
        dueAtUs: quietAtUs(rule, event.observedAtUs),
      },
      nowUs,
    );
  },

  observe: () => undefined,

  tick(alert, { rule, nowUs }) {
    const by = `no further notification for ${durationWords(rule.resolveAfterMs ?? 0, 'exact')}`;
    return resolve(alert, alert.dueAtUs ?? nowUs, by, nowUs, 'quiet');
  },
};

function summary(event: Event): string {
  const { entity_name: name, entity_id: id, entity_type: type } = entityLabels(event);
  const about = name || (id && `${type || 'entity'} ${id}`);
  const what = event.type.slice('notification.'.length) || 'something without a type';
  return `The service reports ${what}${about ? ` about ${about}` : ''} ${whereabouts(placeOf(event))}`;
}
