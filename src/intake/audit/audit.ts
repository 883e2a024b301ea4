/**
 * Checks whether every entry in a window of a paged stream is in the store. The service's count of the window
 * (`totalCount`) is compared with the store's. Where the two differ the window is halved, until one page can list what
 * is left and it is compared entry by entry. If the store expects at most one page from the start, that page is
 * requested instead of a count. It costs one request as well, and it also shows the case in which the counts agree
 * because one entry was deleted and another one is missing.
 *
 * The window is processed in pieces. A piece is
 *
 *   counted   the counts agree: verified, if counts are accepted as proof there
 *   → halved  it holds more than a page: two pieces replace it
 *   → listed  one page lists all of it: entries that the store lacks are committed, and the piece is verified
 *   → read    page after page to the very end: if a page lacks entries that the service counts, if entries are too
 *             dense to halve the piece, and always once counts are known to be untrue
 *
 * If entries are counted but missing after everything was read, the piece is a gap. Halving narrows it down, and checks
 * the counts as well: a count is untrue if it is not the sum of its halves, or less than what was listed. Entries may
 * come and go between two requests, so a part is audited a second time before its counts are no longer trusted.
 */
import type { PageQuery } from '../../service/client.ts';
import type { Page, Parsed } from '../../service/resources.ts';
import {
  ANCHOR_MARGIN_US,
  type LogEntry,
  nextCounted,
  nextPosition,
  type Position,
  startOf,
  viewOf,
} from '../logs/sweep.ts';
import {
  findEdge,
  type Gap,
  isNarrow,
  isWithin,
  type Part,
  type PartOfWindow,
  type Piece,
  partsOf,
  type Window,
} from './audit-window.ts';

/** The audited stream, at the service and in the store. */
export interface AuditedStream {
  ask(query: PageQuery): Promise<Page<LogEntry>>;
  /** The number of the window's entries in the store. */
  count(window: Window): Promise<number>;
  entries(window: Window): Promise<readonly { readonly id: string; readonly occurredAtUs: number }[]>;
  /** Commits entries that the store lacks, and sets malformed ones aside. Resolves to the number of new ones. */
  keep(items: readonly Parsed<LogEntry>[]): Promise<number>;
  pageSize(): number;
}

export interface AuditOptions {
  readonly window: Window;
  /** Whether an edge of the window is not quiet. */
  readonly isDense: boolean;
  /** Gaps from earlier audits. Each is a part of its own, which is read again at once. */
  readonly knownGaps: readonly Window[];
  /** A quiet instant. From here on everything is read, because equal counts are no proof there. */
  readonly countedUntilUs: number;
  /** False once the service's `totalCount` of this stream was found untrue. */
  readonly isCountTrue: boolean;
}

export interface AuditOutcome {
  readonly gaps: readonly Gap[];
  /** The number of entries that polls had missed. */
  readonly recovered: number;
  /** Whether entries in the store are gone at the service although older ones are still there. */
  readonly isDeleted: boolean;
  readonly isCountTrue: boolean;
}

type Items = readonly Parsed<LogEntry>[];

/** A piece that is read has at most this many pages, by the store's count. */
const READ_PAGES = 20;

/** Gaps are narrowed down to this length, and halved at least once. */
const GAP_US = 15 * 60 * 1_000_000;

/** Counts that were found untrue this often are no longer trusted. */
const MAX_DOUBTS = 2;

export class Audit {
  readonly #stream: AuditedStream;
  readonly #options: AuditOptions;
  readonly #pieces: Piece[] = [];
  readonly #gaps: Gap[] = [];
  #requests = 0;
  #recovered = 0;
  #isCountTrue: boolean;
  /** Entries gone from before the oldest listed entry have expired; entries gone from after it were deleted. */
  #oldestListedUs = Number.POSITIVE_INFINITY;
  #newestGoneUs = Number.NEGATIVE_INFINITY;

  constructor(stream: AuditedStream, options: AuditOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#isCountTrue = options.isCountTrue;
    for (const part of partsOf(options)) this.#begin({ ...part, isDense: options.isDense, doubts: 0 });
  }

