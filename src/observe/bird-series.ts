/**
 * The series that each Bird has of its own. They follow the inventory: they exist from the first sight of a Bird on,
 * at 0 where nothing happened yet in this life (of the last failure: in any), and go when it vanishes. A region has room for a bounded number of Birds, so that
 * a scrape stays fast and one large region takes nothing from another; the Birds beyond it count in everything
 * else, and `dropped` hears of each of their series left out.
 */

import type { ObservedBird } from '../report.ts';
import { plainText } from '../text/plain-text.ts';

type SeriesLabels = Record<string, string>;

/** One metric with labels, as prom-client's are. */
interface Series {
  set(labels: SeriesLabels, value: number): void;
  remove(labels: SeriesLabels): void;
}
interface CounterSeries {
  inc(labels: SeriesLabels, by: number): void;
  remove(labels: SeriesLabels): void;
}

interface BirdMetrics {
  readonly birdInfo: Series;
  readonly birdStatus: Series;
  readonly flights: CounterSeries;
  readonly flightsActive: Series;
  readonly flightLastFailure: Series;
}
const BIRD_METRICS = ['birdInfo', 'birdStatus', 'flights', 'flightsActive', 'flightLastFailure'] as const;

interface BirdSeriesOptions {
  readonly metrics: BirdMetrics;
  readonly birdsPerRegion: number;
  readonly birdStatuses: readonly string[];
  readonly flightStatuses: readonly string[];
  /** Makes a status that the service invents fit for a label. */
  readonly birdStatusLabel: (status: string) => string;
  readonly flightStatusLabel: (status: string) => string;
  /** When a Flight of the Bird last failed in an earlier life; 0 for never. */
  readonly lastFailureUs: (region: string, birdId: string) => number;
  readonly dropped: (metric: keyof BirdMetrics) => void;
}

interface BirdSeries {
  inventory(region: string, birds: readonly ObservedBird[]): void;
  flightSeen(place: BirdPlace, status: string, atUs: number): void;
  flightsActive(place: BirdPlace, count: number): void;
}

interface BirdPlace {
  readonly region: string;
  readonly nestId: string;
  readonly birdId: string;
}

/** What is shown of one Bird, so that it can be taken back. */
interface Shown {
  readonly bird: SeriesLabels;
  readonly flightStatuses: Set<string>;
  lastFailureUs: number;
  info: SeriesLabels | undefined;
  status: string | undefined;
}

const MAX_NAME_LENGTH = 120;

export function createBirdSeries(options: BirdSeriesOptions): BirdSeries {
  const { metrics, birdsPerRegion, birdStatuses, flightStatuses, dropped } = options;
  const regions = new Map<string, Map<string, Shown>>();

  function birdsOf(region: string): Map<string, Shown> {
    const birds = regions.get(region) ?? new Map<string, Shown>();
    regions.set(region, birds);
    return birds;
  }

  /** The Bird's series, made at its first sight; undefined when its region has no room left. */
  function show({ region, nestId, birdId }: BirdPlace): Shown | undefined {
    const birds = birdsOf(region);
    const known = birds.get(birdId);
    if (known) return known;
    if (birds.size >= birdsPerRegion) return undefined;
    const bird = { region, nest_id: nestId, bird_id: birdId };
    for (const status of flightStatuses) metrics.flights.inc({ ...bird, status }, 0);
    metrics.flightsActive.set(bird, 0);
    const lastFailureUs = options.lastFailureUs(region, birdId);
    metrics.flightLastFailure.set(bird, lastFailureUs / 1e6);
    const shown: Shown = {
      bird,
      flightStatuses: new Set(flightStatuses),
      lastFailureUs,
      info: undefined,
      status: undefined,
    };
    birds.set(birdId, shown);
    return shown;
  }

  function hide(region: string, birdId: string, shown: Shown): void {
    birdsOf(region).delete(birdId);
    for (const status of shown.flightStatuses) metrics.flights.remove({ ...shown.bird, status });
    metrics.flightsActive.remove(shown.bird);
    metrics.flightLastFailure.remove(shown.bird);
    if (shown.info) metrics.birdInfo.remove(shown.info);
    for (const status of statusesOf(shown)) metrics.birdStatus.remove({ ...shown.bird, status });
  }

  const statusesOf = (shown: Shown) => new Set([...birdStatuses, ...(shown.status ? [shown.status] : [])]);

  function describe(shown: Shown, seen: ObservedBird): void {
    const info = {
      ...shown.bird,
      nest: plainText(seen.nest, MAX_NAME_LENGTH),
      bird: plainText(seen.bird, MAX_NAME_LENGTH),
      trigger_type: plainText(seen.triggerType, MAX_NAME_LENGTH),
    };
    if (shown.info && !sameLabels(shown.info, info)) metrics.birdInfo.remove(shown.info);
    metrics.birdInfo.set(info, 1);
    shown.info = info;

    const status = options.birdStatusLabel(seen.status);
    if (status === shown.status) return;
    for (const earlier of statusesOf(shown)) {
      if (!birdStatuses.includes(earlier)) metrics.birdStatus.remove({ ...shown.bird, status: earlier });
    }
    for (const one of birdStatuses) metrics.birdStatus.set({ ...shown.bird, status: one }, 0);
    metrics.birdStatus.set({ ...shown.bird, status }, 1);
    shown.status = status;
  }

  return {
    inventory(region, listed) {
      const nests = new Map(listed.map((bird) => [bird.birdId, bird.nestId]));
      for (const [birdId, shown] of [...birdsOf(region)]) {
        // A Bird that moved to another Nest has other labels: its series begin anew.
        if (nests.get(birdId) !== shown.bird.nest_id) hide(region, birdId, shown);
      }
      for (const seen of listed) {
        const shown = show({ region, ...seen });
        if (shown) describe(shown, seen);
        else for (const metric of BIRD_METRICS) dropped(metric);
      }
    },
    flightSeen(place, status, atUs) {
      const shown = show(place);
      if (!shown) return dropped('flights');
      const label = options.flightStatusLabel(status);
      shown.flightStatuses.add(label);
      metrics.flights.inc({ ...shown.bird, status: label }, 1);
      if (status === 'failed' && atUs > shown.lastFailureUs) {
        shown.lastFailureUs = atUs;
        metrics.flightLastFailure.set(shown.bird, atUs / 1e6);
      }
    },
    flightsActive(place, count) {
      const shown = show(place);
      if (!shown) return dropped('flightsActive');
      metrics.flightsActive.set(shown.bird, count);
    },
  };
}

function sameLabels(a: SeriesLabels, b: SeriesLabels): boolean {
  return Object.entries(b).every(([name, value]) => Object.hasOwn(a, name) && a[name] === value);
}
