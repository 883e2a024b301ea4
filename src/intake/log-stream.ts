/**
 * Reads one paged stream (the region's notifications, or the logs of one Bird) by sweeps. Every page is committed
 * on its own, with the cursor that it justifies; a sweep that is long gives way after some pages and goes on from
 * its position at the next poll.
 */
import type { Event, Feed } from '../alerts/event.ts';
import type { Clock } from '../clock.ts';
import { NestwatchError } from '../errors.ts';
import type { Instant } from '../instant.ts';
import type { Report } from '../report.ts';
import type { Answer, PageQuery } from '../service/client.ts';
import type { Page, Parsed } from '../service/resources.ts';
import type { QuarantinedEntry } from '../store/record.ts';
import type { Store } from '../store/store.ts';
import type { Commit, EventCandidate } from './commit.ts';
import { MOST_OVERLAP_US } from './lateness.ts';
import type { PageSize } from './page-size.ts';
import { createRecentIds, type RecentIds } from './recent-ids.ts';
import { cursorOf, nextPosition, type Position, startOf } from './sweep.ts';

/**
 * How long before the cursor ids are remembered: the longest overlap there is, with the anchor's margin, and as long
 * again, since an entry that is read in it may have come earlier with an older `createdAt`.
 */
const RECENT_WINDOW_US = 2 * 12 * 60 * 1_000_000;

/** Pages read in one poll before other streams have their turn. */
const PAGES_PER_POLL = 20;

/** After a longer pause nobody can say when an entry that came meanwhile became visible. */
const PAUSE_US = MOST_OVERLAP_US;

export interface LogEntry {
  readonly id: string;
  readonly createdAt: Instant;
}

/** What tells the paged streams of one feed from those of another; `birdId` is empty where it has one stream only. */
export interface LogSource<T extends LogEntry> {
  readonly region: string;
  readonly feed: Feed;
  readonly read: (birdId: string, query: PageQuery) => Promise<Answer<Page<T>>>;
  readonly toEvent: (birdId: string, entry: T, observedAtUs: number) => Event;
  readonly birdStatus: (event: Event) => string | undefined;
}

export interface LogStreamOptions {
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly report: Report;
  readonly pages: PageSize;
  readonly overlapUs: () => number;
  /** Told how late an entry was that came behind the cursor. */
  readonly late: (latenessUs: number) => void;
  /** Where a stream without a cursor begins. */
  readonly firstFromUs: () => number;
  /** On the service's clock: what occurred before it is history. */
  readonly watchedSinceUs: () => number;
}

export interface LogStream {
  /** One poll. The first creates the stream's row. Resolves to whether more pages wait. Throws what the service or the store threw. */
  poll(signal: AbortSignal): Promise<{ more: boolean; fresh: readonly Event[]; requests: number }>;
  /** The newest `createdAt` committed; 0 before the first. */
  cursorUs(): number;
  /** The last sweep that reached the end: where it began in the stream, and when, on the service's clock. */
  swept(): Swept | undefined;
  /** A page for an audit. */
  ask(query: PageQuery): Promise<Page<LogEntry>>;
  /** Commits what an audit found by `ask`, without moving the cursor; resolves to the events that were new. */
  keep(items: readonly Parsed<LogEntry>[]): Promise<readonly Event[]>;
}

export interface Swept {
  readonly stream: number;
  readonly fromUs: number;
  readonly atUs: number;
}

/** A sweep under way, which may take several polls. */
interface Sweep {
  readonly position: Position;
  readonly fromUs: number;
  readonly atUs: number;
  /** The cursor when it began. */
  readonly cursorUs: number;
}

/** The entries of a page by what becomes of them. */
interface SortedPage {
  readonly candidates: readonly EventCandidate[];
  readonly quarantined: readonly QuarantinedEntry[];
  /** Of the readable entries, in the order in which they came. */
  readonly instantsUs: readonly number[];
  /** Instants of the candidates by their ids. */
  readonly ids: ReadonlyMap<string, number>;
  readonly duplicates: number;
}

/**
 * Creates the streams of one feed of a region. There may be tens of thousands, nearly all at rest: so a stream holds
 * nothing but what is its own, and everything else is shared.
 */
