/**
 * One audit: is every entry of a window of a paged stream in the store? The service's own count of the window
 * (`totalCount`) is compared with the store's; where they differ the window is halved, until a page holds what is
 * left and tells entry by entry. Where the store expects no more than a page from the start, the page itself is asked
 * for: it costs one request as well, and proves more than a count does, which stays the same when one entry is
 * deleted and another is missing.
 *
 * The window is worked off piece by piece. A piece is
 *
 *   counted   the counts agree: proven, where counts may prove
 *   → halved  it holds more than a page: two pieces instead
 *   → listed  a page holds all of it: what the store lacks is kept, and it is proven
 *   → read    page after page to the very end: where the page lacks some of what the service counts, where entries
 *             are too dense to halve it, and everywhere once counts are known to be untrue
 *
 * What is counted and not there when everything was read is a gap. It is narrowed down by halving, which proves the
 * count as well: one that is not the sum of its halves, or that is less than what was listed, is untrue. An entry may
 * come or go between two requests, so the part is looked at once more before its counts are trusted no longer.
 */
import type { PageQuery } from '../../service/client.ts';
import type { Page, Parsed } from '../../service/resources.ts';
import type { LogEntry } from '../logs/log-stream.ts';
import { ANCHOR_MARGIN_US, nextPosition, type Position, startOf } from '../logs/sweep.ts';
import { findEdge } from './window-edge.ts';

/** [fromUs, toUs). Both lie at quiet instants, or else counts are not used. */
export interface Window {
  readonly fromUs: number;
  readonly toUs: number;
}

/** Entries that the service counts and does not show. */
export interface Gap extends Window {
  readonly missing: number;
}

/** The stream that is audited, on both sides. */
export interface AuditedStream {
  ask(query: PageQuery): Promise<Page<LogEntry>>;
  /** Entries of the window in the store. */
  count(window: Window): Promise<number>;
  entries(window: Window): Promise<readonly { readonly id: string; readonly occurredAtUs: number }[]>;
  /** Makes events of those that the store lacks and sets malformed ones aside; resolves to how many were new. */
  keep(items: readonly Parsed<LogEntry>[]): Promise<number>;
  pageSize(): number;
}

export interface AuditOptions {
  readonly window: Window;
  /** An edge of the window is not quiet. */
  readonly isDense: boolean;
  /** Gaps of earlier audits: parts of their own, which are read again at once. */
  readonly knownGaps: readonly Window[];
  /** Quiet, too. From here on everything is read: counts that agree prove nothing there. */
  readonly countedUntilUs: number;
  /** False where `totalCount` was found untrue. */
  readonly isCountTrue: boolean;
}

export interface AuditOutcome {
  readonly gaps: readonly Gap[];
  /** Entries that polls had missed. */
  readonly recovered: number;
  /** Entries are in the store and no longer at the service, though older ones still are. */
  readonly isDeleted: boolean;
  readonly isCountTrue: boolean;
}

export interface Audit {
  /** Works off one piece; resolves to how many requests that took. When it throws, the piece is tried again. */
  step(): Promise<number>;
  /** Undefined as long as pieces are left. */
  outcome(): AuditOutcome | undefined;
}

interface Piece extends Window {
  readonly of: Part;
}

/** What is counted as one: its count has to be the sum of the counts of its pieces. */
interface Part extends Window {
  readonly isKnownGap: boolean;
  /** Entries are too dense for edges between them: it is read, and its counts say nothing. */
  readonly isDense: boolean;
  /** How often its counts were found untrue. */
  readonly doubts: number;
  /** The service's count of all of it, once it was asked for. */
  total: number | null;
  /** Pieces that are left, and the counts of the others. */
  pieces: number;
  sum: number;
  /** Those others, each from the first entry that was listed of it. */
  readonly counted: Window[];
  readonly gaps: Gap[];
}

type Items = readonly Parsed<LogEntry>[];

/** Pieces that are read are no longer than that many pages, as far as the store knows. */
const READ_PAGES = 20;

/** A gap is narrowed down to this, and halved at least once. */
const GAP_US = 15 * 60 * 1_000_000;

/** Counts that were found untrue twice are trusted no longer. */
const MAX_DOUBTS = 2;

