/**
 * Exposes the metrics to Prometheus. Labels are closed sets or ids, so that no text from the service can create
 * unlimited series. Every foreseeable series stands at 0 from the start, so that Prometheus sees its first increase.
 */

import {
  collectDefaultMetrics,
  type Gauge,
  type OpenMetricsContentType,
  type PrometheusContentType,
  Registry,
} from 'prom-client';
import type { Feed } from '../domain/alert/event.ts';
import { FAULT_SORTS, type FaultSort } from '../domain/alert/fault.ts';
import { IMPAIRMENT_REASONS, type ImpairmentReason } from '../health/impairment.ts';
import { LIMITS } from '../limits.ts';
import type { Happening, Report } from '../report.ts';
import { createBirdSeries, PART_LENGTH, type ShownBirds } from './bird-series.ts';
import { type Foreseen, foreseeIntegration, foreseenAlerts, foreseeProcess } from './initial-series.ts';
import { createInstruments, type Instruments, openMetricsOf } from './instruments.ts';
import { BIRD_METRICS, METRICS } from './metric-catalogue.ts';
import { createLabelGuard, createRecorders, END_STATUSES } from './metric-recorders.ts';
import { createRegionSeries } from './region-series.ts';

interface MetricsOptions extends Foreseen {
  /**
   * Called at each scrape for figures that only the store and the stages know; if it fails, so does the scrape.
   * Figures that all replicas share are needed only of the replica that alerts (`isAlerting`), which alone shows
   * them.
   */
  readonly collect: (isAlerting: boolean) => Promise<Collected>;
  /** Whether several replicas may share the store. Each then shows a region only while it owns it. */
  readonly isShared?: boolean;
  /** The longest turn of the event loop since the last call. */
  readonly longestTurnMs: () => number;
  /** When a Flight of the Bird last failed before this process started; 0 for never. By default none has. */
  readonly lastFailureUs?: (region: string, birdId: string) => number;
  /** Adds the process metrics under the names that every Node program uses. */
  readonly processMetrics: boolean;
  /** Which Birds' series are shown. */
  readonly birds?: ShownBirds;
  /** The most Birds with series of their own, divided evenly among the regions. */
  readonly maxBirds?: number;
}

export interface Collected {
  /** Same as /-/ready. */
  readonly ready: boolean;
  /** The name of this replica among those that share the store; undefined if the process has its own store. */
  readonly replica?: string | undefined;
  readonly alerts: readonly {
    readonly alertname: string;
    readonly severity: string;
    readonly state: string;
    readonly count: number;
  }[];
  readonly firing: readonly FiringCount[];
  /** One entry for each state. */
  readonly silences: readonly { readonly state: string; readonly count: number }[];
  /** Whether no rule may act; undefined if nothing may be done at any service. */
  readonly isPaused?: boolean | undefined;
  readonly setAside: readonly { readonly sort: FaultSort; readonly count: number }[];
  readonly deliveries: readonly {
    readonly receiver: string;
    readonly state: string;
    readonly count: number;
  }[];
  /** The oldest cursor of each feed, and until when the feed is proven complete; 0 for none. */
  readonly cursors: readonly {
    readonly region: string;
    readonly feed: Feed;
    readonly cursorUs: number;
    readonly verifiedUntilUs: number;
  }[];
  /** How current the streams of each feed and the inventory are. */
  readonly reads: readonly {
    readonly region: string;
    readonly feed: Feed | 'inventory';
    readonly overdue: number;
    readonly oldestReadUs: number;
  }[];
  /** Why the watch is impaired; a reason may occur several times. */
  readonly impaired: readonly ImpairmentReason[];
  /** In bytes; undefined while it cannot be measured. */
  readonly space: { readonly used: number; readonly free: number | undefined } | undefined;
}

/** How many alerts with these labels fire; `nestId` is empty for alerts without a Nest. */
interface FiringCount {
  readonly alertname: string;
  readonly severity: string;
  readonly region: string;
  readonly nestId: string;
  readonly count: number;
}

/** The part that a reload can change. */
type Configured = Pick<Foreseen, 'regions' | 'acting' | 'receivers' | 'rules'>;

/** The answer to a scrape: text in parts, between which the event loop turns. */
export interface Scraped {
  readonly contentType: string;
  readonly body: Iterable<string> | AsyncIterable<string>;
}

interface Metrics {
  readonly report: Report;
  /** Shows from now on the regions, receivers and rules of a new configuration. */
  follow(configured: Configured): void;
  /** Removes the series of all other regions, whose intake must have ended. */
  keepRegions(these: readonly string[]): Promise<void>;
  render(format?: 'text' | 'openmetrics'): Promise<Scraped>;
}

const DEFAULT_MAX_BIRDS = 10_000;

