/**
 * What Prometheus sees. Labels are closed sets or ids, so that no text of the service can make series without
 * bound; every series that can be foreseen stands at 0 from the start, so that its first increase is seen as one.
 */
import { collectDefaultMetrics, type Gauge, Registry } from 'prom-client';
import type { Feed } from '../domain/alert/event.ts';
import { SUPPRESSION_REASONS } from '../domain/muting/suppression.ts';
import { codeOf } from '../errors.ts';
import type { Happening, Report } from '../report.ts';
import { createBirdSeries } from './bird-series.ts';
import { EVENT_TYPES, type Foreseen, foresee, foreseenAlerts } from './initial-series.ts';
import { createInstruments, type Instruments } from './instruments.ts';
import { createLabelGuard } from './label-guard.ts';
import { METRICS } from './metric-catalogue.ts';

export interface MetricsOptions extends Foreseen {
  /** Asked at each scrape for what only the store and the stages know; when it fails, so does the scrape. */
  readonly collect: () => Promise<Collected>;
  /** Adds the figures of the process under the names that every Node program gives them. */
  readonly processMetrics: boolean;
  /** Birds with series of their own, shared out evenly among the regions. */
  readonly maxBirds?: number;
}

export interface Collected {
  readonly alerts: readonly {
    readonly alertname: string;
    readonly severity: string;
    readonly state: string;
    readonly count: number;
  }[];
  /** Each of the states has one. */
  readonly silences: readonly { readonly state: string; readonly count: number }[];
  readonly deliveries: readonly {
    readonly receiver: string;
    readonly state: string;
    readonly count: number;
  }[];
  /** Of each feed the oldest cursor, and up to where it is complete; 0 for none. */
  readonly cursors: readonly {
    readonly region: string;
    readonly feed: Feed;
    readonly cursorUs: number;
    readonly verifiedUntilUs: number;
  }[];
}

export interface Metrics {
  readonly report: Report;
  render(): Promise<{ readonly contentType: string; readonly body: string }>;
}

/** At about ten series a Bird this stays near the 20,000 that are rendered without holding up the polls. */
const MAX_BIRDS = 2_000;

const BIRD_STATUSES = ['active', 'unpublished', 'suspended'];
const FLIGHT_STATUSES = ['succeeded', 'failed', 'cancelled', 'active'];
/** New values that one enum of the service may bring before further ones count as `other`. */
const ROOM_FOR_NEW_VALUES = 20;

/** Gauges that prom-client names like counters; the same figures stand beside them under a sound name. */
const MISNAMED = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
];

