/**
 * What a mail says, before it is text or HTML: both are written from this. Everything in it is clean and capped, but
 * not escaped. It depends on the notification alone, so every try of a delivery says the same.
 */
import type { Event } from '../../alerts/event.ts';
import type { FlushReason, NotifiedAlert } from '../../alerts/group.ts';
import { summaryTitle } from '../../alerts/summary.ts';
import { plainText } from '../../plain-text.ts';
import {
  commonLabels,
  type GroupNotification,
  NAME_CODE_POINTS,
  placeOf,
  sinceOf,
  subjectOf,
} from './alert-subject.ts';
import { stateWords } from './alert-words.ts';
import {
  type Cluster,
  clustersOf,
  LINE_CODE_POINTS,
  messageOf,
  type Tone,
  toneOf,
} from './email-clusters.ts';
import { linkable, plainLines } from './encode.ts';
import { dayAndTime, timeOfDay } from './human-time.ts';

export interface MailView {
  readonly tone: Tone;
  /** State and subject: `Flight failed: Translate blog`. */
  readonly headline: string;
  /** Where, since when, for how long. */
  readonly context: string;
  /** The message of the only alert; empty lists for several. */
  readonly message: readonly string[];
  readonly messageTitle: string;
  readonly details: readonly (readonly [name: string, value: string])[];
  /** Several alerts, those of one cause together. */
  readonly clusters: readonly Cluster[];
  /** Alerts that the notification counts but does not carry. */
  readonly alertsMore: number;
  /** New since the last mail, newest first. */
  readonly events: readonly EventLine[];
  /** New ones that are not listed. */
  readonly eventsMore: number;
  readonly eventsTitle: string;
  /** What else people should know, a sentence each. */
  readonly notices: readonly string[];
  readonly links: readonly { readonly text: string; readonly url: string }[];
  readonly footer: string;
}

/** Events of one place that say the same. */
export interface EventLine {
  /** Of the newest. */
  readonly time: string;
  readonly where: string;
  readonly what: string;
  readonly events: number;
}

const MESSAGE_LINES = 12;
const NOTICE_CODE_POINTS = 500;
/** Reasons for a notification that tell nothing of another kind than the one before. */
const GOES_ON = new Set<FlushReason>(['new_events', 'repeat']);
const OWN_ANNOTATIONS = new Set(['summary', 'description', 'runbook_url', 'resolved_by']);
const OWN_LABELS = new Set([
  ...['alertname', 'severity', 'region', 'nest', 'nest_id', 'bird', 'bird_id'],
  ...['entity_type', 'entity_id', 'entity_name', 'error'],
]);

export function mailView(notification: GroupNotification, externalUrl: string): MailView {
  const { alerts, createdAtUs, summary } = notification;
  const [first] = alerts;
  const isOne = alerts.length === 1 && notification.firingTotal + notification.resolvedTotal <= 1;
  const only = isOne && !summary ? first : undefined;
  const events = newEvents(alerts);
  const counted = events.length + alerts.reduce((count, alert) => count + alert.eventsOmitted, 0);
  // A single new event of the only alert is the message already.
  const listed = only && counted <= 1 ? [] : events;
  return {
    tone: toneOf(alerts),
    headline: only
      ? `${stateWords(only, GOES_ON.has(notification.reason))}: ${subjectOf(only)}`
      : summary
        ? summaryTitle(summary)
        : headlineOf(notification),
    context: [
      placeOf(commonLabels(alerts), only),
      summary ? `${dayAndTime(summary.fromUs)} to ${dayAndTime(summary.toUs)}` : sinceOf(alerts, createdAtUs),
      ...(only && only.eventsTotal > 1 ? [`${only.eventsTotal} events`] : []),
      ...(notification.reason === 'repeat' ? ['reminder'] : []),
    ]
      .filter((part) => part !== '')
      .join(' · '),
    message: only ? plainLines(messageOf(only), MESSAGE_LINES, LINE_CODE_POINTS) : [],
    messageTitle: only?.status === 'resolved' ? 'Last message' : 'Message',
    details: only ? detailsOf(only) : [],
    clusters: only ? [] : clustersOf(notification),
    alertsMore: notification.truncatedAlerts,
    events: eventLines(listed, createdAtUs, only === undefined),
    eventsMore: summary || (only && counted <= 1) ? 0 : counted - events.length,
    eventsTitle: notification.threadPosition > 0 ? 'New since the last mail' : 'Events',
    notices: (notification.notices ?? []).map((one) => plainText(one, NOTICE_CODE_POINTS)),
    links: linksOf(notification, externalUrl),
    footer: `Sent by nestwatch to receiver ${plainText(notification.receiver, NAME_CODE_POINTS)}.`,
  };
}

