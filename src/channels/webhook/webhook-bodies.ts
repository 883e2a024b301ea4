/** The bodies of webhooks besides Alertmanager's: batches of CloudEvents, and digests. */
import { type Event, eventJson, wireText } from '../../domain/alert/event.ts';
import { type Digest, digestTitle, type OpenAlert } from '../../domain/digest/digest.ts';
import type { Place } from '../../domain/digest/flight-tally.ts';
import { type ReportRow, type SentReport, wireFigures } from '../../domain/digest/report-figures.ts';
import type { DigestNotification, Notification } from '../../domain/grouping/notification.ts';
import { formatInstant } from '../../time/instant.ts';

/** The most events of one batch. */
const BATCH = 100;

/**
 * The notification's events in batches of up to 100, oldest first. For a group these are its new events. A group that
 * only resolves or repeats has none, and nothing is sent about it.
 */
export function eventBatches(notification: Exclude<Notification, DigestNotification>): Event[][] {
  const events = notification.kind === 'forward' ? notification.events : newEvents(notification.alerts);
  const batches: Event[][] = [];
  for (let start = 0; start < events.length; start += BATCH) batches.push(events.slice(start, start + BATCH));
  return batches;
}

/** The same as CloudEvents. */
export function cloudEventBatches(notification: Exclude<Notification, DigestNotification>) {
  return eventBatches(notification).map((batch) => batch.map(cloudEvent));
}

/** A digest as one event. */
export function digestEvent({ id, digest }: DigestNotification) {
  const subject = attribute(digest.name);
  return {
    specversion: '1.0',
    id,
    source: '/digests',
    type: 'nestwatch.digest',
    ...(subject && { subject }),
    time: formatInstant(digest.toUs),
    datacontenttype: 'application/json',
    data: digestJson(digest),
  };
}

/** The new events, each once, although two alerts of a group may share one. */
function newEvents(alerts: readonly { readonly events: readonly Event[] }[]): Event[] {
  const oldestFirst = alerts.flatMap(({ events }) => events.toReversed());
  const byKey = new Map(oldestFirst.map((event) => [event.key, event]));
  return [...byKey.values()].sort((a, b) => a.occurredAtUs - b.occurredAtUs);
}

/** One event as a CloudEvent 1.0 in structured mode; its id is the same however often it is sent. */
function cloudEvent(event: Event) {
  const subject = subjectOf(event);
  return {
    specversion: '1.0',
    id: event.key,
    source: `/regions/${encodeURIComponent(event.region)}`,
    type: `nestwatch.${attribute(event.type)}`,
    ...(subject && { subject }),
    time: event.occurredAt,
    datacontenttype: 'application/json',
    data: eventJson(event),
  };
}

/** A context attribute must not contain control characters, noncharacters or unpaired surrogates (section 3.1). */
function attribute(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Noncharacter_Code_Point}]/gu, '');
}

/** `nests/…/birds/…/flights/…`, as far as known. */
function subjectOf(event: Event): string {
  const parts: [string, string][] = [
    ['nests', event.nestId],
    ['birds', event.birdId],
    ['flights', String(event.attributes.flight_id ?? '')],
  ];
  return parts
    .filter(([, id]) => id !== '')
    .map(([kind, id]) => `${kind}/${encodeURIComponent(id.toWellFormed())}`)
    .join('/');
}

