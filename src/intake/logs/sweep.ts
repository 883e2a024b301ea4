/**
 * The sweep: how a stream of log entries or notifications is read with `from` and `ascending`, such that nothing
 * is passed over whatever the service leaves open (bounds inclusive or exclusive, precision, ties, clamped pages,
 * entries deleted between two pages).
 *
 * A sweep begins at `cursor − overlap` and moves on by anchors: after each page the next request asks for page 0
 * from that page's newest `createdAt`, less 1.1 s. So a page that shifts under us costs a repetition (which the
 * dedupe drops), never a gap. Only where an instant is too dense to pass that way are pages counted up.
 *
 * A position moves: anchored (page 0) → anchored further on; → counting (page 1, 2, …) inside a dense instant →
 * anchored behind it; counting → some pages back, when `totalCount` shows that entries were deleted meanwhile;
 * → end. It ends on an empty page, or on a page that is not full and of which the service's own `totalCount` says
 * that nothing follows. With every request the anchor or the page number grows or the total shrinks, so every sweep
 * of a finite stream ends.
 */

/** Truncation to whole seconds together with an exclusive bound can hide up to one second; the rest is margin. */
export const ANCHOR_MARGIN_US = 1_100_000;

/** Pages counted up from one anchor before it is moved on even at the price of reading a dense second again. */
const MAX_COUNTED_PAGES = 50;

export interface Position {
  readonly fromUs: number;
  readonly page: number;
  /** `totalCount` of the page before at the same anchor; null for none. */
  readonly total: number | null;
  /** False once a page came that was not in ascending order: anchors are then meaningless and pages are counted. */
  readonly ordered: boolean;
}

/** What a page says to the sweep. */
export interface PageView {
  /** Entries on it, readable or not. */
  readonly count: number;
  /** The page size in force: the echoed one, else the one asked for. */
  readonly pageSize: number;
  readonly totalCount: number | null;
  /** Instants of its readable entries, in the order in which they came. */
  readonly instantsUs: readonly number[];
}

type NextPosition = (position: Position, page: PageView) => Position | 'end';

export function startOf(fromUs: number): Position {
  return { fromUs, page: 0, total: null, ordered: true };
}

/** Where the sweep goes from here. Pure; see the prose above for its states. */
export const nextPosition: NextPosition = (position, page) => {
  const deleted = (position.total ?? 0) - (page.totalCount ?? position.total ?? 0);
  if (position.page > 0 && deleted > 0) {
    // As many entries moved from this page onto earlier ones, unseen: go back as far as they can have gone.
    const back = Math.floor((position.page * page.pageSize - deleted) / page.pageSize);
    return { ...position, page: Math.max(0, back), total: page.totalCount };
  }
  if (page.count === 0) return 'end';
  const full = page.count >= page.pageSize;
  const passed = position.page * page.pageSize + page.count;
  if (!full && page.totalCount !== null && passed >= page.totalCount) return 'end';

  const ordered = position.ordered && isAscending(page.instantsUs);
  const counted = { ...position, page: position.page + 1, total: page.totalCount, ordered };
  const newestUs = page.instantsUs.at(-1);
  if (!ordered || newestUs === undefined || page.totalCount === null) return counted;

  const anchorUs = newestUs - ANCHOR_MARGIN_US;
  if (anchorUs <= position.fromUs) return counted;
  const repeated = page.instantsUs.filter((us) => us >= anchorUs).length;
  const dense = repeated * 2 > page.count && position.page < MAX_COUNTED_PAGES;
  return dense ? counted : startOf(anchorUs);
};

function isAscending(instantsUs: readonly number[]): boolean {
  for (let at = 1; at < instantsUs.length; at += 1) {
    if (instantsUs[at]! < instantsUs[at - 1]!) return false;
  }
  return true;
}

/** The `Date` of an answer is cut to whole seconds: an instant by so much later than it is not in the future. */
export const NOW_MARGIN_US = 1_000_000;

/**
 * The cursor that a page justifies: its newest instant that is not in the service's future. It is data, never the
 * local clock: a wrong `createdAt` far ahead would else make every sweep begin behind entries still to come.
 */
export function cursorOf(instantsUs: readonly number[], serviceNowUs: number): number {
  let newest = 0;
  for (const us of instantsUs) {
    if (us > newest && us <= serviceNowUs) newest = us;
  }
  return newest;
}
