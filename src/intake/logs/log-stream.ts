/**
 * Reads one paged stream (the region's notifications, or the log of one Bird) in sweeps. Each page is committed on
 * its own, together with the cursor that it justifies. A long sweep pauses after some pages and continues at the next
 * poll.
 *
 * If the cursor is later than the service's clock, it was set while that clock was ahead. Then it goes back to the
 * newest stored entry that is not later than the clock, and the stream is read from there at once.
 */
import type { Event, Feed } from '../../domain/alert/event.ts';
import type { Answer, PageQuery } from '../../service/client.ts';
import type { Page, Parsed } from '../../service/resources.ts';
import { type Batch, type EventCandidate, markPast } from '../commit.ts';
import { MOST_OVERLAP_US } from '../lateness.ts';
import type { IntakeParts } from '../parts.ts';
import { type PageReader, type ReadPage, readWhole } from './page-reader.ts';
import {
  cursorOf,
  type LogEntry,
  NOW_MARGIN_US,
  nextPosition,
  type Position,
  RecentIds,
  type SortedPage,
  sortPage,
  startOf,
  viewOf,
} from './sweep.ts';

/**
 * How far behind the cursor ids are remembered: the longest overlap and the anchor's margin, and the same again,
 * since an entry that was read within the overlap may come again with an older `createdAt`.
 */
const RECENT_WINDOW_US = 2 * 12 * 60 * 1_000_000;

/** The most events in one transaction, which then takes about 50 ms. A page has 100 by default. */
const EVENTS_PER_COMMIT = 500;

/** The most pages read in one poll, so that other streams get a turn. */
const PAGES_PER_POLL = 20;

/** After a longer pause it is unknown when an entry that arrived meanwhile became visible. */
const PAUSE_US = MOST_OVERLAP_US;

/** How the entries of a feed are read and become events. `birdId` is empty for a feed with one stream. */
interface LogSource<T extends LogEntry> {
  readonly region: string;
  readonly feed: Feed;
  readonly read: (birdId: string, query: PageQuery) => Promise<Answer<Page<T>>>;
  readonly toEvent: (birdId: string, entry: T, observedAtUs: number) => Event;
  readonly birdStatus: (event: Event) => string | undefined;
}

interface LogStreamOptions extends Pick<IntakeParts, 'store' | 'commit' | 'clock' | 'report'> {
  readonly pages: PageReader;
  readonly overlapUs: () => number;
  /** Called with the lateness of each entry that appeared behind the cursor. */
  readonly late: (latenessUs: number) => void;
  /** Where a stream without a cursor begins. */
  readonly firstFromUs: (birdId: string) => number;
  /** On the service's clock. What occurred before it is history. */
  readonly watchedSinceUs: (birdId: string) => number;
}

interface LogPoll {
  readonly more: boolean;
  /** The new events. */
  readonly fresh: readonly Event[];
  readonly requests: number;
  /** The length of the time that the sweep covered, if it began without a cursor. */
  readonly historyMs?: number | undefined;
}

export interface LogStream {
  /** Reads some pages. The first poll creates the stream's row. Throws what the service or the store threw. */
  poll(signal: AbortSignal): Promise<LogPoll>;
  /** The newest `createdAt` committed; 0 before the first. */
  cursorUs(): number;
  /** The last sweep that reached the end; undefined before the first. */
  swept(): Swept | undefined;
  /** The page size that the service accepts, as far as known. */
  pageSize(): number;
  /** Reads a page for an audit. */
  ask(query: PageQuery): Promise<Page<LogEntry>>;
  /**
   * Reads a page of the entries up to `toUs`. If the service refuses `pageSize`, it reads from the position's anchor
   * in a smaller size.
   */
  readPage(at: Position, pageSize: number, toUs: number): Promise<ReadPage<LogEntry>>;
  /** Commits what an audit found by `ask`, without moving the cursor. Resolves to the new events. */
  keep(items: readonly Parsed<LogEntry>[]): Promise<readonly Event[]>;
}

/** A sweep that reached the end: where it began in the stream, and when, on the service's clock. */
export interface Swept {
  readonly stream: number;
  readonly fromUs: number;
  readonly atUs: number;
  /** Up to here every entry has been stored once, but the store may have deleted it since. */
  readonly prunedUs: number;
  /** Whether the service counted more entries than it listed, so that some may be missing. */
  readonly isShort: boolean;
}

/** A sweep in progress, which may take several polls. */
interface Sweep {
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
  /** The cursor that all its pages justify. */
  readonly heldUs: number;
}

