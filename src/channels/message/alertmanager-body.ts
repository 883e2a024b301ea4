import type { Labels } from '../../domain/alert/alert.ts';
import { type EventJson, eventJson } from '../../domain/alert/event.ts';
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

/** Alertmanager's webhook body, version 4, with `events`, `events_total` and `events_omitted` added to each alert. */
interface AlertmanagerBody {
  readonly version: '4';
  readonly groupKey: string;
  readonly truncatedAlerts: number;
  readonly status: 'firing' | 'resolved';
  readonly receiver: string;
  readonly groupLabels: Labels;
  readonly commonLabels: Labels;
  readonly commonAnnotations: Labels;
  readonly externalURL: string;
  readonly notification_reason: string;
  /** The labels that the route adds to the group. */
  readonly routeLabels: Labels;
  readonly alerts: readonly AlertJson[];
  /** If the notification has several parts: the number of this one, from 1, and of all. */
  readonly part?: number;
  readonly parts?: number;
  /** What else people should know, a sentence each. */
  readonly notices?: readonly string[];
  /** Only in a summary of old news: its alerts list no events, which are counted here. */
  readonly catching_up?: CatchingUpJson;
}

interface CatchingUpJson {
  /** When the first and the last event occurred. */
  readonly from: string;
  readonly to: string;
  readonly events: number;
  readonly alerts: number;
  readonly firing: number;
  readonly kinds: Summary['kinds'];
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

/** `maxAlerts`: 0 for no limit. What it cuts off is counted in `truncatedAlerts`. */
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

function alertJson(alert: NotifiedAlert, externalUrl: string): AlertJson {
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

function catchingUpJson({ fromUs, toUs, ...counts }: Summary): CatchingUpJson {
  return { from: formatInstant(fromUs), to: formatInstant(toUs), ...counts };
}
