/**
 * Keeps the series of single Nests. They follow the inventory as those of Birds do, and count all Birds, even those
 * without series of their own. Each region has room for a limited number of Nests.
 */

import type { ObservedBird } from '../report.ts';
import { plainText } from '../text/plain-text.ts';
import type { Instruments } from './instruments.ts';

type NestMetric = 'nestInfo' | 'nestFlightsEnded' | 'flightDuration';

interface NestSeriesOptions {
  readonly metrics: Pick<Instruments, NestMetric>;
  readonly nestsPerRegion: number;
  readonly endStatuses: readonly string[];
  readonly dropped: (metric: NestMetric) => void;
}

interface FlightEnd {
  readonly region: string;
  readonly nestId: string;
  /** Must be a safe label. */
  readonly status: string;
  /** Undefined if unknown. */
  readonly seconds: number | undefined;
  readonly exemplar: Readonly<Record<string, string>>;
}

interface NestSeries {
  inventory(region: string, birds: readonly ObservedBird[]): void;
  flightEnded(end: FlightEnd): void;
}

/** What is shown of one Nest, so that it can be removed. */
interface Nest {
  name: string | undefined;
  readonly statuses: Set<string>;
}

const MAX_NAME_LENGTH = 120;

export function createNestSeries(options: NestSeriesOptions): NestSeries {
  const { metrics, nestsPerRegion, endStatuses, dropped } = options;
  const regions = new Map<string, Map<string, Nest>>();

  function nestsOf(region: string): Map<string, Nest> {
    const nests = regions.get(region) ?? new Map<string, Nest>();
    regions.set(region, nests);
    return nests;
  }

  /** The Nest, created at first sight; undefined when its region is full. */
  function show(region: string, nestId: string): Nest | undefined {
    const nests = nestsOf(region);
    const known = nests.get(nestId);
    if (known || nests.size >= nestsPerRegion) return known;
    const labels = { region, nest_id: nestId };
    for (const status of endStatuses) metrics.nestFlightsEnded.inc({ ...labels, status }, 0);
    metrics.flightDuration.zero(labels);
    const nest = { name: undefined, statuses: new Set(endStatuses) };
    nests.set(nestId, nest);
    return nest;
  }

  function hide(region: string, nestId: string, { name, statuses }: Nest): void {
    const labels = { region, nest_id: nestId };
    for (const status of statuses) metrics.nestFlightsEnded.remove({ ...labels, status });
    metrics.flightDuration.remove(labels);
    if (name !== undefined) metrics.nestInfo.remove({ ...labels, nest: name });
    nestsOf(region).delete(nestId);
  }

  function rename(region: string, nestId: string, nest: Nest, given: string): void {
    const name = plainText(given, MAX_NAME_LENGTH);
    const labels = { region, nest_id: nestId };
    if (nest.name !== undefined && nest.name !== name)
      metrics.nestInfo.remove({ ...labels, nest: nest.name });
    metrics.nestInfo.set({ ...labels, nest: name }, 1);
    nest.name = name;
  }

  return {
    inventory(region, birds) {
      const listed = new Map(birds.map(({ nestId, nest }) => [nestId, nest]));
      for (const [nestId, nest] of [...nestsOf(region)]) {
        if (!listed.has(nestId)) hide(region, nestId, nest);
      }
      for (const [nestId, name] of listed) {
        const nest = show(region, nestId);
        if (nest) rename(region, nestId, nest, name);
        else
          for (const metric of ['nestInfo', 'nestFlightsEnded', 'flightDuration'] as const) dropped(metric);
      }
    },
    flightEnded({ region, nestId, status, seconds, exemplar }) {
      const nest = show(region, nestId);
      if (!nest) {
        dropped('nestFlightsEnded');
        dropped('flightDuration');
        return;
      }
      const labels = { region, nest_id: nestId };
      nest.statuses.add(status);
      metrics.nestFlightsEnded.inc({ ...labels, status });
      if (seconds === undefined) return;
      metrics.flightDuration.observe({ labels, value: seconds, exemplarLabels: exemplar });
    },
  };
}
