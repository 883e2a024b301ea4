/**
 * Writes events for PagerDuty's Events API v2 (https://developer.pagerduty.com/docs/events-api-v2/trigger-events/). A
 * group is one incident, whose `dedup_key` is the incident's key.
 */

import type { RankedSeverity } from '../../domain/alert/severity.ts';
import { incidentKey } from '../../domain/grouping/incident.ts';
import type { GroupNotification, NotifiedAlert } from '../../domain/grouping/notification.ts';
import { plainText } from '../../text/plain-text.ts';
import { messageOf } from '../message/alert-clusters.ts';
import { placeWithin, stateWords } from '../message/alert-subject.ts';
import { listWithin, within } from '../message/bounded.ts';
import { isFlight } from '../message/event-line.ts';
import { type MailView, mailView } from '../message/message-view.ts';
import { incidentSeverity } from './service-incident.ts';

export const PAGERDUTY_LIMITS = { summary: 1_024, source: 255, bytes: 512_000 } as const;
/** The limit for the listed alerts: much less than an event's, and enough to read. */
const ALERTS_BYTES = 60_000;
const LISTED_ALERTS = 100;
const MESSAGE_CODE_POINTS = 500;
const FLIGHT_CODE_POINTS = 100;

interface PagerdutyEvent {
  readonly routing_key: string;
  readonly event_action: 'trigger' | 'resolve';
  readonly dedup_key: string;
  readonly client: 'nestwatch';
  /** The page, if people can reach it. */
  readonly client_url?: string;
  readonly payload: {
    readonly summary: string;
    readonly source: string;
    readonly severity: RankedSeverity;
    readonly timestamp: string;
    readonly component?: string;
    readonly group?: string;
    readonly class?: string;
    readonly custom_details: Readonly<Record<string, string | number | readonly string[]>>;
  };
  readonly links: readonly { readonly href: string; readonly text: string }[];
}

/** Acknowledges or resolves an incident. PagerDuty needs no more than this. */
interface PagerdutyChange {
  readonly routing_key: string;
  readonly event_action: 'acknowledge' | 'resolve';
  readonly dedup_key: string;
}

/** The change for a notification about the incident alone; undefined for one about alerts. */
export function pagerdutyChange(
  notification: GroupNotification,
  { routingKey }: Pick<PagerdutyStyle, 'routingKey'>,
): PagerdutyChange | undefined {
  const { acknowledged, alerts } = notification;
  if (!acknowledged && alerts.length > 0) return undefined;
  return {
    routing_key: routingKey,
    event_action: acknowledged ? 'acknowledge' : 'resolve',
    dedup_key: incidentKey(notification),
  };
}

interface PagerdutyStyle {
  readonly routingKey: string;
  /** Replaces the alerts' own severity. */
  readonly severity: RankedSeverity | null;
}

export function pagerdutyEvent(
  notification: GroupNotification,
  externalUrl: string,
  { routingKey, severity }: PagerdutyStyle,
  description?: string,
  notes: readonly string[] = [],
): PagerdutyEvent {
  const view = mailView(notification, externalUrl);
  const { alerts, groupLabels: labels } = notification;
  const summaryOf = (text: string) => plainText(text, PAGERDUTY_LIMITS.summary);
  // Invisible characters alone are not a summary.
  const summary =
    summaryOf(description ?? '') ||
    summaryOf([view.headline, errorOf(view), view.context].filter(Boolean).join(' · '));
  const named = (value: string | undefined) => (value ? plainText(value, 200) : undefined);
  const [component, group, kind] = [named(labels.bird), named(labels.nest), named(labels.alertname)];
  const notices = [...view.notices, ...notes].map((notice) => plainText(notice, MESSAGE_CODE_POINTS));
  return {
    routing_key: routingKey,
    event_action: notification.status === 'resolved' ? 'resolve' : 'trigger',
    dedup_key: incidentKey(notification),
    client: 'nestwatch',
    ...(externalUrl !== '' && { client_url: externalUrl }),
    payload: {
      summary: within(summary, PAGERDUTY_LIMITS.summary),
      source: within(URL.parse(externalUrl)?.host || 'nestwatch', PAGERDUTY_LIMITS.source),
      severity: severity ?? incidentSeverity(alerts),
      timestamp: new Date(notification.createdAtUs / 1000).toISOString(),
      ...(component && { component }),
      ...(group && { group }),
      ...(kind && { class: kind }),
      custom_details: {
        firing: notification.firingTotal,
        resolved: notification.resolvedTotal,
        ...(notices.length > 0 && { notices }),
        alerts: listWithin(alerts.map(lineOf), LISTED_ALERTS, ALERTS_BYTES, (count) => `… and ${count} more`),
        ...(notification.truncatedAlerts > 0 && { alerts_not_listed: notification.truncatedAlerts }),
      },
    },
    links: view.links.map(({ text, url }) => ({ href: url, text })),
  };
}

/** What went wrong, by which people on call sort incidents. */
function errorOf({ message, clusters }: MailView): string {
  return plainText(message[0] ?? clusters[0]?.cause ?? '', MESSAGE_CODE_POINTS);
}

/** One line about an alert, with its newest Flight in the notification. */
function lineOf(alert: NotifiedAlert): string {
  const message = plainText(messageOf(alert) || alert.annotations.summary || '', MESSAGE_CODE_POINTS);
  const head = `${stateWords(alert, false)}: ${placeWithin(alert, {})}`;
  const flightId = alert.events.find(isFlight)?.attributes.flight_id;
  const flight = flightId ? ` · Flight ${plainText(String(flightId), FLIGHT_CODE_POINTS)}` : '';
  return `${head}${message ? `: ${message}` : ''}${flight}`;
}
