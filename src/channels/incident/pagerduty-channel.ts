import * as z from 'zod';
import { type Check, isGiven } from '../../document/check.ts';
import { type HttpReader, httpReader } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate, refuseTemplates, template } from '../../document/read-template.ts';
import { keysWithoutEffect, refusedKeys, twins, words } from '../../document/value-shape.ts';
import type { RankedSeverity } from '../../domain/alert/alert.ts';
import { incidentAction, incidentKey, incidentSeverity } from '../../domain/grouping/incident.ts';
import type { GroupNotification, NotifiedAlert } from '../../domain/grouping/notification.ts';
import { type Secret, secret } from '../../secret.ts';
import type { Template } from '../../templates/liquid.ts';
import { plainText } from '../../text/plain-text.ts';
import { NO_DIGEST } from '../channel.ts';
import { messageOf } from '../message/alert-clusters.ts';
import { placeWithin, stateWords } from '../message/alert-subject.ts';
import { listWithin, within } from '../message/bounded.ts';
import type { Readable } from '../message/digest-view.ts';
import { isFlight } from '../message/event-line.ts';
import { contextOf, type MailView, mailView } from '../message/message-view.ts';
import { renderTexts } from '../message/render-texts.ts';
import { type PostIntegration, type PostRequest, postChannel } from '../post-channel.ts';
import { postKeys, refuseCap, urlAt } from '../post-config.ts';

const DEFAULT_URL = 'https://events.pagerduty.com/v2/enqueue';

export interface PagerdutyIntegration extends PostIntegration {
  readonly kind: 'pagerduty';
  readonly routingKey: Secret;
  /** Replaces the alerts' own severity; null to use theirs. */
  readonly severity: RankedSeverity | null;
  readonly description?: Template;
}

const WORDS = [
  'Events API v2: one incident per group. It is acknowledged when every firing alert of the group is acknowledged in nestwatch, and resolved when all are resolved.',
  'PagerDuty is told about each group separately, even where other receivers get one message for several: about everything that was held back, and, in the summary after an outage, about what still fires.',
  'An incident opened as a `fallback` is acknowledged and resolved there, too.',
  'While an acknowledged alert still fires, the incident stays open even if the others are resolved. The incident is resolved even if a silence mutes the resolved message.',
].join(' ');

const pagerdutyShape = z
  .strictObject({
    ...twins('routing_key', 'The integration key of a service, for Events API v2. Required.'),
    url: words.optional().describe('Overrides `pagerduty_url`.'),
    severity: z
      .enum(['critical', 'error', 'warning', 'info'])
      .optional()
      .describe("Replaces the alerts' own severity, of which the worst counts."),
    description: template("of the incident's summary"),
    ...postKeys(true),
    ...refusedKeys(
      ['service_key', 'service_key_file'],
      'use `routing_key` with an integration of Events API v2',
    ),
    ...keysWithoutEffect(
      ['client', 'client_url', 'details', 'images', 'links', 'source', 'component', 'group', 'class'],
      'leave it out, it is filled in',
    ),
  })
  .describe(WORDS);

export const pagerdutyChannel = postChannel<PagerdutyIntegration>({
  kind: 'pagerduty',
  audience: 'incidents',
  pace: { inFlight: 4, claimed: 16 },
  shape: pagerdutyShape,
  globalShape: {
    pagerduty_url: words
      .optional()
      .meta({ preset: DEFAULT_URL, description: 'Address to which events for PagerDuty are sent.' }),
  },
  reader(check) {
    const shared = urlAt(check, ['global', 'pagerduty_url']) ?? DEFAULT_URL;
    const http = httpReader(check);
    return (path) => readPagerduty(check, path, http, shared);
  },
  request: pagerdutyRequest,
});

export function pagerdutyRequest(
  integration: PagerdutyIntegration,
  notification: Readable,
  externalUrl: string,
): PostRequest | string {
  if (notification.kind === 'digest') return NO_DIGEST;
  const { severity, description } = integration;
  const url = integration.url.reveal();
  const routingKey = integration.routingKey.reveal();
  // About the incident alone: PagerDuty needs no more than this.
  if (notification.acknowledged || notification.alerts.length === 0)
    return { url, body: incidentOf(notification, routingKey) };
  const { texts, notes, error } = renderTexts({ description }, notification, externalUrl);
  const style = { routingKey, severity };
  const body = pagerdutyEvent(notification, externalUrl, style, texts.description, notes);
  return { url, body, templateError: error };
}

function readPagerduty(
  check: Check,
  path: Path,
  readHttp: HttpReader,
  shared: string,
): PagerdutyIntegration | undefined {
  refuseTemplates(check, path, pagerdutyShape, ['description']);
  // With the key of the older API, the problem with that is the only one reported.
  const hasOldKey = isGiven(check, path, 'service_key');
  const routingKey = check.secret(path, 'routing_key', { isRequired: !hasOldKey });
  const url = urlAt(check, [...path, 'url']) ?? shared;
  const description = readTemplate(check, [...path, 'description'], 'text');
  const http = readHttp(path);
  const pagerduty = check.read(pagerdutyShape, path);
  refuseCap(check, path, 'PagerDuty folds what belongs together itself');
  if (!pagerduty || !routingKey) return undefined;
  return {
    kind: 'pagerduty',
    url: secret(url),
    routingKey,
    severity: pagerduty.severity ?? null,
    ...(description && { description }),
    timeoutMs: pagerduty.timeout,
    ...(http && { http }),
    sendResolved: pagerduty.send_resolved,
  };
}

// Writes events for PagerDuty's Events API v2 (https://developer.pagerduty.com/docs/events-api-v2/trigger-events/). A
// group is one incident, whose `dedup_key` is the incident's key.

export const PAGERDUTY_LIMITS = { summary: 1_024, source: 255, bytes: 512_000 } as const;
/** The limit for the listed alerts: much less than an event's, and enough to read. */
const ALERTS_BYTES = 60_000;
const LISTED_ALERTS = 100;
const MESSAGE_CODE_POINTS = 500;
const FLIGHT_CODE_POINTS = 100;

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
) {
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
    ...incidentOf(notification, routingKey),
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

/** What every event says of its incident, and all that is sent about the incident alone. */
export function incidentOf(notification: GroupNotification, routingKey: string) {
  return {
    routing_key: routingKey,
    event_action: incidentAction(notification),
    dedup_key: incidentKey(notification),
  };
}

/** What went wrong, by which people on call sort incidents. */
function errorOf({ message, lead, clusters }: MailView): string {
  return plainText(message[0] ?? lead[0] ?? clusters[0]?.cause ?? '', MESSAGE_CODE_POINTS);
}

/** One line about an alert, with its newest Flight in the notification, why it fires now and who can act. */
function lineOf(alert: NotifiedAlert): string {
  const message = plainText(messageOf(alert) || alert.annotations.summary || '', MESSAGE_CODE_POINTS);
  const head = `${stateWords(alert, false)}: ${placeWithin(alert, {})}`;
  const flightId = alert.events.find(isFlight)?.attributes.flight_id;
  const flight = flightId ? ` · Flight ${plainText(String(flightId), FLIGHT_CODE_POINTS)}` : '';
  const context = contextOf(alert).map((one) => ` · ${plainText(one, MESSAGE_CODE_POINTS)}`);
  return `${head}${message ? `: ${message}` : ''}${flight}${context.join('')}`;
}
