/** Reads the filters that pages and API share. */
import type { Filter } from '../store/filter.ts';
import { parseDuration } from '../time/duration.ts';
import { instant, oneOf, QueryError } from './query.ts';

export const FILTERS = [
  'region',
  'nest',
  'bird',
  'flight',
  'name',
  'severity',
  'text',
  'since',
  'until',
] as const;
export type FilterName = (typeof FILTERS)[number];

/**
 * `regions` are those that are watched: another one is more often a misspelling than a question about the past. Throws
 * `usage` for what cannot be meant.
 */
export function readFilter(
  given: Partial<Record<FilterName, string>>,
  regions: readonly string[],
  nowUs: number,
): Filter {
  const { nest, bird, flight, name, severity, text } = given;
  const sinceUs = readSince('since', given.since, nowUs);
  const untilUs = readSince('until', given.until, nowUs);
  if (sinceUs !== undefined && untilUs !== undefined && sinceUs >= untilUs) {
    throw new QueryError({ says: 'order' });
  }
  const region = oneOf('region', given.region, regions);
  return { region, nest, bird, flight, name, severity, text, sinceUs, untilUs };
}

/** An instant, also without its seconds or its time of day, or how long ago it was. */
function readSince(name: string, value: string | undefined, nowUs: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = parseDuration(value);
  if (ms !== undefined) return nowUs - ms * 1000;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(value);
  const isMinute = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d$/.test(value);
  return instant(name, isDay ? `${value}T00:00:00Z` : isMinute ? `${value}:00Z` : value);
}
