/** Formats what several answers of the JSON API share. */

import type { Alert, Note } from '../../domain/alert/alert.ts';
import { fingerprint } from '../../domain/alert/fingerprint.ts';
import { ANNOTATION_OF, type Finding } from '../../domain/context/findings.ts';
import { type Deadline, lateUs } from '../../domain/statistics/deadlines.ts';
import { alertPath } from '../../http/page-path.ts';
import type { FaultRecord } from '../../store/fault-store.ts';
import type { Delivery } from '../../store/outbox-store.ts';
import { plainText } from '../../text/plain-text.ts';
import { formatInstant } from '../../time/instant.ts';
import type { NameOf } from '../delivery-messages.ts';

/** An instant for JSON; 0 means none. */
export const instantJson = (us: number) => (us === 0 ? null : formatInstant(us));

/** Go's zero time, with which Alertmanager marks an alert that has not ended. */
const NOT_ENDED = '0001-01-01T00:00:00Z';

/** Alertmanager's format, with the state and the number of events in addition. */
export function alertJson(alert: Alert, externalUrl: string) {
  return {
    id: alert.id,
    state: alert.state,
    status: alert.state,
    labels: alert.labels,
    annotations: alert.annotations,
    startsAt: alert.startsAtUs === 0 ? null : formatInstant(alert.startsAtUs),
    endsAt: alert.endsAtUs === 0 ? NOT_ENDED : formatInstant(alert.endsAtUs),
    generatorURL: `${externalUrl}/${alertPath(alert.id)}`,
    fingerprint: fingerprint(alert.labels),
    events_total: alert.eventsTotal,
  };
}

/** What was looked for to say why an alert fires now: a text, or why there is none. */
export function findingJson(finding: Finding) {
  const { eventKey = null, alertId = null } = 'text' in finding ? finding : {};
  return {
    sort: finding.sort,
    annotation: ANNOTATION_OF[finding.sort],
    text: 'text' in finding ? finding.text : null,
    missing: 'missing' in finding ? finding.missing : null,
    event_key: eventKey,
    alert_id: alertId,
  };
}

export function noteJson({ id, author, text, isPublic, atUs }: Note) {
  return { id, author, text, public: isPublic, at: formatInstant(atUs) };
}

export function deadlineJson(deadline: Deadline) {
  const { atUs, outcome } = deadline;
  return {
    at: formatInstant(atUs),
    outcome,
    late_seconds: outcome === 'late' ? lateUs(deadline) / 1e6 : null,
  };
}

export function deliveryJson(delivery: Delivery, nameOf: NameOf) {
  return {
    id: delivery.id,
    notification_id: delivery.notificationId,
    receiver: delivery.receiver,
    integration: delivery.integration,
    integration_name: nameOf(delivery),
    state: delivery.state,
    attempts: delivery.attempts,
    created_at: formatInstant(delivery.createdAtUs),
    next_attempt_at: delivery.settledAtUs === 0 ? instantJson(delivery.nextAttemptAtUs) : null,
    settled_at: instantJson(delivery.settledAtUs),
    last_error: delivery.lastError,
  };
}

const MAX_FAULT_LENGTH = 300;

/** A fault that was set aside, for the JSON API. */
export function faultJson({ sort, name, reason, sinceUs }: FaultRecord) {
  return {
    sort,
    name: plainText(name, MAX_FAULT_LENGTH),
    reason: plainText(reason, MAX_FAULT_LENGTH),
    since: formatInstant(sinceUs),
  };
}