export function createAudit(stream: AuditedStream, options: AuditOptions): Audit {
  const pieces: Piece[] = [];
  const gaps: Gap[] = [];
  let requests = 0;
  let recovered = 0;
  let isCountTrue = options.isCountTrue;
  /** What is gone from before the oldest entry that is listed has expired; behind it, it was deleted. */
  let oldestListedUs = Number.POSITIVE_INFINITY;
  let newestGoneUs = Number.NEGATIVE_INFINITY;

  for (const part of partsOf(options)) begin({ ...part, isDense: options.isDense, doubts: 0 });

  function begin(part: Pick<Part, 'fromUs' | 'toUs' | 'isKnownGap' | 'isDense' | 'doubts'>): void {
    const of: Part = { ...part, total: null, pieces: 1, sum: 0, counted: [], gaps: [] };
    pieces.push({ fromUs: part.fromUs, toUs: part.toUs, of });
  }

  function beginAnew(part: Part, changes: Partial<Pick<Part, 'isDense' | 'doubts'>>): void {
    for (let at = pieces.length - 1; at >= 0; at -= 1) if (pieces[at]!.of === part) pieces.splice(at, 1);
    begin({ ...part, ...changes });
  }

  function doubt(part: Part): void {
    if (part.doubts + 1 >= MAX_DOUBTS) isCountTrue = false;
    beginAnew(part, { doubts: part.doubts + 1 });
  }

  const isCounted = (part: Part) => isCountTrue && !part.isDense;
  const doCountsProve = ({ toUs }: Window) => toUs <= options.countedUntilUs;

  function ask({ fromUs, toUs }: Window, pageSize: number, page = 0): Promise<Page<LogEntry>> {
    requests += 1;
    return stream.ask({ page, pageSize, ascending: true, fromUs, toUs });
  }

  /** Whether `sum` is what the service counts in the part, now if not before, but for what has expired meanwhile. */
  async function isSum(part: Part, sum: number): Promise<boolean> {
    if (part.total === sum) return true;
    const { items, totalCount } = await ask(part, 1);
    if (totalCount === sum) return true;
    const oldestUs = items.length === 0 ? part.toUs : firstOf(items);
    let expired = 0;
    for (const { fromUs, toUs } of part.counted) {
      if (fromUs < oldestUs) expired += await stream.count({ fromUs, toUs: Math.min(toUs, oldestUs) });
    }
    return totalCount === sum - expired;
  }

  /**
   * Takes a piece as done in which the service counts `count` entries, `missing` of them not to be read, and of which
   * it has listed these first.
   */
  async function finish(piece: Piece, count: number, items: Items, missing = 0): Promise<void> {
    const part = piece.of;
    const isLast = part.pieces === 1;
    const firstUs = firstOf(items);
    if (firstUs < piece.toUs) part.counted.push({ fromUs: firstUs, toUs: piece.toUs });
    if (isLast && isCounted(part) && !(await isSum(part, part.sum + count))) return doubt(part);
    pieces.splice(pieces.lastIndexOf(piece), 1);
    part.pieces -= 1;
    part.sum += count;
    if (missing > 0) part.gaps.push({ fromUs: piece.fromUs, toUs: piece.toUs, missing });
    if (part.pieces === 0) gaps.push(...part.gaps);
  }

  /** Cuts the piece in two; false where no instant is fit for it. */
  async function halve(piece: Piece): Promise<boolean> {
    if (isNarrow(piece)) return false;
    const lowUs = piece.fromUs + 2 * ANCHOR_MARGIN_US;
    const highUs = piece.toUs - 2 * ANCHOR_MARGIN_US;
    // Elsewhere the second time, in case that something not yet known lies right there.
    const at = piece.of.doubts === 0 ? 0.5 : 0.45;
    const middleUs = Math.floor(piece.fromUs + at * (piece.toUs - piece.fromUs));
    const edge = await findEdge(stream.entries, middleUs, { lowUs, highUs });
    if (!edge.isQuiet && isCounted(piece.of)) return false;
    const halves = [
      { fromUs: edge.us, toUs: piece.toUs, of: piece.of },
      { fromUs: piece.fromUs, toUs: edge.us, of: piece.of },
    ];
    pieces.splice(pieces.lastIndexOf(piece), 1, ...halves);
    piece.of.pieces += 1;
    return true;
  }

  /** Compares what the service lists of a piece, all of it, with the store. */
  async function settle(piece: Piece, items: Items): Promise<void> {
    const listed = new Set<string>();
    for (const item of items) {
      if (!item.ok) continue;
      listed.add(item.entry.id);
      oldestListedUs = Math.min(oldestListedUs, item.entry.createdAt.us);
    }
    const stored = await stream.entries(piece);
    const known = new Set(stored.map(({ id }) => id));
    const news = items.filter(
      (item) => !item.ok || (isWithin(piece, item.entry.createdAt.us) && !known.has(item.entry.id)),
    );
    if (news.length > 0) recovered += await stream.keep(news);
    for (const { id, occurredAtUs } of stored) {
      if (!listed.has(id)) newestGoneUs = Math.max(newestGoneUs, occurredAtUs);
    }
  }

  /** Whether the count is the store's, but for what has expired at the service before its first entry. */
  async function agrees(piece: Piece, page: Page<LogEntry>, expected: number): Promise<boolean> {
    const [first] = page.items;
    if (!first?.ok) return page.totalCount === expected;
    oldestListedUs = Math.min(oldestListedUs, first.entry.createdAt.us);
    if (page.totalCount === expected) return true;
    const since = { fromUs: first.entry.createdAt.us, toUs: piece.toUs };
    return page.totalCount! < expected && page.totalCount === (await stream.count(since));
  }

  async function compare(piece: Piece): Promise<void> {
    const part = piece.of;
    const pageSize = stream.pageSize();
    const expected = await stream.count(piece);
    const isLong = expected > pageSize;
    if (isLong && !doCountsProve(piece) && part.total !== null) return split(piece);
    let page = await ask(piece, isLong ? 1 : pageSize);
    let total = page.totalCount;
    if (isLong && total !== null && total > 1 && total <= pageSize) {
      page = await ask(piece, pageSize);
      total = page.totalCount;
    }
    if (piece.fromUs === part.fromUs && piece.toUs === part.toUs) part.total = total;
    if (total === null) doubt(part);
    else if (page.items.length === total) {
      await settle(piece, page.items);
      await finish(piece, total, page.items);
    } else if (total <= pageSize) await read(piece);
    else if (isLong && doCountsProve(piece) && (await agrees(piece, page, expected)))
      await finish(piece, total, page.items);
    else await split(piece);
  }

  async function split(piece: Piece): Promise<void> {
    if (await halve(piece)) return;
    // More than a page in some seconds of which the store knows next to nothing: such a count leads nowhere.
    const isHollow = isNarrow(piece) && (await stream.count(piece)) <= stream.pageSize();
    if (isHollow) doubt(piece.of);
    else beginAnew(piece.of, { isDense: true });
  }

  /**
   * Reads the piece to its end. While its count is trusted it is no longer than a page should be, and pages follow one
   * another until there are as many rows as are counted; else it is swept, and only an empty page ends it.
   */
  async function read(piece: Piece): Promise<void> {
    const part = piece.of;
    const isTrusted = isCounted(part);
    const marginUs = isTrusted ? 0 : ANCHOR_MARGIN_US;
    const rows: Parsed<LogEntry>[] = [];
    let total: number | null = null;
    let at: Position | 'end' = startOf(piece.fromUs - marginUs);
    while (at !== 'end') {
      const window = { fromUs: at.fromUs, toUs: piece.toUs + marginUs };
      const page = await ask(window, stream.pageSize(), at.page);
      rows.push(...page.items);
      total = page.totalCount;
      if (!isTrusted) at = sweptOn(at, page, stream.pageSize());
      else at = page.items.length > 0 && rows.length < (total ?? 0) ? { ...at, page: at.page + 1 } : 'end';
    }
    await settle(piece, rows);
    if (!isTrusted) return finish(piece, 0, rows);
    if (total === null || rows.length > total) return doubt(part);
    const missing = total - rows.length;
    const isWide = piece.toUs - piece.fromUs > GAP_US || part.pieces === 1;
    if (missing > 0 && isWide && !part.isKnownGap && (await halve(piece))) return;
    await finish(piece, total, rows, missing);
  }

  return {
    async step() {
      const piece = pieces.at(-1);
      const before = requests;
      if (!piece) return 0;
      if (isCounted(piece.of)) await compare(piece);
      else {
        const isLong = (await stream.count(piece)) > READ_PAGES * stream.pageSize();
        if (!(isLong && (await halve(piece)))) await read(piece);
      }
      return requests - before;
    },
    outcome() {
      if (pieces.length > 0) return undefined;
      const isDeleted = newestGoneUs > oldestListedUs;
      return { gaps: isCountTrue ? gaps : [], recovered, isDeleted, isCountTrue };
    },
  };
}

