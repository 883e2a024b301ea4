/** Reads the query of a list of events, for pages and API. */
import { FEEDS } from '../../domain/alert/event.ts';
import type { EventQuery } from '../../store/event-store.ts';
import { limit, oneOf, readQuery } from './query.ts';
import { FILTERS, readFilter } from './read-filter.ts';

/** Throws `usage` for invalid values. */
export function readEventQuery(
  search: URLSearchParams,
  regions: readonly string[],
  nowUs: number,
): EventQuery {
  const { feed, type, cursor, ...given } = readQuery(search, [...FILTERS, 'feed', 'type', 'limit', 'cursor']);
  return {
    ...readFilter(given, regions, nowUs),
    feed: oneOf('feed', feed, FEEDS),
    type,
    cursor,
    limit: limit(given.limit),
  };
}