/** What all streams of a feed share. */
interface LogFeed<T extends LogEntry> extends LogStreamOptions {
  readonly source: LogSource<T>;
}

/** Returns a function that creates the stream of a Bird. All these streams share the feed's state. */
export function createLogStreams<T extends LogEntry>(
  source: LogSource<T>,
  options: LogStreamOptions,
): (birdId: string) => LogStream {
  const feed = { ...options, source };
  return (birdId) => new PagedStream(feed, birdId);
}

/** One stream. There may be tens of thousands, nearly all idle, so each holds only its own state. */
class PagedStream<T extends LogEntry> implements LogStream {
  readonly #feed: LogFeed<T>;
  readonly #birdId: string;
  /** 0 until the stream was opened. */
  #stream = 0;
  /** Undefined while there are none. */
  #recent: RecentIds | undefined;
  #cursorUs = 0;
  /** Up to here the store has deleted events. */
  #prunedUs = 0;
  #paused: Sweep | undefined;
  /**
   * Where the next sweep begins if the last one took long after it had reached recent entries, so that late ones may
   * have appeared behind it; undefined if the overlap suffices.
   */
  #unsettledUs: number | undefined;
  #sweptFromUs = 0;
  /** 0 before the first sweep that reached the end. */
  #sweptAtUs = 0;
  #isShort = false;

  constructor(feed: LogFeed<T>, birdId: string) {
    this.#feed = feed;
    this.#birdId = birdId;
  }

  cursorUs(): number {
    return this.#cursorUs;
  }

