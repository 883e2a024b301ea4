/**
 * Decides how a sweep moves through a stream of log entries or notifications, by `from`, `ascending` and `page`. No
 * entry is missed, whatever the service leaves open: inclusive or exclusive bounds, their precision, entries with the
 * same instant, smaller pages than requested, and entries deleted between two pages.
 *
 * A sweep starts at `cursor − overlap` and advances by anchors. After each page, the next request asks for page 0
 * from that page's newest `createdAt`, less 1.1 s. If entries shift between requests, some are read again and dropped
 * as duplicates, but none is skipped. Page numbers are counted up only within an instant that is too dense to pass
 * this way.
 *
 * The positions of a sweep:
 *
 *   anchored (page 0) → anchored at a later instant
 *   anchored → counting (page 1, 2, …) within a dense instant → anchored after it
 *   counting → some pages back, if `totalCount` shows that entries were deleted meanwhile
 *   → end, at an empty page, or at a page that is not full and that `totalCount` shows to be the last
 *
 * With every request the anchor or the page number grows, or the total is smaller than ever at that anchor. So every
 * sweep of a finite stream ends, also if the service counts only the entries of a page, or each of its servers counts
 * differently. If the service ignores page numbers, counting ends once the same page comes again and again.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Page, Parsed } from '../../service/resources.ts';
import type { QuarantinedEntry } from '../../store/sql/watched/feed-streams.ts';
import type { Instant } from '../../time/instant.ts';
import type { EventCandidate } from '../commit.ts';

/** A bound that is truncated to whole seconds and exclusive can hide up to one second. The rest is margin. */
export const ANCHOR_MARGIN_US = 1_100_000;

/** The most pages counted up from one anchor. Then the anchor moves on even if that reads a dense second again. */
const MAX_COUNTED_PAGES = 50;

/**
 * So many pages in a row with the same entries show that the service ignores page numbers. A second one may also come
 * from entries that appeared before them, as many as a page holds.
 */
const SAME_PAGES = 4;

export interface Position {
  readonly fromUs: number;
  readonly page: number;
  /** The smallest `totalCount` of the pages read so far from the same anchor; null if none has one. */
  readonly total: number | null;
  /** False once a page was not in ascending order. Anchors are then useless, and pages are counted up. */
  readonly ordered: boolean;
  /** The entries of the previous page at the same anchor, by id, and how many pages in a row have had the same. */
  readonly ids: readonly string[];
  readonly same: number;
}

/** What the sweep needs to know of a page. */
export interface PageView {
  /** The number of its entries, including malformed ones. */
  readonly count: number;
  /** The page size in force: the one in the answer, or else the requested one. */
  readonly pageSize: number;
  readonly totalCount: number | null;
  /** The instants of its entries, where readable, in the order of the page. */
  readonly instantsUs: readonly number[];
  /** Of its well-formed entries, in the order of the page. */
  readonly ids: readonly string[];
}

/** `asked` is the page size that was requested. */
export function viewOf({ items, totalCount, pageSize }: Page<LogEntry>, asked: number): PageView {
  return {
    count: items.length,
    pageSize: pageSize !== null && pageSize > 0 ? pageSize : asked,
    totalCount,
    instantsUs: items.flatMap((item) => (item.ok ? item.entry.createdAt.us : (item.createdAt?.us ?? []))),
    ids: items.flatMap((item) => (item.ok ? item.entry.id : [])),
  };
}

type NextPosition = (position: Position, page: PageView) => Position | 'end';

export function startOf(fromUs: number): Position {
  return { fromUs, page: 0, total: null, ordered: true, ids: [], same: 0 };
}

/** Returns the position after a page. Pure; the file's header explains the positions. */
export const nextPosition: NextPosition = (position, page) => {
  const total = leastOf(position.total, page.totalCount);
  const deleted = (position.total ?? 0) - (total ?? 0);
  if (position.page > 0 && deleted > 0) {
    // As many entries may have moved unseen from this page to earlier ones, so it goes back as far as they can have
    // moved.
    const back = Math.floor((position.page * page.pageSize - deleted) / page.pageSize);
    return { ...position, page: Math.max(0, back), total, ids: [], same: 0 };
  }
  if (page.count === 0) return 'end';
  const full = page.count >= page.pageSize;
  const passed = position.page * page.pageSize + page.count;
  if (!full && page.totalCount !== null && passed >= page.totalCount) return 'end';

  const ordered = position.ordered && isAscending(page.instantsUs);
  const counted = nextCounted({ ...position, ordered, total }, page);
  const newestUs = page.instantsUs.at(-1);
  if (!ordered || newestUs === undefined || page.totalCount === null) return counted;

  const anchorUs = newestUs - ANCHOR_MARGIN_US;
  if (anchorUs <= position.fromUs) return counted;
  const repeated = page.instantsUs.filter((us) => us >= anchorUs).length;
  const dense = repeated * 2 > page.count && position.page < MAX_COUNTED_PAGES;
  return dense ? counted : startOf(anchorUs);
};

