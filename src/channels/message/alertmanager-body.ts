import { eventJson } from '../../domain/alert/event.ts';
import { commonLabels } from '../../domain/alert/labels.ts';
import {
  type FlushReason,
  type GroupNotification,
  type NotifiedAlert,
  type Summary,
  summaryTitle,
} from '../../domain/grouping/notification.ts';
import { alertPath } from '../../http/page-path.ts';
import { formatInstant } from '../../time/instant.ts';

/** Go's zero time: how Alertmanager writes that an alert has not ended. */
const NOT_ENDED = '0001-01-01T00:00:00Z';

/**
 * Alertmanager's webhook body, version 4, with `events`, `events_total` and `events_omitted` added to each alert.
 * `maxAlerts`: 0 for no limit. What it cuts off is counted in `truncatedAlerts`. If the notification has several parts,
 * `part` is the number of this one, from 1. A summary of old news lists no events: `catching_up` counts them.
 */
export function alertmanagerBody(notification: GroupNotification, externalUrl: string, maxAlerts: number) {
  const alerts = maxAlerts > 0 ? notification.alerts.slice(0, maxAlerts) : notification.alerts;
  return {
    version: '4' as const,
    groupKey: notification.groupKey,
    truncatedAlerts: notification.truncatedAlerts + notification.alerts.length - alerts.length,
    status: notification.status,
    receiver: notification.receiver,
    groupLabels: notification.groupLabels,
    commonLabels: commonLabels(alerts.map((alert) => alert.labels)),
    commonAnnotations: {
      ...commonLabels(alerts.map((alert) => alert.annotations)),
      ...(notification.summary && { summary: summaryTitle(notification.summary) }),
    },
    externalURL: externalUrl,
    notification_reason: reasonWords(notification),
    routeLabels: notification.routeLabels ?? {},
    alerts: alerts.map((alert) => alertJson(alert, externalUrl)),
    ...(notification.part && { part: notification.part.number, parts: notification.part.of }),
    ...(notification.notices && { notices: notification.notices }),
    ...(notification.summary && { catching_up: catchingUpJson(notification.summary) }),
  };
}

/** Alertmanager's words (`NotifyReason`); it has none for new events of alerts that fire already. */
const REASONS: Readonly<Record<Exclude<FlushReason, 'resolved'>, string>> = {
  first: 'first notification',
  new_alerts: 'new alerts added',
  new_events: 'new events',
  repeat: 'repeat interval elapsed',
};

function reasonWords({ reason, status }: GroupNotification): string {
  if (reason !== 'resolved') return REASONS[reason];
  return status === 'resolved' ? 'all alerts resolved' : 'some alerts resolved';
}

export type AlertJson = ReturnType<typeof alertJson>;

function alertJson(alert: NotifiedAlert, externalUrl: string) {
  return {
    status: alert.status,
    labels: alert.labels,
    annotations: alert.annotations,
    startsAt: formatInstant(alert.startsAtUs),
    endsAt: alert.endsAtUs === 0 ? NOT_ENDED : formatInstant(alert.endsAtUs),
    generatorURL: externalUrl === '' ? '' : `${externalUrl}/${alertPath(alert.id)}`,
    fingerprint: alert.fingerprint,
    events: alert.events.map(eventJson),
    events_total: alert.eventsTotal,
    events_omitted: alert.eventsOmitted,
  };
}

function catchingUpJson({ fromUs, toUs, ...counts }: Summary) {
  return { from: formatInstant(fromUs), to: formatInstant(toUs), ...counts };
}