const BIRD_STATUSES = ['active', 'unpublished', 'suspended'];

/** Gauges that prom-client names like counters; it exports the same figures under proper names as well. */
const MISNAMED = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
];

export function createMetrics(options: MetricsOptions): Metrics {
  const { collect, isShared = false } = options;
  let isAlerting = !isShared;
  const registry = new Registry();
  const metrics = createInstruments(registry);
  if (options.processMetrics) {
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
  }
  const openMetrics = openMetricsOf(registry);
  foreseeProcess(metrics, options);

  let watched = options.regions;
  const perRegion = (most: number) => () => Math.floor(most / Math.max(1, watched.length));
  const dropSeries = (metric: string) => metrics.seriesDropped.inc({ metric });
  const drop = (metric: keyof Instruments) => dropSeries(METRICS[metric].name);
  const birds = createBirdSeries({
    shown: options.birds ?? 'all',
    birdsPerRegion: perRegion(options.maxBirds ?? DEFAULT_MAX_BIRDS),
    knownPerRegion: perRegion(LIMITS.shown_birds.most),
    birdStatuses: BIRD_STATUSES,
    endStatuses: END_STATUSES,
    birdStatusLabel: createLabelGuard(BIRD_STATUSES, () => dropSeries(BIRD_METRICS.status.name)),
    lastFailureUs: options.lastFailureUs ?? (() => 0),
    dropped: (metric) => dropSeries(BIRD_METRICS[metric].name),
  });
  const record = createRecorders({
    metrics,
    birds,
    nestsPerRegion: perRegion(LIMITS.shown_nests.most),
    endStatusLabel: createLabelGuard(END_STATUSES, () => dropSeries(BIRD_METRICS.ended.name)),
    owned(duty) {
      regions.hear(duty);
      if (duty.duty === 'alerting') isAlerting = duty.isOwned;
      if (duty.duty === 'repeating') showRepeating(duty.isOwned);
    },
    drop,
  });
  const regions = createRegionSeries({
    registry,
    metrics,
    operations: options.operations,
    isShared,
    ended: (region) => record.inventory({ what: 'inventory', region, birds: [] }),
  });

  function showRepeating(isOwned: boolean): void {
    if (isOwned) metrics.heartbeatLastSuccess.set(0);
    else metrics.heartbeatLastSuccess.remove({});
  }

  const showAlerts = createSnapshot(metrics.alerts);
  const showSilences = createSnapshot(metrics.silences);
  const showSetAside = createSnapshot(
    metrics.setAside,
    FAULT_SORTS.map((what) => ({ what })),
  );
  const showImpaired = createSnapshot(
    metrics.watchImpaired,
    IMPAIRMENT_REASONS.map((reason) => ({ reason })),
  );
  const showPending = createSnapshot(metrics.deliveriesPending);
  const showDeliveries = createSnapshot(metrics.deliveries);
  const showDead = createSnapshot(metrics.deliveriesDead);

  let receivers: Configured['receivers'] = [];
  const integrations = new Set<string>();

  function follow(configured: Configured): void {
    watched = configured.regions;
    receivers = configured.receivers;
    regions.follow(configured.regions, configured.acting);
    // Integrations that are already known keep their counts.
    for (const { name, integrations: kinds } of receivers) {
      for (const { kind } of kinds) {
        const key = JSON.stringify([name, kind]);
        if (!integrations.has(key)) foreseeIntegration(metrics, name, kind);
        integrations.add(key);
      }
    }
    showAlerts.foresee(foreseenAlerts(configured.rules));
  }

  /** Figures shared by all replicas: only one replica shows them, so that sums over replicas are right. */
  function showShared({ alerts, firing, silences, setAside, deliveries, space, isPaused }: Collected): void {
    if (isPaused === undefined) metrics.actionsPaused.remove({});
    else metrics.actionsPaused.set(isPaused ? 1 : 0);
    showFiring(metrics.alertsFiring, firing, () => drop('alertsFiring'));
    showAlerts.show(alerts.map(({ count, ...labels }) => [labels, count]));
    showSetAside.show(setAside.map(({ sort, count }) => [{ what: sort }, count]));
    showSilences.show(silences.map(({ state, count }) => [{ state }, count]));
    showPending.show(byReceiver(receivers, deliveries, UNSETTLED));
    showDeliveries.show(byState(receivers, deliveries));
    showDead.show(byReceiver(receivers, deliveries, DEAD));
    if (!space) return;
    metrics.storeBytes.set(space.used);
    // If the free space is unknown, NaN keeps it from looking low.
    metrics.storeFreeBytes.set(space.free ?? Number.NaN);
  }

  function hideShared(): void {
    for (const one of [metrics.alertsFiring, showAlerts, showSetAside, showSilences]) one.reset();
    for (const one of [showPending, showDeliveries, showDead]) one.reset();
    for (const one of [metrics.storeBytes, metrics.storeFreeBytes, metrics.actionsPaused]) one.remove({});
  }

  follow(options);
  if (isShared) showRepeating(false);
  return {
    report: (one) => (record[one.what] as (one: Happening) => void)(one),
    follow,
    keepRegions: (these) => regions.keep(these),
    async render(format = 'text') {
      await regions.clean();
      const collected = await collect(isAlerting);
      const { ready, cursors, reads, impaired } = collected;
      metrics.ready.set(ready ? 1 : 0);
      metrics.alertingOwner.set(isAlerting ? 1 : 0);
      metrics.replicaInfo.reset();
      if (collected.replica !== undefined) metrics.replicaInfo.set({ replica: collected.replica }, 1);
      if (isAlerting) showShared(collected);
      else hideShared();
      for (const { region, feed, cursorUs, verifiedUntilUs } of cursors) {
        if (!regions.isOwned(region)) continue;
        metrics.cursor.set({ region, feed }, cursorUs / 1e6);
        metrics.verified.set({ region, feed }, verifiedUntilUs / 1e6);
      }
      for (const { region, feed, overdue, oldestReadUs } of reads) {
        if (!regions.isOwned(region)) continue;
        metrics.streamsOverdue.set({ region, feed }, overdue);
        metrics.oldestRead.set({ region, feed }, oldestReadUs / 1e6);
      }
      showImpaired.show(impaired.map((reason) => [{ reason }, 1]));
      metrics.eventLoopLongest.set(options.longestTurnMs() / 1000);
      const isOpenMetrics = format === 'openmetrics';
      const shown = isOpenMetrics ? openMetrics : registry;
      return {
        contentType: shown.contentType,
        body: inParts(written(shown, birds.write(isOpenMetrics, options.clock.nowUs()), isOpenMetrics)),
      };
    },
  };
}

