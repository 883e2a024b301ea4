/** Cuts one page from a list ordered by instant: applies time filters, order and count, by binary search. */
import type { Behaviours } from '../world/behaviours.ts';
import { firstFrom } from '../world/state.ts';
import type { Query } from './request-query.ts';

export interface PageRequest {
  readonly page: number;
  readonly pageSize: number;
  readonly ascending: boolean;
  readonly fromUs: number | undefined;
  readonly toUs: number | undefined;
}

interface PageOf<T> {
  readonly items: readonly T[];
  readonly totalCount: number;
  readonly page: number;
  readonly pageSize: number;
}

/** Reads the five parameters of a paged operation. Mistakes in them are added to the query's errors. */
export function readPageRequest(query: Query, behaviours: Behaviours, defaultSize: number): PageRequest {
  const asked = query.whole('pageSize', 1) ?? defaultSize;
  const { maxPageSize, overMaxPageSize } = behaviours;
  if (asked > maxPageSize && overMaxPageSize === 'refuse') {
    query.refuse('pageSize', `The field pageSize must be between 1 and ${maxPageSize}.`);
  }
  return {
    page: query.whole('page', 0) ?? 0,
    pageSize: Math.min(asked, maxPageSize),
    ascending: query.flag('ascending') ?? false,
    fromUs: query.instantUs('from'),
    toUs: query.instantUs('to'),
  };
}

const UNIT_US = { microsecond: 1, millisecond: 1000, second: 1_000_000 };

/**
 * The half-open range that two bounds select. Bounds and instants are cut to the precision before they are compared.
 */
export function rangeOf(
  { comparedPrecision, bounds }: Pick<Behaviours, 'comparedPrecision' | 'bounds'>,
  fromUs: number | undefined,
  toUs: number | undefined,
): { readonly startUs: number; readonly endUs: number } {
  const unitUs = UNIT_US[comparedPrecision];
  const cut = (us: number) => Math.floor(us / unitUs) * unitUs;
  const isInclusive = bounds === 'inclusive';
  return {
    startUs: fromUs === undefined ? Number.NEGATIVE_INFINITY : cut(fromUs) + (isInclusive ? 0 : unitUs),
    endUs: toUs === undefined ? Number.POSITIVE_INFINITY : cut(toUs) + (isInclusive ? unitUs : 0),
  };
}

export function pageOf<T>(
  list: readonly T[],
  request: PageRequest,
  behaviours: Behaviours,
  nowUs: number,
  of: { readonly createdAtUs: (item: T) => number; readonly visibleAtUs: (item: T) => number },
): PageOf<T> {
  const { startUs, endUs } = rangeOf(behaviours, request.fromUs, request.toUs);
  const keptUs =
    behaviours.retentionMs > 0 ? nowUs - behaviours.retentionMs * 1000 : Number.NEGATIVE_INFINITY;
  const start = firstFrom(list, of.createdAtUs, Math.max(startUs, keptUs));
  const end = Math.max(start, firstFrom(list, of.createdAtUs, endUs));
  const { page, pageSize, ascending } = request;
  const skipped = page * pageSize;
  const items = ascending
    ? list.slice(start + skipped, Math.max(start, Math.min(end, start + skipped + pageSize)))
    : list.slice(Math.max(start, end - skipped - pageSize), Math.max(start, end - skipped)).reverse();
  return { items, totalCount: countOf(), page, pageSize };

  function countOf(): number {
    const { totalCountCap, totalCountStaleMs } = behaviours;
    let count = end - start;
    if (totalCountStaleMs > 0) {
      // A stale count is the only case that has to look at every entry in the range.
      const asOfUs = nowUs - totalCountStaleMs * 1000;
      for (let at = start; at < end; at += 1) if (of.visibleAtUs(list[at]!) > asOfUs) count -= 1;
    }
    return totalCountCap > 0 ? Math.min(count, totalCountCap) : count;
  }
}
