/** Cuts one page from a list ordered by instant: applies time filters, order and count, by binary search. */

import { parseInstant } from '../../time/instant.ts';
import type { Behaviours } from '../world/behaviours.ts';
import { firstFrom } from '../world/state.ts';

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

// Reads query parameters as the service does: names in any case, unknown ones ignored, empty values as absent. What
// cannot be read is collected per parameter for the `errors` of a 400.

export type Query = ReturnType<typeof openQuery>;

const INT32_MAX = 2 ** 31 - 1;

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

export function openQuery(text: string) {
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    const key = name.toLowerCase();
    if (value !== '' && !values.has(key)) values.set(key, value);
  }
  const errors = new Map<string, string[]>();
  const refuse = (name: string, why: string) => {
    errors.set(name, [...(errors.get(name) ?? []), why]);
  };
  const read = <T>(name: string, parse: (value: string) => T | undefined): T | undefined => {
    const value = values.get(name.toLowerCase());
    if (value === undefined) return undefined;
    const result = parse(value.trim());
    if (result === undefined) refuse(name, `The value '${value}' is not valid for ${name}.`);
    return result;
  };
  return {
    /** This and the other readers return undefined when the parameter is absent or invalid. */
    whole: (name: string, least: number) =>
      read(name, (value) => {
        const number = /^[+-]?\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
        return number >= least && number <= INT32_MAX ? number : undefined;
      }),
    flag: (name: string) => read(name, (value) => FLAGS.get(value.toLowerCase())),
    instantUs: (name: string) => read(name, (value) => parseInstant(value)?.us),
    word: <T extends string>(name: string, words: readonly T[]) =>
      read(name, (value) => words.find((word) => word === value.toLowerCase())),
    /** Messages by parameter; empty when every parameter read so far is valid. */
    errors: (): Readonly<Record<string, readonly string[]>> => Object.fromEntries(errors),
    refuse,
  };
}