/** Renders one metric after the other: rendering all at once takes ten times the memory of the text. */
async function* written(
  registry: Registry<PrometheusContentType> | Registry<OpenMetricsContentType>,
  birds: Iterable<string>,
  isOpenMetrics: boolean,
): AsyncGenerator<string> {
  for (const { name } of registry.getMetricsAsArray()) {
    yield `${await registry.getSingleMetricAsString(name)}\n`;
  }
  yield* birds;
  if (isOpenMetrics) yield '# EOF\n';
}

/**
 * Joins texts into larger parts: most metrics are short, and compressing and sending a part costs more than rendering
 * one.
 */
async function* inParts(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let part = '';
  for await (const text of texts) {
    part += text;
    if (part.length < PART_LENGTH) continue;
    yield part;
    part = '';
  }
  yield part;
}

/** Shows the most frequent combinations and adds up the others. Combinations that no longer fire disappear. */
function showFiring(
  gauge: Instruments['alertsFiring'],
  firing: readonly FiringCount[],
  drop: () => void,
): void {
  gauge.reset();
  const sorted = [...firing].sort((a, b) => b.count - a.count);
  for (const [index, { alertname, severity, region, nestId, count }] of sorted.entries()) {
    const isShown = index < LIMITS.shown_firing.most;
    gauge.inc({ alertname, severity, region, nest_id: isShown ? nestId : '_other' }, count);
    if (!isShown) drop();
  }
}

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

/** Every state of every receiver, 0 if there is no delivery; includes receivers that are no longer configured. */
function byState(
  receivers: MetricsOptions['receivers'],
  deliveries: Collected['deliveries'],
): [{ receiver: string; state: string }, number][] {
  const none = receivers.flatMap(({ name: receiver }) =>
    DELIVERY_STATES.map((state) => ({ receiver, state, count: 0 })),
  );
  return [...none, ...deliveries].map(({ receiver, state, count }) => [{ receiver, state }, count]);
}

/** Sets all series of a gauge at once. A series that is no longer counted falls to 0 and stays. */
function createSnapshot<L extends string>(gauge: Gauge<L>, foreseen: readonly Record<L, string>[] = []) {
  const seen = new Map(foreseen.map((labels) => [JSON.stringify(labels), labels]));
  return {
    reset: () => gauge.reset(),
    foresee(more: readonly Record<L, string>[]): void {
      for (const labels of more) seen.set(JSON.stringify(labels), labels);
    },
    show(rows: readonly (readonly [Record<L, string>, number])[]): void {
      for (const labels of seen.values()) gauge.set(labels, 0);
      for (const [labels, value] of rows) {
        seen.set(JSON.stringify(labels), labels);
        gauge.set(labels, value);
      }
    },
  };
}
