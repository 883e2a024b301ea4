/** Reads the filters that pages and API share. */
import type { FilterName } from '../../operator/lists.ts';
import type { Filter } from '../../store/filter.ts';
import { isZone } from '../../text/zone-time.ts';
import { parseDuration } from '../../time/duration.ts';
import { parseWallTime } from '../../time/zone-format.ts';
import { instant, oneOf, QueryError } from './query.ts';

/**
 * `zone` is the time zone of instants without an offset; UTC if it is not given.
 *
 * `regions` are the watched ones. Another region is refused, since it is more often a misspelling than a question
 * about the past. Throws `usage` for invalid values.
 */
export function readFilter(
  given: Partial<Record<FilterName, string>>,
  regions: readonly string[],
  nowUs: number,
): Filter {
  const { nest, bird, flight, name, severity, text } = given;
  const { zone = 'UTC' } = given;
  if (!isZone(zone)) throw new QueryError({ says: 'zone', name: 'zone' });
  const sinceUs = readSince('since', given.since, zone, nowUs);
  const untilUs = readSince('until', given.until, zone, nowUs);
  if (sinceUs !== undefined && untilUs !== undefined && sinceUs >= untilUs) {
    throw new QueryError({ says: 'order' });
  }
  const region = oneOf('region', given.region, regions);
  return { region, nest, bird, flight, name, severity, text, sinceUs, untilUs };
}

/** An instant, possibly without its seconds or time of day, or a duration before now. */
function readSince(name: string, value: string | undefined, zone: string, nowUs: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = parseDuration(value);
  // A duration too long to represent means the beginning of everything stored.
  if (ms !== undefined) return Math.max(nowUs - ms * 1000, Number.MIN_SAFE_INTEGER);
  return parseWallTime(value, zone) ?? instant(name, value);
}
