import { Counter, Gauge, Histogram, type Metric, type OpenMetricsContentType, Registry } from 'prom-client';
import { METRICS } from './metric-catalogue.ts';

type Definition = (typeof METRICS)[keyof typeof METRICS];
type InstrumentOf<D extends Definition> = D['type'] extends 'counter'
  ? Counter<D['labels'][number]>
  : D['type'] extends 'gauge'
    ? Gauge<D['labels'][number]>
    : Histogram<D['labels'][number]>;
export type Instruments = { readonly [K in keyof typeof METRICS]: InstrumentOf<(typeof METRICS)[K]> };

export function createInstruments(registry: Registry): Instruments {
  const kinds = { counter: Counter, gauge: Gauge, histogram: Histogram };
  const made = Object.entries(METRICS).map(([key, { type, labels, ...rest }]) => {
    // A registry in Prometheus' text format refuses exemplars only when a metric is created in it.
    const settings = { ...rest, labelNames: labels, registers: [] };
    const metric = new kinds[type](settings as never);
    registry.registerMetric(metric as Metric);
    return [key, metric];
  });
  return Object.fromEntries(made);
}

/** The same metrics in an OpenMetrics registry, where a counter's name lacks `_total`. */
export function openMetricsOf(registry: Registry): Registry<OpenMetricsContentType> {
  const open = new Registry<OpenMetricsContentType>();
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = registry.getSingleMetric(name)!;
    const shown =
      metric instanceof Counter
        ? { name, get: async () => ({ ...(await metric.get()), name: name.replace(/_total$/, '') }) }
        : metric;
    open.registerMetric(shown as Metric);
  }
  return open;
}