export function createMetrics(options: MetricsOptions): Metrics {
  const { collect } = options;
  const registry = new Registry();
  const metrics = createInstruments(registry);
  if (options.processMetrics) {
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
  }
  foresee(metrics, options);

  const guard = (metric: keyof Instruments, known: readonly string[]) =>
    createLabelGuard(known, ROOM_FOR_NEW_VALUES, () => drop(metric));
  const drop = (metric: keyof Instruments) => metrics.seriesDropped.inc({ metric: METRICS[metric].name });
  const typeLabels = {
    notification: guard('events', EVENT_TYPES.notification),
    bird_log: guard('events', EVENT_TYPES.bird_log),
    flight: guard('events', EVENT_TYPES.flight),
  };
  const suppressedLabel = guard('notificationsSuppressed', SUPPRESSION_REASONS);
  const birds = createBirdSeries({
    metrics,
    birdsPerRegion: Math.floor((options.maxBirds ?? MAX_BIRDS) / Math.max(1, options.regions.length)),
    birdStatuses: BIRD_STATUSES,
    flightStatuses: FLIGHT_STATUSES,
    birdStatusLabel: guard('birdStatus', BIRD_STATUSES),
    flightStatusLabel: guard('flights', FLIGHT_STATUSES),
    dropped: drop,
  });

  const record: Recorders = {
    request({ region, operation, durationMs, failure }) {
      metrics.requests.inc({ region, operation });
      metrics.requestDuration.observe({ region, operation }, seconds(durationMs));
      if (failure) metrics.requestsFailed.inc({ region, operation, reason: failure });
    },
    rate_limit({ region, requestsPerSecond }) {
      metrics.rateLimit.set({ region }, requestsPerSecond);
    },
    poll({ region, feed, durationMs, failure, atUs }) {
      metrics.polls.inc({ region, feed });
      metrics.pollDuration.observe({ region, feed }, seconds(durationMs));
      if (failure) metrics.pollsFailed.inc({ region, feed, reason: failure });
      else metrics.pollLastSuccess.set({ region, feed }, atUs / 1e6);
    },
    event({ region, feed, type, historic, delayMs }) {
      metrics.events.inc({ region, feed, type: typeLabels[feed](type) });
      if (!historic) metrics.eventDelay.observe({ region, feed }, seconds(delayMs));
    },
    flight(seen) {
      birds.flightSeen(seen, seen.status, seen.atUs);
    },
    flights_active(seen) {
      birds.flightsActive(seen, seen.count);
    },
    duplicates({ region, feed, count }) {
      metrics.duplicates.inc({ region, feed }, count);
    },
    quarantined({ region, feed, count }) {
      metrics.quarantined.inc({ region, feed }, count);
    },
    recovered({ region, feed, count }) {
      metrics.recovered.inc({ region, feed }, count);
    },
    missing({ region, feed, count }) {
      metrics.missing.inc({ region, feed }, count);
    },
    inventory({ region, birds: listed }) {
      birds.inventory(region, listed);
    },
    region_health({ region, health }) {
      metrics.regionUp.set({ region }, health === 'up' ? 1 : 0);
    },
    suppressed({ reason, count }) {
      metrics.notificationsSuppressed.inc({ reason: suppressedLabel(reason) }, count);
    },
    delivery({ receiver, integration, outcome, reason, latencyMs }) {
      if (outcome === 'suppressed') {
        metrics.notificationsSuppressed.inc({ reason: suppressedLabel(reason ?? 'at_delivery') });
        return;
      }
      metrics.notifications.inc({ receiver, integration });
      // What was delivered has a reason where some of several recipients refused it.
      if (outcome !== 'delivered' || reason) {
        metrics.notificationsFailed.inc({ receiver, integration, reason: reason ?? 'rejected' });
      }
      if (outcome === 'delivered' && latencyMs !== undefined) {
        metrics.notificationLatency.observe({ receiver, integration }, seconds(latencyMs));
      }
    },
    template_failed({ receiver, integration }) {
      metrics.templatesFailed.inc({ receiver, integration });
    },
    heartbeat({ outcome, atUs }) {
      if (outcome !== 'sent') return;
      metrics.heartbeatSent.inc();
      metrics.heartbeatLastSuccess.set(atUs / 1e6);
    },
    config_reload({ success, atUs }) {
      metrics.reloadSuccessful.set(success ? 1 : 0);
      if (success) metrics.reloadTime.set(atUs / 1e6);
    },
    trouble({ stage, error }) {
      metrics.troubles.inc({ stage, reason: codeOf(error) });
    },
    // Alerts and cursors are read from their source at each scrape; what is queued shows when it is delivered.
    alert() {},
    counts_untrue() {},
    cursor() {},
    notified() {},
  };

  const showAlerts = createSnapshot(metrics.alerts, foreseenAlerts(options.rules));
  const showSilences = createSnapshot(metrics.silences);
  const showPending = createSnapshot(metrics.deliveriesPending);
  const showDeliveries = createSnapshot(metrics.deliveries);
  const showDead = createSnapshot(metrics.deliveriesDead);

  return {
    report: (one) => (record[one.what] as (one: Happening) => void)(one),
    async render() {
      const { alerts, silences, deliveries, cursors } = await collect();
      showAlerts(alerts.map(({ count, ...labels }) => [labels, count]));
      showSilences(silences.map(({ state, count }) => [{ state }, count]));
      showPending(byReceiver(options.receivers, deliveries, UNSETTLED));
      showDeliveries(byState(options.receivers, deliveries));
      showDead(byReceiver(options.receivers, deliveries, DEAD));
      for (const { region, feed, cursorUs, verifiedUntilUs } of cursors) {
        metrics.cursor.set({ region, feed }, cursorUs / 1e6);
        metrics.verified.set({ region, feed }, verifiedUntilUs / 1e6);
      }
      // One after the other: the lines of all at once take ten times the room of the text.
      const texts: string[] = [];
      for (const { name } of registry.getMetricsAsArray()) {
        texts.push(await registry.getSingleMetricAsString(name));
      }
      return { contentType: registry.contentType, body: `${texts.join('\n\n')}\n` };
    },
  };
}

type Recorders = {
  readonly [What in Happening['what']]: (one: Extract<Happening, { what: What }>) => void;
};

const DELIVERY_STATES = ['pending', 'leased', 'delivered', 'retry', 'ambiguous', 'dead', 'suppressed'];
const UNSETTLED: ReadonlySet<string> = new Set(['pending', 'leased', 'retry', 'ambiguous']);
const DEAD: ReadonlySet<string> = new Set(['dead']);

function byReceiver(
  receivers: MetricsOptions['receivers'],
  deliveries: Collected['deliveries'],
  states: ReadonlySet<string>,
): [{ receiver: string }, number][] {
  const sums = new Map(receivers.map(({ name }) => [name, 0]));
  for (const { receiver, state, count } of deliveries) {
    if (states.has(state)) sums.set(receiver, (sums.get(receiver) ?? 0) + count);
  }
  return [...sums].map(([receiver, sum]) => [{ receiver }, sum]);
}

/** Every state of every receiver, at 0 where there is none; also of receivers that are no longer configured. */
function byState(
  receivers: MetricsOptions['receivers'],
  deliveries: Collected['deliveries'],
): [{ receiver: string; state: string }, number][] {
  const none = receivers.flatMap(({ name: receiver }) =>
    DELIVERY_STATES.map((state) => ({ receiver, state, count: 0 })),
  );
  return [...none, ...deliveries].map(({ receiver, state, count }) => [{ receiver, state }, count]);
}

/** Sets all series of a gauge at once; one that is no longer counted falls to 0 and stays. */
function createSnapshot<L extends string>(gauge: Gauge<L>, foreseen: readonly Record<L, string>[] = []) {
  const seen = new Map(foreseen.map((labels) => [JSON.stringify(labels), labels]));
  return (rows: readonly (readonly [Record<L, string>, number])[]) => {
    for (const labels of seen.values()) gauge.set(labels, 0);
    for (const [labels, value] of rows) {
      seen.set(JSON.stringify(labels), labels);
      gauge.set(labels, value);
    }
  };
}

/** Durations come from clocks that may step back; a metric takes no negative ones. */
function seconds(ms: number): number {
  return Math.max(0, ms / 1000);
}