/** A digest for programs: times are in RFC 3339, durations in seconds. */
export function digestJson(digest: Digest | SentReport): Readonly<Record<string, unknown>> {
  if ('report' in digest) return reportJson(digest);
  const { flights, recovered, watch } = digest;
  return {
    name: digest.name,
    from: formatInstant(digest.fromUs),
    to: formatInstant(digest.toUs),
    flights_failed: flights.failed,
    flights_succeeded: flights.succeeded,
    flights_cancelled: flights.cancelled,
    birds_failing: flights.birdsFailing,
    nests_failing: flights.nestsFailing,
    birds: flights.birds.map(({ failed, succeeded, ...place }) => ({
      ...placeJson(place),
      failed,
      succeeded,
    })),
    nests: flights.nests.map(({ region, nest, failed, succeeded }) => ({
      region,
      nest: wireText(nest),
      failed,
      succeeded,
    })),
    causes: flights.causes.map(({ error, failed, birds, examples }) => ({
      error,
      failed,
      birds,
      examples: examples.map(placeJson),
    })),
    causes_total: flights.causesTotal,
    slowest: flights.slowest.map(({ p95Us, beforeUs, ...place }) => ({
      ...placeJson(place),
      p95_seconds: p95Us / 1e6,
      p95_seconds_before: beforeUs === null ? null : beforeUs / 1e6,
    })),
    open: digest.open.map((alert) => ({
      ...alertJson(alert),
      silenced: alert.hidden === 'silenced',
      acknowledged: alert.hidden === 'acknowledged',
    })),
    open_total: digest.openTotal,
    flights_waiting: digest.waiting?.flights ?? 0,
    recovered: recovered.alerts,
    mean_seconds_to_recovery: recovered.alerts === 0 ? null : recovered.meanUs / 1e6,
    flown_again: digest.acted?.flown ?? 0,
    healed: digest.acted?.healed ?? 0,
    not_flown_again: digest.acted?.withheld ?? {},
    connections_lost: digest.connectionsLost.map(alertJson),
    birds_deactivated: digest.deactivated.map(alertJson),
    silenced: digest.silenced.map(({ labels, times, isOpen }) => ({ labels, times, open: isOpen })),
    silenced_total: digest.silencedTotal,
    unusual: digest.unusual.map(({ sort, text, ...place }) => ({ ...placeJson(place), sort, text })),
    unusual_total: digest.unusualTotal,
    suppressed: Object.fromEntries(digest.suppressed.map(({ reason, count }) => [reason, count])),
    deliveries_given_up: digest.dead,
    regions: watch.map(({ region, verifiedUntilUs, impaired }) => ({
      region,
      verified_until: verifiedUntilUs === 0 ? null : formatInstant(verifiedUntilUs),
      impaired: impaired.map(({ alertname, us, isOpen }) => ({ alertname, seconds: us / 1e6, open: isOpen })),
    })),
  };
}

/**
 * A digest in Alertmanager's form: a body without alerts, so that a receiver of alerts finds nothing to open or close.
 * The digest itself is in `digest`.
 */
export function digestBody({ digest, receiver }: DigestNotification, externalUrl: string): object {
  return {
    version: '4',
    groupKey: `digest:${digest.name}`,
    truncatedAlerts: 0,
    status: 'resolved',
    receiver,
    groupLabels: {},
    commonLabels: {},
    commonAnnotations: {
      summary: 'report' in digest ? `Report ${digest.name}` : `Digest ${digest.name}: ${digestTitle(digest)}`,
    },
    externalURL: externalUrl,
    alerts: [],
    digest: digestJson(digest),
  };
}

/** Figures as on the page: shares from 0 to 1, durations in seconds. */
function reportJson({ name, fromUs, toUs, report: { month, nest, tables } }: SentReport) {
  const rows = (all: readonly ReportRow[]) =>
    all.map(({ labels, text, figures }) => ({
      ...(labels && { labels }),
      ...(text !== undefined && { text: wireText(text) }),
      ...Object.fromEntries(wireFigures(figures)),
    }));
  return {
    ...{ name, from: formatInstant(fromUs), to: formatInstant(toUs), month, nest },
    report: Object.fromEntries(Object.entries(tables).map(([table, all]) => [table, rows(all)])),
  };
}

function placeJson({ region, nest, bird }: Place) {
  return { region, nest: wireText(nest), bird: wireText(bird) };
}

function alertJson({ labels, startsAtUs }: OpenAlert) {
  return { labels, startsAt: formatInstant(startsAtUs) };
}
