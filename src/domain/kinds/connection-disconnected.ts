/**
 * A connection is lost. While the service retries it is a warning; once it gives up it is critical. The service's
 * wording, which varies, is only a hint: if it is unclear, the worse is assumed. The service never reports that a
 * connection is back, so the alert ends when a daily check passed without a new notification.
 */

import { fire } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import { annotate, entityLabels, placeLabels, placeOf, whereabouts } from '../alert/labels.ts';
import { lasting, resolvedAfter } from '../alert/rule.ts';
import { defineKind, ENTITY_LABELS, endQuiet, PLACE_LABELS, quietAtUs, subjectPart } from './kind.ts';

export const DISCONNECTED = 'notification.ConnectionDisconnected';

export const connectionDisconnected = defineKind({
  name: 'ConnectionDisconnected',
  fires:
    'the service reports a lost connection: warning while it still retries, critical once it has given up',
  resolves: 'there was no new notification for `resolve_after`, or somebody resolves it by hand',
  words: {
    firing: 'Connection lost',
    still: 'Connection still lost',
    over: 'Connection no longer lost',
    quiet: 'No longer reported lost',
    superseded: 'Connection lost for good',
  },
  runbook: {
    look: 'which Nest, and which connection. All Birds that use it fail.',
    act: 'reconnect it in the service. The service does not report when a connection is back, so resolve the alert on its page or with `nestwatch alerts resolve`.',
  },
  parameters: { ...lasting(), ...resolvedAfter(93_600_000) },
  severities: ['warning', 'critical'],
  labels: [...PLACE_LABELS, ...ENTITY_LABELS],
  isResolvableByHand: () => true,

  raisedBy: ['event'],
  observes: [],
  eventTypes: [DISCONNECTED],

  topic({ event }) {
    if (event.type !== DISCONNECTED) return undefined;
    const entity = entityLabels(event);
    return {
      subject: `entity/${subjectPart(entity.entity_type)}/${subjectPart(entity.entity_id || entity.entity_name)}`,
      labels: { ...placeLabels(placeOf(event)), ...entity },
      severity: isRetrying(event) ? 'warning' : 'critical',
    };
  },

  raise(alert, fact, { rule, labels, nowUs }) {
    const { event, historic } = fact;
    const quietUs = quietAtUs(rule, historic ? event.occurredAtUs : event.observedAtUs);
    if (historic && quietUs !== null && quietUs <= nowUs) return undefined;
    return fire(
      alert,
      {
        startsAtUs: event.occurredAtUs,
        labels,
        annotations: annotate({ rule, labels }, summary(event), event.message),
        events: historic ? [] : [event],
        memory: null,
        dueAtUs: quietUs === null ? null : Math.max(quietUs, alert.dueAtUs ?? 0),
      },
      nowUs,
    );
  },

  tick: (alert, context) => endQuiet(alert, 'it was not reported as lost again', context),
});

/** Whether the service is still retrying; if its wording is unclear, the worse is assumed. */
export function isRetrying({ message }: Event): boolean {
  return /retrying/i.test(message) && !/exhausted|all retries exceeded/i.test(message);
}

function summary(event: Event): string {
  const { entity_name: name, entity_id: id } = entityLabels(event);
  const connection = `Connection ${name || id || 'without a name'} is lost ${whereabouts(placeOf(event))}`;
  return isRetrying(event)
    ? `${connection}: the service is retrying`
    : `${connection}: it must be reconnected`;
}
