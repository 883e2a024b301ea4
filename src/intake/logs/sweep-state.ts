/** The state of a sweep in progress, and what a page changes in it. */
import type { ReadPage } from './page-reader.ts';
import type { SortedPage } from './sorted-page.ts';
import type { Position } from './sweep.ts';

/** A sweep in progress, which may take several polls. */
export interface Sweep {
  readonly position: Position;
  readonly pageSize: number;
  readonly fromUs: number;
  readonly atUs: number;
  /** The cursor when the sweep began. */
  readonly cursorUs: number;
  /** How many entries the service has listed from the present anchor on, and how many it counts there. */
  readonly listed: number;
  readonly total: number;
  /**
   * From here on late entries may have appeared since the sweep passed; Infinity while the sweep reads only old
   * entries.
   */
  readonly unsettledUs: number;
}

/**
 * The sweep after a page. The page's entries after `settledUs` are so recent that late ones may still appear among
 * them. So the next sweep reads from there again, however long this one takes to reach the end.
 */
export function unsettled(sweep: Sweep, { instantsUs }: SortedPage, settledUs: number): Sweep {
  const isYoung = sweep.unsettledUs === Infinity && instantsUs.some((us) => us > settledUs);
  return isYoung ? { ...sweep, unsettledUs: Math.max(sweep.fromUs, settledUs) } : sweep;
}

/** The sweep after a page, with the entries of that page. */
export function listedOn<T>(sweep: Sweep, { at, answer }: ReadPage<T>): Sweep {
  const { items, totalCount } = answer.value;
  const before = at.page === 0 ? 0 : sweep.listed;
  return { ...sweep, listed: before + items.length, total: totalCount ?? 0 };
}