export function createLogStreams<T extends LogEntry>(
  source: LogSource<T>,
  options: LogStreamOptions,
): (birdId: string) => LogStream {
  const { region, feed } = source;
  const { store, commit, clock, report, pages } = options;

  class OneLogStream implements LogStream {
    readonly #birdId: string;
    /** 0 before it was opened. */
    #stream = 0;
    /** Undefined as long as there are none. */
    #recent: RecentIds | undefined;
    #cursorUs = 0;
    #paused: Sweep | undefined;
    #sweptFromUs = 0;
    /** 0 before the first sweep that reached the end. */
    #sweptAtUs = 0;
    /** Pages of every size were refused, and none was taken since. */
    #isRefused = false;

    constructor(birdId: string) {
      this.#birdId = birdId;
    }

    cursorUs(): number {
      return this.#cursorUs;
    }

    swept(): Swept | undefined {
      if (this.#sweptAtUs === 0) return undefined;
      return { stream: this.#stream, fromUs: this.#sweptFromUs, atUs: this.#sweptAtUs };
    }

    async ask(query: PageQuery): Promise<Page<LogEntry>> {
      try {
        return (await source.read(this.#birdId, query)).value;
      } catch (error) {
        // The audit comes again, with smaller pages. What else it is refused for is no matter of their size: polls
        // have found that out before.
        if (error instanceof NestwatchError && error.code === 'too_large') pages.shrink();
        throw error;
      }
    }

    async keep(items: readonly Parsed<LogEntry>[]): Promise<readonly Event[]> {
      const stream = await this.#open();
      const { candidates, quarantined, ids } = this.#sortOut(items as readonly Parsed<T>[], clock.nowUs());
      if (candidates.length + quarantined.length === 0) return [];
      const inserted = await commit({ region, stream: { stream, feed }, events: candidates, quarantined });
      // All that is known is that they were later than the sweeps look back: so that is doubled.
      const overlapUs = options.overlapUs();
      for (const _ of inserted) options.late(overlapUs);
      for (const [id, createdAtUs] of ids) {
        if (createdAtUs >= this.#cursorUs - RECENT_WINDOW_US) this.#remember(id, createdAtUs);
      }
      return inserted;
    }

    async poll(signal: AbortSignal) {
      const stream = await this.#open();
      const fromUs = this.#cursorUs > 0 ? this.#cursorUs - options.overlapUs() : options.firstFromUs();
      let sweep = this.#paused;
      let at: Position | 'end' = sweep?.position ?? startOf(fromUs);
      this.#paused = undefined;
      const fresh: Event[] = [];
      let heldCursorUs = 0;
      let pages = 0;
      for (; at !== 'end'; pages += 1) {
        if (pages >= PAGES_PER_POLL || signal.aborted) {
          if (sweep) this.#paused = { ...sweep, position: at };
          return { more: true, fresh, requests: pages };
        }
        const { answer, pageSize, at: asked } = await this.#readPage(at);
        const observedAtUs = clock.nowUs();
        const serviceNowUs = answer.serverTimeUs ?? observedAtUs;
        sweep ??= { position: at, fromUs, atUs: serviceNowUs, cursorUs: this.#cursorUs };
        const { items, totalCount } = answer.value;
        const page = this.#sortOut(items, observedAtUs);
        const candidates = await this.#withoutStored(page.candidates);
        let duplicates = page.duplicates + page.candidates.length - candidates.length;
        const echoedSize = answer.value.pageSize;
        at = nextPosition(asked, {
          count: items.length,
          pageSize: echoedSize !== null && echoedSize > 0 ? echoedSize : pageSize,
          totalCount,
          instantsUs: page.instantsUs,
        });
        // Without order a page's newest instant says nothing of the pages to come: the cursor waits for the end.
        heldCursorUs = Math.max(heldCursorUs, cursorOf(page.instantsUs, serviceNowUs + 1_000_000));
        const inOrder = at === 'end' || at.ordered;
        const reachedUs = inOrder && heldCursorUs > this.#cursorUs ? heldCursorUs : 0;
        if (candidates.length > 0 || page.quarantined.length > 0 || reachedUs > 0) {
          const inserted = await commit({
            region,
            stream: { stream, feed },
            events: candidates,
            quarantined: page.quarantined,
            cursorUs: reachedUs,
          });
          fresh.push(...inserted);
          this.#tellLate(inserted, sweep, serviceNowUs);
          duplicates += candidates.length - inserted.length;
          if (reachedUs > 0) this.#cursorUs = reachedUs;
          for (const [id, createdAtUs] of page.ids) this.#remember(id, createdAtUs);
          this.#recent?.forget(this.#cursorUs - RECENT_WINDOW_US);
        }
        if (duplicates > 0) report({ what: 'duplicates', region, feed, count: duplicates });
      }
      // At least one page was read.
      this.#sweptFromUs = sweep!.fromUs;
      this.#sweptAtUs = sweep!.atUs;
      return { more: false, fresh, requests: pages };
    }

    /** Resolves to the stream's number. */
    async #open(): Promise<number> {
      if (this.#stream > 0) return this.#stream;
      const { row, ids } = await store.transaction(async (tx) => {
        const row = await tx.openStream(region, feed, this.#birdId);
        const ids = row.cursorUs > 0 ? await tx.eventIds(row.stream, row.cursorUs - RECENT_WINDOW_US) : [];
        return { row, ids };
      });
      for (const { id, occurredAtUs } of ids) this.#remember(id, occurredAtUs);
      this.#cursorUs = row.cursorUs;
      this.#stream = row.stream;
      return row.stream;
    }

    #remember(id: string, createdAtUs: number): void {
      this.#recent ??= createRecentIds();
      this.#recent.add(id, createdAtUs);
    }

    async #readPage(at: Position): Promise<{ answer: Answer<Page<T>>; pageSize: number; at: Position }> {
      const firstSize = pages.size();
      let from = at;
      for (;;) {
        const pageSize = pages.size();
        try {
          const query = { page: from.page, pageSize, ascending: true, fromUs: from.fromUs };
          const answer = await source.read(this.#birdId, query);
          this.#isRefused = false;
          return { answer, pageSize, at: from };
        } catch (error) {
          if (!isRefused(error) || this.#isRefused) throw error;
          // Streams share the size: another one may have met the same refusal, and asked for less already.
          if (pages.size() >= pageSize && !pages.shrink()) {
            this.#isRefused = true;
            pages.restore(firstSize);
            throw error;
          }
          // Page numbers count in page sizes: after a change they begin anew.
          from = startOf(from.fromUs);
        }
      }
    }

    #sortOut(items: readonly Parsed<T>[], observedAtUs: number): SortedPage {
      const candidates: EventCandidate[] = [];
      const quarantined: QuarantinedEntry[] = [];
      const instantsUs: number[] = [];
      const ids = new Map<string, number>();
      let duplicates = 0;
      for (const item of items) {
        if (!item.ok) {
          quarantined.push({ raw: item.raw, reason: item.reason });
          continue;
        }
        const { id, createdAt } = item.entry;
        instantsUs.push(createdAt.us);
        if (this.#recent?.has(id) || ids.has(id)) {
          duplicates += 1;
          continue;
        }
        ids.set(id, createdAt.us);
        const event = source.toEvent(this.#birdId, item.entry, observedAtUs);
        const historic = event.occurredAtUs < options.watchedSinceUs();
        candidates.push({ event, historic, birdStatus: source.birdStatus(event) });
      }
      return { candidates, quarantined, instantsUs, ids, duplicates };
    }

    /**
     * Without those from before what is remembered that the store has under another instant: deletions may send a sweep
     * back to where it began, which is long ago for a stream that was quiet.
     */
    async #withoutStored(candidates: readonly EventCandidate[]): Promise<readonly EventCandidate[]> {
      const rememberedUs = this.#cursorUs - RECENT_WINDOW_US;
      if (candidates.every(({ event }) => event.occurredAtUs >= rememberedUs)) return candidates;
      const stored = await store.transaction((tx) => tx.eventIds(this.#stream, 0));
      const keys = new Set(stored.map(({ id }) => `${region}/${feed}/${id}`));
      return candidates.filter(({ event }) => !keys.has(event.key));
    }

    /** Tells how late the new ones are that came behind the cursor at which the sweep began. */
    #tellLate(inserted: readonly Event[], sweep: Sweep, serviceNowUs: number): void {
      if (this.#sweptAtUs === 0 || sweep.atUs - this.#sweptAtUs > PAUSE_US) return;
      for (const { occurredAtUs } of inserted) {
        if (occurredAtUs < sweep.cursorUs) options.late(serviceNowUs - occurredAtUs);
      }
    }
  }

  return (birdId) => new OneLogStream(birdId);
}

/** The service does not take pages of this size, or its answer was too large to be received. */
function isRefused(error: unknown): boolean {
  return error instanceof NestwatchError && (error.code === 'bad_request' || error.code === 'too_large');
}