/** The next page at the same anchor, or the end if the service gives the same page again and again. */
export function nextCounted(position: Position, { ids }: PageView): Position | 'end' {
  const isSame = ids.length > 0 && isDeepStrictEqual(ids, position.ids);
  const same = isSame ? position.same + 1 : 1;
  return same === SAME_PAGES ? 'end' : { ...position, page: position.page + 1, ids, same };
}

function leastOf(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

function isAscending(instantsUs: readonly number[]): boolean {
  for (let at = 1; at < instantsUs.length; at += 1) {
    if (instantsUs[at]! < instantsUs[at - 1]!) return false;
  }
  return true;
}

/**
 * The `Date` of an answer is truncated to whole seconds, so an instant that is later by up to this much is not in the
 * future.
 */
export const NOW_MARGIN_US = 1_000_000;

/**
 * The cursor that a page justifies: its newest instant that is not in the service's future. It never comes from the
 * local clock. A wrong `createdAt` far in the future would make every later sweep begin after entries that are still to
 * come.
 */
export function cursorOf(instantsUs: readonly number[], serviceNowUs: number): number {
  let newest = 0;
  for (const us of instantsUs) {
    if (us > newest && us <= serviceNowUs) newest = us;
  }
  return newest;
}

// Sorts the entries of a page by what happens to them, and remembers the ids of those that were committed.

export interface LogEntry {
  readonly id: string;
  readonly createdAt: Instant;
}

export interface SortedPage {
  readonly candidates: readonly EventCandidate[];
  /** Malformed entries. */
  readonly quarantined: readonly QuarantinedEntry[];
  /** Of the entries whose instant is readable, in the order of the page. */
  readonly instantsUs: readonly number[];
  /** The instants of the candidates, by id. */
  readonly ids: ReadonlyMap<string, number>;
  readonly duplicates: number;
}

/** What is already known of the page's stream. */
interface KnownEntries<T> {
  /** Whether the entry was already committed. */
  isKnown(entry: T): boolean;
  /** A known entry came again. */
  knownAgain(entry: T): void;
  candidateOf(entry: T): EventCandidate;
}

export function sortPage<T extends LogEntry>(
  items: readonly Parsed<T>[],
  { isKnown, knownAgain, candidateOf }: KnownEntries<T>,
): SortedPage {
  const candidates: EventCandidate[] = [];
  const quarantined: QuarantinedEntry[] = [];
  const instantsUs: number[] = [];
  const ids = new Map<string, number>();
  let duplicates = 0;
  for (const item of items) {
    if (!item.ok) {
      quarantined.push({ raw: item.raw, reason: item.reason });
      // The cursor passes a malformed entry like any other. Otherwise each poll would read everything since the last
      // readable one.
      if (item.createdAt) instantsUs.push(item.createdAt.us);
      continue;
    }
    const { id, createdAt } = item.entry;
    instantsUs.push(createdAt.us);
    if (isKnown(item.entry) || ids.has(id)) {
      duplicates += 1;
      knownAgain(item.entry);
      continue;
    }
    ids.set(id, createdAt.us);
    candidates.push(candidateOf(item.entry));
  }
  return { candidates, quarantined, instantsUs, ids, duplicates };
}

/** Beyond this the oldest are dropped; the store's own key still recognises them if the instant is the same. */
const MAX_IDS = 20_000;

/**
 * Remembers the ids of a stream's newest entries, with their instants. The store's key begins with the instant, which
 * makes it fast but blind to an entry that comes again under the same id with another `createdAt`. This memory
 * recognises such an entry, as far back as sweeps read again. It also shows that a page holds nothing new without
 * asking the store.
 */
export class RecentIds {
  readonly #ids = new Map<string, number>();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** The entry came again with that instant. It is remembered for as long as a sweep may read it there. */
  renew(id: string, occurredAtUs: number): void {
    if (occurredAtUs > (this.#ids.get(id) ?? Number.POSITIVE_INFINITY)) this.#ids.set(id, occurredAtUs);
  }

  /** To be called only after the commit: what was rolled back must count as new again. */
  add(id: string, occurredAtUs: number): void {
    this.#ids.set(id, occurredAtUs);
  }

  /** Forgets what is older than `beforeUs`. At most `MAX_IDS` of the newest stay. */
  forget(beforeUs: number): void {
    // Ids are added nearly in the order of time, so the loop can end soon after the first one that stays.
    let stays = 0;
    for (const [id, occurredAtUs] of this.#ids) {
      if (occurredAtUs < beforeUs || this.#ids.size > MAX_IDS) this.#ids.delete(id);
      else {
        stays += 1;
        if (stays > 100) break;
      }
    }
  }
}
