/** The JSON API: what the store and the stages know, in snake_case. It only reads. */
import { Hono } from 'hono';
import type { Alert, AlertState } from '../alerts/alert.ts';
import { FEEDS } from '../alerts/event.ts';
import { fingerprint } from '../alerts/fingerprint.ts';
import { eventJson } from '../event-json.ts';
import { formatInstant } from '../instant.ts';
import type { BirdRecord, Delivery, DeliveryState, EventQuery, Store } from '../store/store.ts';
import { instant, limit, oneOf, readQuery, refuse } from './query.ts';
import { type RegionView, type StatusView, stateOf } from './status-view.ts';

export interface ApiOptions {
  readonly store: Store;
  readonly status: () => StatusView;
  readonly externalUrl: string;
}

const ALERT_STATES: readonly AlertState[] = ['firing', 'resolved', 'pending'];
const DELIVERY_STATES: readonly DeliveryState[] = [
  'pending',
  'leased',
  'delivered',
  'retry',
  'ambiguous',
  'dead',
  'suppressed',
];

export function createApi({ store, status, externalUrl }: ApiOptions): Hono {
  const api = new Hono();
  const search = (url: string) => new URL(url).searchParams;

  /** A region that is not watched is more often a misspelling than a question about the past. */
  function region(value: string | undefined): string | undefined {
    return oneOf(
      'region',
      value,
      status().regions.map((one) => one.region),
    );
  }

  api.get('/status', async (c) => {
    readQuery(search(c.req.url), []);
    const view = status();
    const counts = await store.transaction(async (tx) => ({
      alerts: await tx.countAlerts(),
      deliveries: await tx.countDeliveries(),
    }));
    return c.json({
      version: view.version,
      started_at: formatInstant(view.startedAtUs),
      regions: view.regions.map(regionJson),
      alerts: counts.alerts.map(({ alertname, severity, state, count }) => ({
        alertname,
        severity,
        state,
        count,
      })),
      deliveries: countsByReceiver(counts.deliveries),
    });
  });

  api.get('/events', async (c) => {
    const given = readQuery(search(c.req.url), [
      'region',
      'feed',
      'type',
      'since',
      'until',
      'limit',
      'cursor',
    ]);
    const query: EventQuery = {
      region: region(given.region),
      feed: oneOf('feed', given.feed, FEEDS),
      type: given.type,
      sinceUs: instant('since', given.since),
      untilUs: instant('until', given.until),
      limit: limit(given.limit),
      cursor: given.cursor,
    };
    if (query.sinceUs !== undefined && query.untilUs !== undefined && query.sinceUs >= query.untilUs) {
      throw refuse('since: must be before until');
    }
    const { events, next } = await store.transaction((tx) => tx.events(query));
    return c.json({ events: events.map(eventJson), ...(next !== undefined && { next }) });
  });

  api.get('/alerts', async (c) => {
    const given = readQuery(search(c.req.url), ['state', 'limit']);
    const query = { state: oneOf('state', given.state, ALERT_STATES), limit: limit(given.limit) };
    const alerts = await store.transaction((tx) => tx.alerts(query));
    return c.json({ alerts: alerts.map((alert) => alertJson(alert, externalUrl)) });
  });

  api.get('/birds', async (c) => {
    const given = readQuery(search(c.req.url), ['region']);
    const only = region(given.region);
    const regions = only === undefined ? status().regions.map((one) => one.region) : [only];
    const birds = await store.transaction(async (tx) => {
      const found: ReturnType<typeof birdJson>[] = [];
      for (const name of regions) {
        const nests = new Map((await tx.nests(name)).map((nest) => [nest.nestId, nest.name]));
        for (const bird of await tx.birds(name)) {
          if (bird.present) found.push(birdJson(bird, nests.get(bird.nestId) ?? ''));
        }
      }
      return found;
    });
    return c.json({ birds });
  });

  api.get('/deliveries', async (c) => {
    const given = readQuery(search(c.req.url), ['state', 'receiver', 'limit']);
    const query = {
      state: oneOf('state', given.state, DELIVERY_STATES),
      receiver: given.receiver,
      limit: limit(given.limit),
    };
    const deliveries = await store.transaction((tx) => tx.deliveries(query));
    return c.json({ deliveries: deliveries.map(deliveryJson) });
  });

  return api;
}

/** An instant for JSON; 0 stands for none. */
const instantJson = (us: number) => (us === 0 ? null : formatInstant(us));

function regionJson(view: RegionView) {
  return {
    region: view.region,
    health: stateOf(view),
    reason: view.health.reason,
    since: instantJson(view.health.sinceUs),
    requests_per_second: view.requestsPerSecond,
    nests: view.nests,
    birds: view.birds,
    audits_behind_seconds: view.auditsBehindMs / 1000,
    feeds: view.feeds.map((feed) => ({
      feed: feed.feed,
      cursor: instantJson(feed.cursorUs),
      last_success: instantJson(feed.lastSuccessUs),
      streams: feed.streams,
      open_flights: feed.openFlights,
      verified_until: instantJson(feed.verifiedUntilUs),
    })),
  };
}

function countsByReceiver(
  counts: readonly { receiver: string; state: DeliveryState; count: number }[],
): Record<string, Partial<Record<DeliveryState, number>>> {
  const byReceiver = new Map<string, Partial<Record<DeliveryState, number>>>();
  for (const { receiver, state, count } of counts) {
    byReceiver.set(receiver, { ...byReceiver.get(receiver), [state]: count });
  }
  return Object.fromEntries(byReceiver);
}

/** Go's zero time: how Alertmanager writes that an alert has not ended. */
const NOT_ENDED = '0001-01-01T00:00:00Z';

/** Alertmanager's shape, with the state and the count of events beside it. */
function alertJson(alert: Alert, externalUrl: string) {
  return {
    id: alert.id,
    state: alert.state,
    status: alert.state,
    labels: alert.labels,
    annotations: alert.annotations,
    startsAt: alert.startsAtUs === 0 ? null : formatInstant(alert.startsAtUs),
    endsAt: alert.endsAtUs === 0 ? NOT_ENDED : formatInstant(alert.endsAtUs),
    generatorURL: `${externalUrl}/`,
    fingerprint: fingerprint(alert.labels),
    events_total: alert.eventsTotal,
  };
}

function birdJson(bird: BirdRecord, nest: string) {
  return {
    region: bird.region,
    nest_id: bird.nestId,
    nest,
    bird_id: bird.birdId,
    bird: bird.name,
    status: bird.status,
    status_since: instantJson(bird.statusSinceUs),
    trigger_type: bird.triggerType,
  };
}

function deliveryJson(delivery: Delivery) {
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
