import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
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
    const settings = { ...rest, labelNames: labels, registers: [registry] };
    return [key, new kinds[type](settings as never)];
  });
  return Object.fromEntries(made);
}
