/** Reads the query of the list of writes, for pages and API. */
import type { WriteQuery } from '../../store/write-store.ts';
import { limit, readQuery } from './query.ts';
import { readFilter } from './read-filter.ts';

/** Throws `usage` for invalid values. */
export function readWriteQuery(search: URLSearchParams, nowUs: number): WriteQuery {
  const { who, cursor, ...given } = readQuery(search, [
    ...(['who', 'text', 'since', 'until', 'zone', 'limit', 'cursor'] as const),
  ]);
  const { text, sinceUs, untilUs } = readFilter(given, [], nowUs);
  return { who, text, sinceUs, untilUs, cursor, limit: limit(given.limit) };
}
