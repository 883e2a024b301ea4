/**
 * Shows and removes the series of regions. If several replicas share a store, only the one that reads a region shows
 * its series, so that sums over replicas are right; the others only say that they do not own it. The series of a
 * region that this replica no longer reads disappear with the next scrape, and start again at 0 when it reads the
 * region again.
 */
import type { Registry } from 'prom-client';
import type { Happening } from '../report.ts';
import { foreseeActions, foreseeRegion } from './initial-series.ts';
import type { Instruments } from './instruments.ts';

interface RegionSeriesOptions {
  readonly registry: Registry;
  readonly metrics: Instruments;
  /** Ids of the operations that nestwatch calls. */
  readonly operations: readonly string[];
  /** Whether other processes may read the regions. */
  readonly isShared: boolean;
  /** Removes what is kept of the region's Birds and Nests. */
  readonly ended: (region: string) => void;
}

interface RegionSeries {
  /** Shows these regions as well; those already known keep their counts. */
  follow(regions: readonly string[], acting?: readonly string[]): void;
  /** Removes the series of all other regions, whose intake must have ended. */
  keep(regions: readonly string[]): Promise<void>;
  /** Call this when the process begins or stops reading a region. */
  hear(duty: Extract<Happening, { what: 'duty' }>): void;
  isOwned(region: string): boolean;
  /** Removes the series of regions that are no longer read here. */
  clean(): Promise<void>;
}

export function createRegionSeries(options: RegionSeriesOptions): RegionSeries {
  const { registry, metrics, operations, isShared, ended } = options;
  const known = new Set<string>();
  const owned = new Set<string>();
  const left = new Set<string>();
  let acting: readonly string[] = [];

  function begin(region: string): void {
    owned.add(region);
    foreseeRegion(metrics, region, operations);
    if (acting.includes(region)) foreseeActions(metrics, region);
    metrics.regionOwner.set({ region }, 1);
  }

  return {
    follow(regions, these = []) {
      acting = these;
      for (const region of acting.filter((one) => owned.has(one))) foreseeActions(metrics, region);
      for (const region of regions.filter((one) => !known.has(one))) {
        known.add(region);
        if (isShared) metrics.regionOwner.set({ region }, 0);
        else begin(region);
      }
    },
    async keep(regions) {
      for (const region of [...known].filter((one) => !regions.includes(one))) {
        ended(region);
        known.delete(region);
        owned.delete(region);
        await removeSeries(registry, region, () => known.has(region));
      }
    },
    hear({ region, isOwned }) {
      if (region === undefined) return;
      if (isOwned) return begin(region);
      owned.delete(region);
      left.add(region);
      ended(region);
      metrics.regionOwner.set({ region }, 0);
    },
    isOwned: (region) => owned.has(region),
    async clean() {
      const these = [...left];
      left.clear();
      for (const region of these) {
        await removeSeries(registry, region, () => owned.has(region));
        if (known.has(region) && !owned.has(region)) metrics.regionOwner.set({ region }, 0);
      }
    },
  };
}

/** Removes every series of a region, unless the region has come back. */
async function removeSeries(registry: Registry, region: string, isBack: () => boolean): Promise<void> {
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = registry.getSingleMetric(name) as unknown as Series;
    const { values } = await metric.get();
    if (isBack()) return;
    for (const { labels, metricName } of values) {
      // A histogram reports a series for each bucket; only its `_count` has the labels as they were given.
      const isBucket = metricName !== undefined && !metricName.endsWith('_count');
      if (labels.region === region && !isBucket) metric.remove(labels);
    }
  }
}

/** What prom-client's metrics have in common. */
interface Series {
  get(): Promise<{
    readonly values: readonly {
      readonly labels: Partial<Record<string, string | number>>;
      readonly metricName?: string;
    }[];
  }>;
  remove(labels: Partial<Record<string, string | number>>): void;
}
