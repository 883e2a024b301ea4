import type { Labels } from '../../alerts/alert.ts';
import type { NotifiedAlert } from '../../alerts/group.ts';
import { type EventJson, eventJson } from '../../event-json.ts';
import { formatInstant } from '../../instant.ts';
import type { GroupNotification } from './alert-subject.ts';

/** Alertmanager's webhook body, version 4, with `events`, `events_total` and `events_omitted` added to each alert. */
export interface AlertmanagerBody {
  readonly version: '4';
  readonly groupKey: string;
  readonly truncatedAlerts: number;
  readonly status: 'firing' | 'resolved';
  readonly receiver: string;
  readonly groupLabels: Labels;
  readonly commonLabels: Labels;
  readonly commonAnnotations: Labels;
  readonly externalURL: string;
  readonly alerts: readonly AlertJson[];
}

export interface AlertJson {
  readonly status: 'firing' | 'resolved';
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly generatorURL: string;
  readonly fingerprint: string;
  readonly events: readonly EventJson[];
  readonly events_total: number;
  readonly events_omitted: number;
}

/** Go's zero time: how Alertmanager writes that an alert has not ended. */
const NOT_ENDED = '0001-01-01T00:00:00Z';

/** `maxAlerts` 0 means no limit; what it cuts off is counted in `truncatedAlerts`. */
export function alertmanagerBody(
  notification: GroupNotification,
  externalUrl: string,
  maxAlerts: number,
): AlertmanagerBody {
  const alerts = maxAlerts > 0 ? notification.alerts.slice(0, maxAlerts) : notification.alerts;
  return {
    version: '4',
    groupKey: notification.groupKey,
    truncatedAlerts: notification.truncatedAlerts + notification.alerts.length - alerts.length,
    status: notification.status,
    receiver: notification.receiver,
    groupLabels: notification.groupLabels,
    commonLabels: common(alerts.map((alert) => alert.labels)),
    commonAnnotations: common(alerts.map((alert) => alert.annotations)),
    externalURL: externalUrl,
    alerts: alerts.map((alert) => alertJson(alert, externalUrl)),
  };
}

function alertJson(alert: NotifiedAlert, externalUrl: string): AlertJson {
  return {
    status: alert.status,
    labels: alert.labels,
    annotations: alert.annotations,
    startsAt: formatInstant(alert.startsAtUs),
    endsAt: alert.endsAtUs === 0 ? NOT_ENDED : formatInstant(alert.endsAtUs),
    generatorURL: `${externalUrl}/`,
    fingerprint: alert.fingerprint,
    events: alert.events.map(eventJson),
    events_total: alert.eventsTotal,
    events_omitted: alert.eventsOmitted,
  };
}

/** The pairs that all sets share. */
function common([first, ...others]: readonly Labels[]): Labels {
  return Object.fromEntries(
    Object.entries(first ?? {}).filter(([name, value]) => others.every((labels) => labels[name] === value)),
  );
}
