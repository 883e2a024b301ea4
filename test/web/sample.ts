import type { Alert } from '../../src/domain/alert/alert.ts';
import type { Event } from '../../src/domain/alert/event.ts';
import { FINDING_SORTS } from '../../src/domain/context/findings.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { createMatcher } from '../../src/domain/matchers/matcher.ts';
import { BUILT_IN_INHIBITIONS } from '../../src/domain/muting/muting.ts';
import type { Said } from '../../src/health/finding.ts';
import { type Impairment, impairment } from '../../src/health/impairment.ts';
import type { Delivery } from '../../src/store/outbox-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { StatusView, WebOptions } from '../../src/web/web-options.ts';
import { TEST_START_US } from '../virtual-clock.ts';

/** A route tree with two receivers: critical alerts also go to `pager`. */
export function anAlertingConfig(change: Partial<WebOptions['alerting']> = {}): WebOptions['alerting'] {
  const times = { groupWaitMs: 30_000, groupIntervalMs: 300_000, repeatIntervalMs: 14_400_000 };
  const route = { matchers: [], continue: false, groupBy: ['alertname', 'region'], ...times, routes: [] };
  const critical = [createMatcher('severity', '=', 'critical')];
  return {
    route: {
      ...route,
      path: '0',
      key: '{}',
      receiver: 'ops',
      routes: [
        {
          ...route,
          path: '0.0',
          key: '{}/{severity="critical"}',
          receiver: 'pager',
          matchers: critical,
          continue: true,
        },
        { ...route, path: '0.1', key: '{}/{}', receiver: 'ops', groupBy: 'all' },
      ],
    },
    receivers: [
      { name: 'ops', integrations: [] },
      { name: 'pager', integrations: [] },
    ],
    inhibitRules: BUILT_IN_INHIBITIONS,
    timeIntervals: new Map(),
    rules: DEFAULT_RULES,
    forward: [],
    context: { show: FINDING_SORTS, backAfterMs: 7 * 86_400_000 },
    poll: { initialLookbackMs: 3_600_000 },
    store: { retentionMs: 30 * 86_400_000 },
    ...change,
  };
}

export const NOW_US = TEST_START_US;
const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;

export function anEvent(change: Partial<Event> & { readonly id: string }): Event {
  const { id, ...rest } = change;
  const region = rest.region ?? 'eu';
  const feed = rest.feed ?? 'flight';
  const occurredAtUs = rest.occurredAtUs ?? NOW_US - MINUTE;
  return {
    key: `${region}/${feed}/${id}`,
    region,
    feed,
    type: 'flight.failed',
    occurredAt: `${new Date(occurredAtUs / 1000).toISOString().slice(0, -1)}0001Z`,
    occurredAtUs,
    observedAtUs: occurredAtUs + 4 * SECOND,
    nestId: '682',
    nest: 'Marketing',
    birdId: '148890',
    bird: 'Translate blog',
    message: 'The target language "nl-BE" is not supported',
    attributes: {},
    ...rest,
  };
}

/** The labels of `anAlert`. */
export const LABELS = {
  alertname: 'FlightFailed',
  severity: 'critical',
  region: 'eu',
  nest_id: '682',
  nest: 'Marketing',
  bird_id: '148890',
  bird: 'Translate blog',
};

export function anAlert(change: Partial<Alert> & { readonly id: string }): Alert {
  return {
    scope: 'eu/bird/148890',
    rule: 'r1',
    subject: 's',
    firstRule: 'r1',
    alertname: change.labels?.alertname ?? 'FlightFailed',
    state: 'firing',
    labels: LABELS,
    annotations: { summary: 'Flight of Translate blog failed in Marketing (EU)' },
    startsAtUs: NOW_US - 12 * MINUTE,
    endsAtUs: 0,
    updatedAtUs: NOW_US - MINUTE,
    eventsTotal: 0,
    lastSeq: 0,
    memory: null,
    dueAtUs: null,
    ...change,
  };
}

export function aDelivery(change: Partial<Delivery> & { readonly id: string }): Delivery {
  return {
    notificationId: `n-${change.id}`,
    receiver: 'ops',
    integration: 'email',
    position: 0,
    lane: '',
    state: 'pending',
    attempts: 0,
    createdAtUs: NOW_US - 2 * MINUTE,
    nextAttemptAtUs: NOW_US - 2 * MINUTE,
    settledAtUs: 0,
    lastError: '',
    ...change,
  };
}

/** An event, or what is special about it. */
type SomeEvent = Event | Parameters<typeof anEvent>[0];
const whole = (event: SomeEvent): Event => ('id' in event ? anEvent(event) : event);