  /** Processes one piece. Resolves to the number of requests. If it throws, the piece is tried again. */
  async step(): Promise<number> {
    const piece = this.#pieces.at(-1);
    const before = this.#requests;
    if (!piece) return 0;
    if (this.#isCounted(piece.of)) await this.#compare(piece);
    else {
      const isLong = (await this.#stream.count(piece)) > READ_PAGES * this.#stream.pageSize();
      if (!(isLong && (await this.#halve(piece)))) await this.#read(piece);
    }
    return this.#requests - before;
  }

  /** Undefined while pieces are left. */
  outcome(): AuditOutcome | undefined {
    if (this.#pieces.length > 0) return undefined;
    const isDeleted = this.#newestGoneUs > this.#oldestListedUs;
    return {
      gaps: this.#isCountTrue ? this.#gaps : [],
      recovered: this.#recovered,
      isDeleted,
      isCountTrue: this.#isCountTrue,
    };
  }

  #begin(part: PartOfWindow & Pick<Part, 'isDense' | 'doubts'>): void {
    const of: Part = { ...part, total: null, pieces: 1, sum: 0, counted: [], gaps: [] };
    this.#pieces.push({ fromUs: part.fromUs, toUs: part.toUs, of });
  }

  /** Discards the part's results and starts it again as one piece. */
  #beginAnew(part: Part, changes: Partial<Pick<Part, 'isDense' | 'doubts'>>): void {
    for (let at = this.#pieces.length - 1; at >= 0; at -= 1)
      if (this.#pieces[at]!.of === part) this.#pieces.splice(at, 1);
    this.#begin({ ...part, ...changes });
  }

  /** To be called when the part's count was found untrue. */
  #doubt(part: Part): void {
    if (part.doubts + 1 >= MAX_DOUBTS) this.#isCountTrue = false;
    this.#beginAnew(part, { doubts: part.doubts + 1 });
  }

  /** Whether the part's counts are compared. Otherwise it is read. */
  #isCounted(part: Part): boolean {
    return this.#isCountTrue && !part.isDense;
  }

  /** Whether equal counts prove that nothing is missing in the window. */
  #doCountsProve({ toUs }: Window): boolean {
    return toUs <= this.#options.countedUntilUs;
  }

  #ask({ fromUs, toUs }: Window, pageSize: number, page: number = 0): Promise<Page<LogEntry>> {
    this.#requests += 1;
    return this.#stream.ask({ page, pageSize, ascending: true, fromUs, toUs });
  }

  /**
   * Whether the service's count of the part, at the beginning or now, is `sum`, apart from entries that expired
   * meanwhile.
   */
  async #isSum(part: Part, sum: number): Promise<boolean> {
    if (part.total === sum) return true;
    const { items, totalCount } = await this.#ask(part, 1);
    if (totalCount === sum) return true;
    const oldestUs = items.length === 0 ? part.toUs : firstOf(items);
    let expired = 0;
    for (const { fromUs, toUs } of part.counted) {
      if (fromUs < oldestUs) expired += await this.#stream.count({ fromUs, toUs: Math.min(toUs, oldestUs) });
    }
    return totalCount === sum - expired;
  }

  /**
   * Finishes a piece. The service counts `count` entries in it, of which `missing` cannot be read; `items` are those
   * it listed.
   */
  async #finish(piece: Piece, count: number, items: Items, missing: number = 0): Promise<void> {
    const part = piece.of;
    const isLast = part.pieces === 1;
    const firstUs = firstOf(items);
    if (firstUs < piece.toUs) part.counted.push({ fromUs: firstUs, toUs: piece.toUs });
    if (isLast && this.#isCounted(part) && !(await this.#isSum(part, part.sum + count))) {
      this.#doubt(part);
      return;
    }
    this.#pieces.splice(this.#pieces.lastIndexOf(piece), 1);
    part.pieces -= 1;
    part.sum += count;
    if (missing > 0) part.gaps.push({ fromUs: piece.fromUs, toUs: piece.toUs, missing });
    if (part.pieces === 0) for (const gap of part.gaps) this.#gaps.push(gap);
  }

  /** Halves the piece. Returns false if there is no instant at which to divide it. */
  async #halve(piece: Piece): Promise<boolean> {
    if (isNarrow(piece)) return false;
    const lowUs = piece.fromUs + 2 * ANCHOR_MARGIN_US;
    const highUs = piece.toUs - 2 * ANCHOR_MARGIN_US;
    // The second time it is divided elsewhere, in case something unknown lies right there.
    const at = piece.of.doubts === 0 ? 0.5 : 0.45;
    const middleUs = Math.floor(piece.fromUs + at * (piece.toUs - piece.fromUs));
    const edge = await findEdge(this.#stream.entries, middleUs, { lowUs, highUs });
    if (!edge.isQuiet && this.#isCounted(piece.of)) return false;
    const halves = [
      { fromUs: edge.us, toUs: piece.toUs, of: piece.of },
      { fromUs: piece.fromUs, toUs: edge.us, of: piece.of },
    ];
    this.#pieces.splice(this.#pieces.lastIndexOf(piece), 1, ...halves);
    piece.of.pieces += 1;
    return true;
  }

  /** Compares a piece with the store, entry by entry. `items` is everything that the service lists in it. */
  async #settle(piece: Piece, items: Items): Promise<void> {
    const listed = new Set<string>();
    for (const item of items) {
      if (!item.ok) continue;
      listed.add(item.entry.id);
      this.#oldestListedUs = Math.min(this.#oldestListedUs, item.entry.createdAt.us);
    }
    const stored = await this.#stream.entries(piece);
    const known = new Set(stored.map(({ id }) => id));
    const lacking = items.filter(
      (item) => !item.ok || (isWithin(piece, item.entry.createdAt.us) && !known.has(item.entry.id)),
    );
    if (lacking.length > 0) this.#recovered += await this.#stream.keep(lacking);
    for (const { id, occurredAtUs } of stored) {
      if (!listed.has(id)) this.#newestGoneUs = Math.max(this.#newestGoneUs, occurredAtUs);
    }
  }

