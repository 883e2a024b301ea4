/**
 * An event for PagerDuty's Events API v2 (https://developer.pagerduty.com/docs/events-api-v2/trigger-events/). A group
 * is one incident: its `dedup_key` is made of the group's key as Alertmanager makes it, so that a team which changes
 * over keeps its incidents apart in the same way.
 */
import { createHash } from 'node:crypto';
import type { GroupNotification, NotifiedAlert } from '../../domain/grouping/notification.ts';
import { plainText } from '../../text/plain-text.ts';
import { messageOf } from '../message/alert-clusters.ts';
import { placeWithin } from '../message/alert-subject.ts';
import { stateWords } from '../message/alert-words.ts';
import { listWithin, within } from '../message/bounded.ts';
import { isFlight } from '../message/event-line.ts';
import { mailView } from '../message/message-view.ts';

export const PAGERDUTY_LIMITS = { summary: 1_024, source: 255, bytes: 512_000 } as const;
/** Of the listed alerts: much less than the limit of an event, and enough to read. */
const ALERTS_BYTES = 60_000;
const LISTED_ALERTS = 100;
const MESSAGE_CODE_POINTS = 500;
const FLIGHT_CODE_POINTS = 100;

export type PagerdutySeverity = 'critical' | 'error' | 'warning' | 'info';

interface PagerdutyEvent {
  readonly routing_key: string;
  readonly event_action: 'trigger' | 'resolve';
  readonly dedup_key: string;
  readonly client: 'nestwatch';
  /** The page, where people can reach it. */
  readonly client_url?: string;
  readonly payload: {
    readonly summary: string;
    readonly source: string;
    readonly severity: PagerdutySeverity;
    readonly timestamp: string;
    readonly component?: string;
    readonly group?: string;
    readonly class?: string;
    readonly custom_details: Readonly<Record<string, string | number | readonly string[]>>;
  };
  readonly links: readonly { readonly href: string; readonly text: string }[];
}

/** That people know of an incident, or that it is over: PagerDuty asks for no more. */
interface PagerdutyChange {
  readonly routing_key: string;
  readonly event_action: 'acknowledge' | 'resolve';
  readonly dedup_key: string;
}

/** Of a notification about the incident alone; undefined for one about alerts. */
export function pagerdutyChange(
  notification: GroupNotification,
  { routingKey }: Pick<PagerdutyStyle, 'routingKey'>,
): PagerdutyChange | undefined {
  const { acknowledged, alerts } = notification;
  if (!acknowledged && alerts.length > 0) return undefined;
  return {
    routing_key: routingKey,
    event_action: acknowledged ? 'acknowledge' : 'resolve',
    dedup_key: dedupKeyOf(notification),
  };
}

function dedupKeyOf({ groupKey }: GroupNotification): string {
  return createHash('sha256').update(groupKey).digest('hex');
}

interface PagerdutyStyle {
  readonly routingKey: string;
  /** In place of the alerts' own. */
  readonly severity: PagerdutySeverity | null;
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
  // Invisible characters alone are no summary either.
  const summary = summaryOf(description ?? '') || summaryOf(`${view.headline} · ${view.context}`);
  const named = (value: string | undefined) => (value ? plainText(value, 200) : undefined);
  const [component, group, kind] = [named(labels.bird), named(labels.nest), named(labels.alertname)];
  const notices = [...view.notices, ...notes].map((notice) => plainText(notice, MESSAGE_CODE_POINTS));
  return {
    routing_key: routingKey,
    event_action: notification.status === 'resolved' ? 'resolve' : 'trigger',
    dedup_key: dedupKeyOf(notification),
    client: 'nestwatch',
    ...(externalUrl !== '' && { client_url: externalUrl }),
    payload: {
      summary: within(summary, PAGERDUTY_LIMITS.summary),
      source: within(URL.parse(externalUrl)?.host || 'nestwatch', PAGERDUTY_LIMITS.source),
      severity: severity ?? severityOf(alerts),
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

/** With the newest of its Flights in the notification. */
function lineOf(alert: NotifiedAlert): string {
  const message = plainText(messageOf(alert) || alert.annotations.summary || '', MESSAGE_CODE_POINTS);
  const head = `${stateWords(alert, false)}: ${placeWithin(alert, {})}`;
  const flightId = alert.events.find(isFlight)?.attributes.flight_id;
  const flight = flightId ? ` · Flight ${plainText(String(flightId), FLIGHT_CODE_POINTS)}` : '';
  return `${head}${message ? `: ${message}` : ''}${flight}`;
}

const RANKS: readonly PagerdutySeverity[] = ['info', 'warning', 'error', 'critical'];
const SEVERITIES: ReadonlyMap<string, PagerdutySeverity> = new Map([
  ['critical', 'critical'],
  ['page', 'critical'],
  ['error', 'error'],
  ['warning', 'warning'],
  ['info', 'info'],
  ['none', 'info'],
]);

/** The worst of the open alerts; names that PagerDuty does not know are errors, as in Alertmanager. */
function severityOf(alerts: readonly NotifiedAlert[]): PagerdutySeverity {
  const open = alerts.filter(({ status }) => status === 'firing');
  const ranks = (open.length > 0 ? open : alerts).map(({ labels }) =>
    RANKS.indexOf(SEVERITIES.get((labels.severity ?? '').toLowerCase()) ?? 'error'),
  );
  return RANKS[Math.max(...ranks)] ?? 'error';
}