export async function putEvents(store: Store, events: readonly SomeEvent[]): Promise<void> {
  await store.transaction(async (tx) => {
    for (const event of events.map(whole)) {
      const { stream } = await tx.streams.open(event.region, event.feed, event.birdId);
      await tx.events.insert(stream, [event]);
    }
  });
}

/** Stores such an alert with the events that raised it, the oldest first. */
export async function putAlert(
  store: Store,
  alert: Parameters<typeof anAlert>[0],
  some: readonly SomeEvent[] = [],
): Promise<void> {
  const events = some.map(whole);
  await putEvents(store, events);
  await store.transaction(async (tx) => {
    await tx.alerts.put([{ ...anAlert(alert), eventsTotal: events.length, lastSeq: events.length }]);
    await tx.alerts.linkEvents(events.map((event, index) => ({ alertId: alert.id, seq: index + 1, event })));
  });
}

/** Stores an alert of each of these Birds, whose id begins with `c/`, with these labels besides. */
export async function putAlertsOf(
  store: Store,
  birdIds: readonly string[],
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const bird_id of birdIds)
    await putAlert(store, { id: `c/${bird_id}`, labels: { ...LABELS, bird_id, ...labels } });
}

/** Stores deliveries in the state that they name. */
export async function putDeliveries(
  store: Store,
  deliveries: readonly Parameters<typeof aDelivery>[0][],
): Promise<void> {
  await store.transaction(async (tx) => {
    for (const delivery of deliveries.map(aDelivery)) {
      const { id, receiver, createdAtUs } = delivery;
      const notification = { kind: 'forward', id: `n-${id}`, receiver, createdAtUs, events: [] } as const;
      await tx.outbox.enqueue(notification, [delivery]);
    }
  });
}

export function aStatus(change: Partial<StatusView> = {}): StatusView {
  const feeds = (lastSuccessUs: number) =>
    (
      [
        { feed: 'notification', streams: 1, polled: 1, cursorUs: NOW_US - 90 * MINUTE, openFlights: 0 },
        { feed: 'bird_log', streams: 12, polled: 12, cursorUs: NOW_US - 240 * MINUTE, openFlights: 0 },
        { feed: 'flight', streams: 12, polled: 12, cursorUs: NOW_US - 3 * MINUTE, openFlights: 3 },
      ] as const
    ).map((feed) => ({ ...feed, lastSuccessUs, verifiedUntilUs: NOW_US - 2 * MINUTE }));
  const reads = (oldestReadUs: number) =>
    (
      [
        { feed: 'inventory', streams: 1 },
        { feed: 'notification', streams: 1 },
        { feed: 'bird_log', streams: 12 },
        { feed: 'flight', streams: 12 },
      ] as const
    ).map((one) => ({
      ...{ ...one, overdue: 0 },
      // It is listed less often.
      oldestReadUs: one.feed === 'inventory' ? oldestReadUs - 3 * MINUTE : oldestReadUs,
    }));
  const begunUs = NOW_US - 26 * 60 * MINUTE;
  const region = (name: string, readUs: number, oldestUs: number) => ({
    region: name,
    health: { health: 'up', reason: 'answered', sinceUs: begunUs } as const,
    started: true,
    feeds: feeds(NOW_US - readUs),
    reads: reads(NOW_US - oldestUs),
  });
  return {
    version: '0.1.0',
    startedAtUs: begunUs,
    configuration: { readAtUs: begunUs, triedAtUs: 0, mistakes: [], needsRestart: [] },
    regions: [
      {
        ...region('eu', 3 * SECOND, 40 * SECOND),
        ...{ requestsPerSecond: 5, nests: 3, birds: 12, auditsBehindMs: 0 },
      },
      {
        ...region('us', 7 * SECOND, 50 * SECOND),
        ...{ requestsPerSecond: 2.5, nests: 2, birds: 7, auditsBehindMs: 90_000 },
      },
    ],
    ...change,
  };
}

/** Something that impairs the watch a little; each part can be changed. */
export function anImpairment(change: Partial<Omit<Impairment, keyof Said>> = {}): Impairment {
  const facts = { region: 'eu', feed: 'flight', streams: 12, late: 2, oldestMs: 12 * 60_000 } as const;
  const { finding = { sort: 'overdue', facts }, ...rest } = change;
  return impairment(finding, {
    reason: 'streams_overdue',
    region: 'eu',
    feed: 'flight',
    severity: 'warning',
    sinceUs: NOW_US - 12 * MINUTE,
    stopsHeartbeat: false,
    ...rest,
  });
}