  /** Whether the service counts as many entries as the store, apart from those that expired before its first entry. */
  async #agrees(piece: Piece, page: Page<LogEntry>, expected: number): Promise<boolean> {
    const [first] = page.items;
    if (!first?.ok) return page.totalCount === expected;
    this.#oldestListedUs = Math.min(this.#oldestListedUs, first.entry.createdAt.us);
    if (page.totalCount === expected) return true;
    const since = { fromUs: first.entry.createdAt.us, toUs: piece.toUs };
    return page.totalCount! < expected && page.totalCount === (await this.#stream.count(since));
  }

  /** Compares the service's count of a piece with the store's. */
  async #compare(piece: Piece): Promise<void> {
    const part = piece.of;
    const pageSize = this.#stream.pageSize();
    const expected = await this.#stream.count(piece);
    const isLong = expected > pageSize;
    if (isLong && !this.#doCountsProve(piece) && part.total !== null) return this.#split(piece);
    let asked = isLong ? 1 : pageSize;
    let page = await this.#ask(piece, asked);
    let total = page.totalCount;
    if (isLong && total !== null && total > 1 && total <= pageSize) {
      asked = pageSize;
      page = await this.#ask(piece, asked);
      total = page.totalCount;
    }
    if (piece.fromUs === part.fromUs && piece.toUs === part.toUs) part.total = total;
    if (total === null) this.#doubt(part);
    else if (page.items.length === total) {
      if (await this.#goesOn(piece, page, asked, expected)) return this.#doubt(part);
      await this.#settle(piece, page.items);
      await this.#finish(piece, total, page.items);
    } else if (total <= pageSize) await this.#read(piece);
    else if (isLong && this.#doCountsProve(piece) && (await this.#agrees(piece, page, expected)))
      await this.#finish(piece, total, page.items);
    else await this.#split(piece);
  }

  /**
   * Whether entries follow the first page of a piece, although it lists as many as are counted. The service is only
   * asked if that is possible: its count may be that of the page only, or be cut off where the page ends.
   */
  async #goesOn(piece: Piece, page: Page<LogEntry>, asked: number, expected: number): Promise<boolean> {
    const listed = page.items.length;
    if (listed < (page.pageSize || asked) && listed >= expected) return false;
    return (await this.#ask(piece, asked, 1)).items.length > 0;
  }

  /** Halves a piece whose counts do not agree. If that is impossible, its part is read. */
  async #split(piece: Piece): Promise<void> {
    if (await this.#halve(piece)) return;
    // The service counts more than a page within some seconds for which the store expects at most one: that count is
    // not plausible.
    const isHollow = isNarrow(piece) && (await this.#stream.count(piece)) <= this.#stream.pageSize();
    if (isHollow) this.#doubt(piece.of);
    else this.#beginAnew(piece.of, { isDense: true });
  }

  /**
   * Reads the piece to its end. While its count is trusted, pages follow one another until there are as many rows as
   * are counted; the piece is then short enough for that. Otherwise it is swept, and only an empty page ends it.
   */
  async #read(piece: Piece): Promise<void> {
    const part = piece.of;
    const isTrusted = this.#isCounted(part);
    const marginUs = isTrusted ? 0 : ANCHOR_MARGIN_US;
    const rows: Parsed<LogEntry>[] = [];
    let total: number | null = null;
    let at: Position | 'end' = startOf(piece.fromUs - marginUs);
    while (at !== 'end') {
      const window = { fromUs: at.fromUs, toUs: piece.toUs + marginUs };
      const page = await this.#ask(window, this.#stream.pageSize(), at.page);
      for (const item of page.items) rows.push(item);
      total = page.totalCount;
      if (!isTrusted) at = sweptOn(at, page, this.#stream.pageSize());
      else {
        const view = viewOf(page, this.#stream.pageSize());
        // The count may be cut off at the end of a full last page.
        const goesOn = view.count > 0 && (rows.length < (total ?? 0) || view.count >= view.pageSize);
        at = goesOn ? nextCounted(at, view) : 'end';
      }
    }
    await this.#settle(piece, rows);
    if (!isTrusted) return this.#finish(piece, 0, rows);
    if (total === null || rows.length > total) {
      this.#doubt(part);
      return;
    }
    const missing = total - rows.length;
    const isWide = piece.toUs - piece.fromUs > GAP_US || part.pieces === 1;
    if (missing > 0 && isWide && !part.isKnownGap && (await this.#halve(piece))) return;
    await this.#finish(piece, total, rows, missing);
  }
}

/** Where a sweep continues that only an empty page ends, regardless of counts. */
function sweptOn(at: Position, page: Page<LogEntry>, asked: number): Position | 'end' {
  return nextPosition(at, { ...viewOf(page, asked), totalCount: Number.MAX_SAFE_INTEGER });
}

/** The earliest instant among these; Infinity if none is readable. */
function firstOf(items: Items): number {
  return items.reduce(
    (us, item) => (item.ok ? Math.min(us, item.entry.createdAt.us) : us),
    Number.POSITIVE_INFINITY,
  );
}