  swept(): Swept | undefined {
    if (this.#sweptAtUs === 0) return undefined;
    const [fromUs, atUs, prunedUs] = [this.#sweptFromUs, this.#sweptAtUs, this.#prunedUs];
    return { stream: this.#stream, fromUs, atUs, prunedUs, isShort: this.#isShort };
  }

  pageSize(): number {
    return this.#feed.pages.size();
  }

  async ask(query: PageQuery): Promise<Page<LogEntry>> {
    return (await readWhole(this.#ask, query)).value;
  }

  readPage(from: Position, pageSize: number, toUs: number): Promise<ReadPage<LogEntry>> {
    return this.#feed.pages.read(this.#ask, from, pageSize, toUs);
  }

  async keep(items: readonly Parsed<LogEntry>[]): Promise<readonly Event[]> {
    const { clock, overlapUs, late } = this.#feed;
    const stream = await this.#open();
    const { candidates, quarantined, ids } = this.#sort(items as readonly Parsed<T>[], clock.nowUs());
    if (candidates.length + quarantined.length === 0) return [];
    const batch = { events: candidates, quarantined, cursorUs: 0 };
    const inserted = await this.#commitInParts(stream, batch);
    // It is only known that these entries came later than the overlap, so the overlap is doubled.
    const mostUs = overlapUs();
    for (const _ of inserted) late(mostUs);
    for (const [id, createdAtUs] of ids) {
      if (createdAtUs >= this.#cursorUs - RECENT_WINDOW_US) this.#remember(id, createdAtUs);
    }
    return inserted;
  }

  poll(signal: AbortSignal): Promise<LogPoll> {
    return this.#poll(signal, 0);
  }

  get #ask(): (query: PageQuery) => Promise<Answer<Page<T>>> {
    return (query) => this.#feed.source.read(this.#birdId, query);
  }

  /** `aheadTimes`: how often in this poll the cursor was found to be later than the service's clock. */
  async #poll(signal: AbortSignal, aheadTimes: number): Promise<LogPoll> {
    const { pages, clock, overlapUs, firstFromUs } = this.#feed;
    const stream = await this.#open();
    const lateFromUs = Math.min(this.#cursorUs - overlapUs(), this.#unsettledUs ?? Number.POSITIVE_INFINITY);
    const fromUs = this.#cursorUs > 0 ? lateFromUs : firstFromUs(this.#birdId);
    let sweep = this.#paused;
    let at: Position | 'end' = sweep?.position ?? startOf(fromUs);
    let pageSize = sweep?.pageSize ?? pages.size();
    this.#paused = undefined;
    const fresh: Event[] = [];
    let count = 0;
    for (; at !== 'end'; count += 1) {
      if (count >= PAGES_PER_POLL || signal.aborted) {
        if (sweep) this.#paused = { ...sweep, position: at, pageSize };
        return { more: true, fresh, requests: count };
      }
      // Page numbers depend on the page size, so the size may only change at page 0 of an anchor.
      // It never grows within a sweep: a page that is refused because of its entries would be read in a circle.
      if (at.page === 0) pageSize = Math.min(pageSize, pages.size());
      const read: ReadPage<T> = await pages.read(this.#ask, at, pageSize).catch((error: unknown) => {
        // The next poll continues here. But if the first page already failed, or pages had to become smaller, it begins
        // at the cursor again.
        if (sweep && count > 0 && pageSize === sweep.pageSize)
          this.#paused = { ...sweep, position: at as Position, pageSize };
        throw error;
      });
      pageSize = read.pageSize;
      const observedAtUs = clock.nowUs();
      const serviceNowUs = read.answer.serverTimeUs ?? observedAtUs;
      if (count === 0 && aheadTimes < 2 && this.#cursorUs > serviceNowUs + NOW_MARGIN_US) {
        // A single answer may show a wrong time, so a second one has to agree.
        if (aheadTimes === 1) await this.#retreat(serviceNowUs);
        const again = await this.#poll(signal, aheadTimes + 1);
        return { ...again, requests: again.requests + 1 };
      }
      sweep ??= {
        position: at,
        pageSize,
        fromUs,
        atUs: serviceNowUs,
        cursorUs: this.#cursorUs,
        listed: 0,
        total: 0,
        unsettledUs: Infinity,
        heldUs: 0,
      };
      const page = this.#sort(read.answer.value.items, observedAtUs);
      sweep = listedOn(unsettled(sweep, page, serviceNowUs - overlapUs()), read);
      at = nextPosition(read.at, viewOf(read.answer.value, read.pageSize));
      // Without order a page's newest instant says nothing about later pages, so the cursor waits for the end.
      const heldUs = Math.max(sweep.heldUs, cursorOf(page.instantsUs, serviceNowUs + NOW_MARGIN_US));
      sweep = { ...sweep, heldUs };
      const inOrder = at === 'end' || at.ordered;
      const reachedUs = inOrder && heldUs > this.#cursorUs ? heldUs : 0;
      const inserted = await this.#commitPage(stream, page, reachedUs);
      for (const event of inserted) fresh.push(event);
      this.#learnLateness(inserted, sweep, serviceNowUs);
    }
    // At least one page was read.
    const historyMs = this.#endSweep(sweep!);
    return { more: false, fresh, requests: count, historyMs };
  }

  /** Notes a sweep that reached the end. Returns the length of the time that it covered, if it began without a cursor. */
  #endSweep({ fromUs, atUs, cursorUs, unsettledUs, listed, total }: Sweep): number | undefined {
    this.#unsettledUs = unsettledUs < this.#cursorUs - this.#feed.overlapUs() ? unsettledUs : undefined;
    this.#sweptFromUs = fromUs;
    this.#sweptAtUs = atUs;
    this.#isShort = listed < total;
    return cursorUs === 0 ? (atUs - fromUs) / 1000 : undefined;
  }

  /**
   * Commits what a page brought, with the cursor that it justifies (0 for none), and remembers it. Resolves to the new
   * events.
   */
  async #commitPage(stream: number, page: SortedPage, cursorUs: number): Promise<readonly Event[]> {
    const { source, report } = this.#feed;
    const { region, feed } = source;
    const { quarantined, ids } = page;
    const events = await this.#withoutStored(page.candidates);
    const isNews = events.length > 0 || quarantined.length > 0 || cursorUs > 0;
    const inserted = isNews ? await this.#commitInParts(stream, { events, quarantined, cursorUs }) : [];
    const duplicates = page.duplicates + page.candidates.length - inserted.length;
    if (duplicates > 0) report({ what: 'duplicates', region, feed, count: duplicates });
    if (!isNews) return inserted;
    if (cursorUs > 0) this.#cursorUs = cursorUs;
    for (const [id, createdAtUs] of ids) this.#remember(id, createdAtUs);
    this.#recent?.forget(this.#cursorUs - RECENT_WINDOW_US);
    return inserted;
  }

  /**
   * Commits the contents of a page, in several transactions if there are many, so that others get a turn. Only the
   * last one moves the cursor. After a crash before it the page is read again, and what was committed is recognised.
   */
  async #commitInParts(
    stream: number,
    { events, quarantined, cursorUs }: Required<Pick<Batch, 'events' | 'quarantined' | 'cursorUs'>>,
  ): Promise<readonly Event[]> {
    const { source, commit } = this.#feed;
    const { region, feed } = source;
    const inserted: Event[] = [];
    let from = 0;
    for (; events.length - from > EVENTS_PER_COMMIT; from += EVENTS_PER_COMMIT) {
      const part = events.slice(from, from + EVENTS_PER_COMMIT);
      for (const event of await commit({ region, stream: { stream, feed }, events: part }))
        inserted.push(event);
    }
    const rest = { events: events.slice(from), quarantined, cursorUs };
    for (const event of await commit({ region, stream: { stream, feed }, ...rest })) inserted.push(event);
    return inserted;
  }

  /** Resolves to the stream's number. The first call loads what the store knows about the stream. */
  async #open(): Promise<number> {
    if (this.#stream > 0) return this.#stream;
    const { source, store } = this.#feed;
    const { region, feed } = source;
    const { row, ids } = await store.transaction(async (tx) => {
      const row = await tx.streams.open(region, feed, this.#birdId);
      const ids = row.cursorUs > 0 ? await tx.events.ids(row.stream, row.cursorUs - RECENT_WINDOW_US) : [];
      return { row, ids };
    });
    for (const { id, occurredAtUs } of ids) this.#remember(id, occurredAtUs);
    this.#cursorUs = row.cursorUs;
    this.#prunedUs = row.prunedUs;
    this.#stream = row.stream;
    return row.stream;
  }

  /** Moves the cursor back, because it was set while the service's clock was ahead. */
  async #retreat(serviceNowUs: number): Promise<void> {
    await this.#feed.store.transaction((tx) => tx.streams.retreatCursor(this.#stream, serviceNowUs));
    this.#stream = 0;
    this.#recent = undefined;
    this.#sweptAtUs = 0;
    this.#unsettledUs = undefined;
    await this.#open();
  }

  #remember(id: string, createdAtUs: number): void {
    this.#recent ??= new RecentIds();
    this.#recent.add(id, createdAtUs);
  }