/** Where a sweep goes on of which no count says that it ends. */
function sweptOn(at: Position, { items, pageSize }: Page<LogEntry>, asked: number): Position | 'end' {
  return nextPosition(at, {
    count: items.length,
    pageSize: pageSize !== null && pageSize > 0 ? pageSize : asked,
    totalCount: Number.MAX_SAFE_INTEGER,
    instantsUs: items.flatMap((item) => (item.ok ? [item.entry.createdAt.us] : [])),
  });
}

/**
 * The window without its known gaps, cut where counting ends, and those gaps; the newest first, since the last piece
 * is worked off first.
 */
function partsOf({ window, knownGaps, countedUntilUs }: AuditOptions): (Window & Pick<Part, 'isKnownGap'>)[] {
  const parts: (Window & Pick<Part, 'isKnownGap'>)[] = [];
  let { fromUs } = window;
  function fill(toUs: number): void {
    for (const us of [Math.min(countedUntilUs, toUs), toUs]) {
      if (us <= fromUs) continue;
      parts.push({ fromUs, toUs: us, isKnownGap: false });
      fromUs = us;
    }
  }
  for (const gap of knownGaps.toSorted((a, b) => a.fromUs - b.fromUs)) {
    if (gap.fromUs < fromUs || gap.toUs > window.toUs) continue;
    fill(gap.fromUs);
    parts.push({ fromUs: gap.fromUs, toUs: gap.toUs, isKnownGap: true });
    fromUs = gap.toUs;
  }
  fill(window.toUs);
  return parts.reverse();
}

/** The oldest instant among these; infinity where none is readable. */
function firstOf(items: Items): number {
  return items.reduce(
    (us, item) => (item.ok ? Math.min(us, item.entry.createdAt.us) : us),
    Number.POSITIVE_INFINITY,
  );
}

/** Too short for an edge that keeps its distance from both ends. */
function isNarrow({ fromUs, toUs }: Window): boolean {
  return toUs - fromUs <= 4 * ANCHOR_MARGIN_US;
}

function isWithin({ fromUs, toUs }: Window, us: number): boolean {
  return us >= fromUs && us < toUs;
}
