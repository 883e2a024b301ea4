/** What several answers of the JSON API show in the same way. */

import type { Alert } from '../../domain/alert/alert.ts';
import { fingerprint } from '../../domain/alert/fingerprint.ts';
import { alertPath } from '../../http/page-path.ts';
import type { FaultRecord } from '../../store/fault-store.ts';
import type { Delivery } from '../../store/outbox-store.ts';
import { plainText } from '../../text/plain-text.ts';
import { formatInstant } from '../../time/instant.ts';

/** An instant for JSON; 0 stands for none. */
export const instantJson = (us: number) => (us === 0 ? null : formatInstant(us));

/** Go's zero time: how Alertmanager writes that an alert has not ended. */
const NOT_ENDED = '0001-01-01T00:00:00Z';

/** Alertmanager's shape, with the state and the count of events beside it. */
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

export function deliveryJson(delivery: Delivery) {
  return {
    id: delivery.id,
    notification_id: delivery.notificationId,
    receiver: delivery.receiver,
    integration: delivery.integration,
    state: delivery.state,
    attempts: delivery.attempts,
    created_at: formatInstant(delivery.createdAtUs),
    next_attempt_at: delivery.settledAtUs === 0 ? instantJson(delivery.nextAttemptAtUs) : null,
    settled_at: instantJson(delivery.settledAtUs),
    last_error: delivery.lastError,
  };
}

const MAX_FAULT_LENGTH = 300;

/** Something that was set aside, as the JSON answers show it. */
export function faultJson({ sort, name, reason, sinceUs }: FaultRecord) {
  return {
    sort,
    name: plainText(name, MAX_FAULT_LENGTH),
    reason: plainText(reason, MAX_FAULT_LENGTH),
    since: formatInstant(sinceUs),
  };
}