  #sort(items: readonly Parsed<T>[], observedAtUs: number): SortedPage {
    const { source, watchedSinceUs } = this.#feed;
    return sortPage(items, {
      isKnown: ({ id, createdAt }) => createdAt.us <= this.#prunedUs || this.#recent?.has(id) === true,
      knownAgain: ({ id, createdAt }) => this.#recent?.renew(id, createdAt.us),
      candidateOf: (entry) => {
        const event = source.toEvent(this.#birdId, entry, observedAtUs);
        const historic = event.occurredAtUs < watchedSinceUs(this.#birdId);
        const candidate = { event, historic, birdStatus: source.birdStatus(event) };
        return markPast(candidate, this.#birdId, watchedSinceUs);
      },
    });
  }

  /**
   * Removes candidates that the store already has under another instant. Only those older than the remembered ids are
   * looked up. A sweep may go back that far if entries were deleted in a stream that was quiet for long.
   */
  async #withoutStored(candidates: readonly EventCandidate[]): Promise<readonly EventCandidate[]> {
    const rememberedUs = this.#cursorUs - RECENT_WINDOW_US;
    if (candidates.every(({ event }) => event.occurredAtUs >= rememberedUs)) return candidates;
    const { source, store } = this.#feed;
    const prefix = `${source.region}/${source.feed}/`;
    const idOf = ({ event }: EventCandidate) => event.key.slice(prefix.length);
    const known = await store.transaction((tx) => tx.events.knownIds(this.#stream, candidates.map(idOf)));
    return candidates.filter((candidate) => !known.has(idOf(candidate)));
  }

  /** Learns the lateness of new events that appeared behind the cursor at which the sweep began. */
  #learnLateness(inserted: readonly Event[], sweep: Sweep, serviceNowUs: number): void {
    if (this.#sweptAtUs === 0 || sweep.atUs - this.#sweptAtUs > PAUSE_US) return;
    for (const { occurredAtUs } of inserted) {
      if (occurredAtUs < sweep.cursorUs) this.#feed.late(serviceNowUs - occurredAtUs);
    }
  }
}

/**
 * The sweep after a page. The page's entries after `settledUs` are so recent that late ones may still appear among
 * them. So the next sweep reads from there again, however long this one takes to reach the end.
 */
function unsettled(sweep: Sweep, { instantsUs }: SortedPage, settledUs: number): Sweep {
  const isYoung = sweep.unsettledUs === Infinity && instantsUs.some((us) => us > settledUs);
  return isYoung ? { ...sweep, unsettledUs: Math.max(sweep.fromUs, settledUs) } : sweep;
}

/** The sweep after a page, with the entries of that page. */
function listedOn<T>(sweep: Sweep, { at, answer }: ReadPage<T>): Sweep {
  const { items, totalCount } = answer.value;
  const before = at.page === 0 ? 0 : sweep.listed;
  return { ...sweep, listed: before + items.length, total: totalCount ?? 0 };
}
