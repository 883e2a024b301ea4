/**
 * A connection is lost. While the service retries it is a warning, when it gave up it is critical; its words, which
 * drift, are only a hint, and what they do not tell is taken for the worse. There is no word of a connection that is
 * back: the alert ends when a daily check passed without a new one.
 */

import { durationWords } from '../../text/duration-words.ts';
import type { Event } from '../alert/event.ts';
import { type Kind, quietAtUs, subjectPart } from '../alert/kind.ts';
import { annotate, entityLabels, placeLabels, placeOf, whereabouts } from '../alert/labels.ts';
import { fire, resolve } from '../alert/lifecycle.ts';

export function isDisconnection(event: Event): boolean {
  return event.type === 'notification.ConnectionDisconnected';
}

export const connectionDisconnected: Kind = {
  alertname: 'ConnectionDisconnected',
  leveled: true,

  topic(fact) {
    if (fact.fact !== 'event' || !isDisconnection(fact.event)) return undefined;
    const entity = entityLabels(fact.event);
    return {
      subject: `entity/${subjectPart(entity.entity_type)}/${subjectPart(entity.entity_id || entity.entity_name)}`,
      labels: { ...placeLabels(placeOf(fact.event)), ...entity },
      severity: isRetrying(fact.event.message) ? 'warning' : 'critical',
    };
  },

  raise(alert, fact, { rule, labels, nowUs }) {
    if (fact.fact !== 'event') return undefined;
    const { event, historic } = fact;
    const quietUs = quietAtUs(rule, historic ? event.occurredAtUs : event.observedAtUs);
    if (historic && quietUs !== null && quietUs <= nowUs) return undefined;
    return fire(
      alert,
      {
        startsAtUs: event.occurredAtUs,
        labels,
        annotations: annotate(rule, summary(event), event.message),
        events: historic ? [] : [event],
        memory: null,
        dueAtUs: quietUs === null ? null : Math.max(quietUs, alert.dueAtUs ?? 0),
      },
      nowUs,
    );
  },

  observe: () => undefined,

  tick(alert, { rule, nowUs }) {
    const by = `it was not reported as lost again for ${durationWords(rule.resolveAfterMs ?? 0, 'exact')}`;
    return resolve(alert, alert.dueAtUs ?? nowUs, by, nowUs, 'quiet');
  },
};

function isRetrying(message: string): boolean {
  return /retrying/i.test(message) && !/exhausted|all retries exceeded/i.test(message);
}

function summary(event: Event): string {
  const { entity_name: name, entity_id: id } = entityLabels(event);
  const connection = `Connection ${name || id || 'without a name'} is lost ${whereabouts(placeOf(event))}`;
  return isRetrying(event.message)
    ? `${connection}: the service is retrying`
    : `${connection}: it must be reconnected`;
}