/** `Flight failed: 5 open, 1 resolved`; alerts of several kinds are just `Alerts`. */
function headlineOf({ alerts, reason, firingTotal, resolvedTotal }: GroupNotification): string {
  const counts = [
    ...(firingTotal > 0 ? [`${firingTotal} open ${firingTotal === 1 ? 'alert' : 'alerts'}`] : []),
    ...(resolvedTotal > 0 ? [`${resolvedTotal} resolved`] : []),
  ];
  const open = alerts.filter((alert) => alert.status === 'firing');
  const told = open.length > 0 ? open : alerts;
  const [words = 'Alerts', ...others] = new Set(told.map((alert) => stateWords(alert, reason === 'repeat')));
  return `${others.length > 0 ? 'Alerts' : words}: ${counts.join(', ')}`;
}

function detailsOf(alert: NotifiedAlert): [string, string][] {
  const { labels, annotations } = alert;
  const attributes = alert.events[0]?.attributes ?? {};
  const step = [attributes.step_id, attributes.scope].filter((part) => part !== undefined).join(', ');
  const started = String(attributes.started_at ?? '')
    .replace('T', ' ')
    .replace(/(\.\d+)?Z$/, ' UTC');
  const others = Object.entries(labels).filter(([name]) => !OWN_LABELS.has(name));
  const details: [string, string | number | boolean | undefined][] = [
    ['Summary', alert.status === 'firing' ? annotations.summary : ''],
    ['Nest', named(labels.nest, labels.nest_id)],
    ['Bird', named(labels.bird, labels.bird_id)],
    [labels.entity_type ?? 'Entity', named(labels.entity_name, labels.bird_id ? '' : labels.entity_id)],
    ['Flight', attributes.flight_id],
    ['Started', started],
    ['Step', step],
    ['Severity', labels.severity],
    ['Resolved by', alert.status === 'resolved' ? annotations.resolved_by : ''],
    ['Labels', others.map(([name, value]) => `${name}=${value}`).join(', ')],
    ...Object.entries(annotations)
      .filter(([name]) => !OWN_ANNOTATIONS.has(name))
      .slice(0, 5),
  ];
  return details
    .map(([name, value]): [string, string] => [
      plainText(name, NAME_CODE_POINTS),
      plainText(String(value ?? ''), LINE_CODE_POINTS),
    ])
    .filter(([, value]) => value !== '');
}

function named(name: string | undefined, id: string | undefined): string {
  return name && id ? `${name} (${id})` : name || id || '';
}

function eventLines(events: readonly Event[], todayUs: number, withPlace: boolean): EventLine[] {
  const lines = new Map<string, EventLine>();
  for (const event of events) {
    const [message = ''] = plainLines(event.message, 1, LINE_CODE_POINTS);
    const type = plainText(event.type.replace(/^[a-z_]+\./, ''), NAME_CODE_POINTS);
    const name = withPlace ? event.bird || String(event.attributes.entity_name ?? '') : '';
    const where = plainText(name, NAME_CODE_POINTS);
    const what = message ? `${type}: ${message}` : type;
    const key = JSON.stringify([where, what]);
    const time = lines.get(key)?.time ?? timeOfDay(event.occurredAtUs, todayUs);
    lines.set(key, { time, where, what, events: (lines.get(key)?.events ?? 0) + 1 });
  }
  return [...lines.values()];
}

function newEvents(alerts: readonly NotifiedAlert[]): Event[] {
  const byKey = new Map(alerts.flatMap((alert) => alert.events).map((event) => [event.key, event]));
  return [...byKey.values()].sort((a, b) => b.occurredAtUs - a.occurredAtUs);
}

function linksOf(
  { alerts, acknowledgeUrl }: GroupNotification,
  externalUrl: string,
): { text: string; url: string }[] {
  const acknowledge = linkable(acknowledgeUrl ?? '');
  const runbooks = new Set(alerts.map((alert) => linkable(alert.annotations.runbook_url ?? '')));
  const page = linkable(`${externalUrl}/`);
  return [
    ...(page ? [{ text: 'Open nestwatch', url: page }] : []),
    ...(acknowledge ? [{ text: 'Acknowledge', url: acknowledge }] : []),
    ...[...runbooks].flatMap((url) => (url ? [{ text: 'Runbook', url }] : [])).slice(0, 3),
  ];
}
