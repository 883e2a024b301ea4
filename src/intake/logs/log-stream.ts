/**
 * Reads one paged stream (the region's notifications, or the logs of one Bird) by sweeps. Every page is committed
 * on its own, with the cursor that it justifies; a sweep that is long gives way after some pages and goes on from
 * its position at the next poll. A cursor that is later than the service's clock followed that clock while it was ahead:
 * it goes back to the newest entry that is kept and not later, and the stream is read from there at once.
 */
import type { Event, Feed } from '../../domain/alert/event.ts';
import { NestwatchError } from '../../errors.ts';
import type { Report } from '../../report.ts';
import type { Answer, PageQuery } from '../../service/client.ts';
import type { Page, Parsed } from '../../service/resources.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../time/clock.ts';
import type { Batch, Commit, EventCandidate } from '../commit.ts';
import { MOST_OVERLAP_US } from '../lateness.ts';
import { markPast } from '../mark-past.ts';
import { readInParts } from './page-parts.ts';
import type { PageSize, RegionPageSize } from './page-size.ts';
import { createRecentIds, type RecentIds } from './recent-ids.ts';
import { type LogEntry, type SortedPage, sortPage } from './sorted-page.ts';
import { cursorOf, NOW_MARGIN_US, nextPosition, type Position, startOf } from './sweep.ts';

/**
 * How long before the cursor ids are remembered: the longest overlap there is, with the anchor's margin, and as long
 * again, since an entry that is read in it may have come earlier with an older `createdAt`.
 */
const RECENT_WINDOW_US = 2 * 12 * 60 * 1_000_000;

/** What one transaction takes, some 50 ms; a page has 100 by default. */
const EVENTS_PER_COMMIT = 500;

/** Pages read in one poll before other streams have their turn. */
const PAGES_PER_POLL = 20;

/** After a longer pause nobody can say when an entry that came meanwhile became visible. */
const PAUSE_US = MOST_OVERLAP_US;

/** After smaller pages were refused as well they are asked for again so much later: it may have been a fault of all. */
const HALVE_AGAIN_MS = 3 * 60_000;

/** How the entries of a feed are read, and become events; `birdId` is empty for a feed of one stream. */
interface LogSource<T extends LogEntry> {
  readonly region: string;
  readonly feed: Feed;
  readonly read: (birdId: string, query: PageQuery) => Promise<Answer<Page<T>>>;
  readonly toEvent: (birdId: string, entry: T, observedAtUs: number) => Event;
  readonly birdStatus: (event: Event) => string | undefined;
}

interface LogStreamOptions {
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly report: Report;
  readonly pages: RegionPageSize;
  readonly overlapUs: () => number;
  /** Called with how late an entry was that came behind the cursor. */
  readonly late: (latenessUs: number) => void;
  /** Where a stream without a cursor begins. */
  readonly firstFromUs: () => number;
  /** On the service's clock: what occurred before it is history. */
  readonly watchedSinceUs: (birdId: string) => number;
}

interface LogPoll {
  readonly more: boolean;
  /** The events that were new. */
  readonly fresh: readonly Event[];
  readonly requests: number;
  /** How long a time the sweep covered, where it had no cursor to begin at. */
  readonly historyMs?: number | undefined;
}

export interface LogStream {
  /**
   * Reads some pages. The first poll creates the stream's row. Throws what the service or the store threw.
   */
  poll(signal: AbortSignal): Promise<LogPoll>;
  /** The newest `createdAt` committed; 0 before the first. */
  cursorUs(): number;
  /** The last sweep that reached the end; undefined before the first. */
  swept(): Swept | undefined;
  /** What the service gives of this stream, as far as is known. */
  pageSize(): number;
  /** Reads a page for an audit. */
  ask(query: PageQuery): Promise<Page<LogEntry>>;
  /** Reads a page of the entries up to `toUs`, in this size, or from the position's anchor on in one that is taken. */
  readPage(at: Position, pageSize: number, toUs: number): Promise<PageAt>;
  /** Commits what an audit found by `ask`, without moving the cursor. Resolves to the events that were new. */
  keep(items: readonly Parsed<LogEntry>[]): Promise<readonly Event[]>;
}

/** A page, and where and in which size it was asked for. */
interface PageAt {
  readonly page: Page<LogEntry>;
  readonly at: Position;
  readonly pageSize: number;
}

/** A sweep that reached the end: where it began in the stream, and when, on the service's clock. */
export interface Swept {
  readonly stream: number;
  readonly fromUs: number;
  readonly atUs: number;
  /** Up to here every entry was stored once, though the store may have deleted it since. */
  readonly prunedUs: number;
}

/** A sweep under way, which may take several polls. */
interface Sweep {
  readonly position: Position;
  readonly pageSize: number;
  readonly fromUs: number;
  readonly atUs: number;
  /** The cursor when it began. */
  readonly cursorUs: number;
  /** What it read of later instants may have been joined by late entries since; Infinity while it reads what is old. */
  readonly unsettledUs: number;
}

/** The answer with a page, and where and in which size it was asked for. */
interface ReadPage<T> {
  readonly answer: Answer<Page<T>>;
  readonly at: Position;
  readonly pageSize: number;
}

/** The service refused the request, perhaps because of the page size. */
interface Refused {
  readonly refusal: NestwatchError;
}

/** What all streams of a feed share. */
interface LogFeed<T extends LogEntry> extends LogStreamOptions {
  readonly source: LogSource<T>;
}

/** Returns what creates the stream of a Bird; all of these streams share what is the feed's. */
export function createLogStreams<T extends LogEntry>(
  source: LogSource<T>,
  options: LogStreamOptions,
): (birdId: string) => LogStream {
  const feed = { ...options, source };
  return (birdId) => new PagedStream(feed, birdId);
}

/** One stream. There may be tens of thousands, nearly all at rest, so each holds only what is its own. */
class PagedStream<T extends LogEntry> implements LogStream {
  readonly #feed: LogFeed<T>;
  readonly #birdId: string;
  /** 0 before it was opened. */
  #stream = 0;
  /** Undefined as long as there are none. */
  #recent: RecentIds | undefined;
  #cursorUs = 0;
  /** Up to here the store has deleted events. */
  #prunedUs = 0;
  #paused: Sweep | undefined;
  /** Where the next sweep begins if the last one was long in reading what was young; else it begins by the cursor. */
  #unsettledUs: number | undefined;
  #sweptFromUs = 0;
  /** 0 before the first sweep that reached the end. */
  #sweptAtUs = 0;
  /** The region's size, or its own where a smaller one is given of this stream alone. */
  #ownPages: PageSize;
  /** When pages of every size were asked for in vain; undefined once one was taken. */
  #refusedAtMs: number | undefined;
  /** Larger pages are answered with pages of this size; 0 where they are not. */
  #largestGiven = 0;

  constructor(feed: LogFeed<T>, birdId: string) {
    this.#feed = feed;
    this.#birdId = birdId;
    this.#ownPages = feed.pages;
  }

  cursorUs(): number {
    return this.#cursorUs;
  }

  swept(): Swept | undefined {
    if (this.#sweptAtUs === 0) return undefined;
    const [fromUs, atUs, prunedUs] = [this.#sweptFromUs, this.#sweptAtUs, this.#prunedUs];
    return { stream: this.#stream, fromUs, atUs, prunedUs };
  }

  pageSize(): number {
    return this.#pages().size();
  }

  async ask(query: PageQuery): Promise<Page<LogEntry>> {
    return (await this.#read(query)).value;
  }

  async readPage(from: Position, wanted: number, toUs: number): Promise<PageAt> {
    await this.#open();
    const { answer, at, pageSize } = await this.#readPage(from, wanted, toUs);
    return { page: answer.value, at, pageSize };
  }

  async keep(items: readonly Parsed<LogEntry>[]): Promise<readonly Event[]> {
    const { clock, overlapUs, late } = this.#feed;
    const stream = await this.#open();
    const { candidates, quarantined, ids } = this.#sort(items as readonly Parsed<T>[], clock.nowUs());
    if (candidates.length + quarantined.length === 0) return [];
    const batch = { events: candidates, quarantined, cursorUs: 0 };
    const inserted = await this.#commitInParts(stream, batch);
    // All that is known is that they were later than the sweeps look back: so that is doubled.
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

  /** `aheadTimes`: how often in this poll the cursor was later than the service's clock. */
  async #poll(signal: AbortSignal, aheadTimes: number): Promise<LogPoll> {
    const { source, clock, report, overlapUs, firstFromUs } = this.#feed;
    const { region, feed } = source;
    const stream = await this.#open();
    const lateFromUs = Math.min(this.#cursorUs - overlapUs(), this.#unsettledUs ?? Number.POSITIVE_INFINITY);
    const fromUs = this.#cursorUs > 0 ? lateFromUs : firstFromUs();
    let sweep = this.#paused;
    let at: Position | 'end' = sweep?.position ?? startOf(fromUs);
    let pageSize = sweep?.pageSize ?? this.pageSize();
    this.#paused = undefined;
    const fresh: Event[] = [];
    let heldCursorUs = 0;
    let count = 0;
    for (; at !== 'end'; count += 1) {
      if (count >= PAGES_PER_POLL || signal.aborted) {
        if (sweep) this.#paused = { ...sweep, position: at, pageSize };
        return { more: true, fresh, requests: count };
      }
      // Page numbers count in page sizes: only the first of an anchor may be of another.
      if (at.page === 0) pageSize = this.pageSize();
      const read: ReadPage<T> = await this.#readPage(at, pageSize).catch((error: unknown) => {
        // The next poll goes on from here, unless this page alone fails: then it begins at the cursor.
        if (sweep && count > 0) this.#paused = { ...sweep, position: at as Position, pageSize };
        throw error;
      });
      pageSize = read.pageSize;
      const observedAtUs = clock.nowUs();
      const serviceNowUs = read.answer.serverTimeUs ?? observedAtUs;
      if (count === 0 && aheadTimes < 2 && this.#cursorUs > serviceNowUs + NOW_MARGIN_US) {
        // One answer may show a wrong time: a second one has to agree.
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
        unsettledUs: Infinity,
      };
      const page = this.#sort(read.answer.value.items, observedAtUs);
      sweep = unsettled(sweep, page, serviceNowUs - overlapUs());
      const candidates = await this.#withoutStored(page.candidates);
      at = positionAfter(read, page);
      // Without order a page's newest instant says nothing of the pages to come: the cursor waits for the end.
      heldCursorUs = Math.max(heldCursorUs, cursorOf(page.instantsUs, serviceNowUs + NOW_MARGIN_US));
      const inOrder = at === 'end' || at.ordered;
      const reachedUs = inOrder && heldCursorUs > this.#cursorUs ? heldCursorUs : 0;
      let duplicates = page.duplicates + page.candidates.length;
      const { quarantined } = page;
      if (candidates.length > 0 || quarantined.length > 0 || reachedUs > 0) {
        const batch = { events: candidates, quarantined, cursorUs: reachedUs };
        const inserted = await this.#commitInParts(stream, batch);
        for (const event of inserted) fresh.push(event);
        duplicates -= inserted.length;
        this.#learnLateness(inserted, sweep, serviceNowUs);
        this.#committed(page, reachedUs);
      }
      if (duplicates > 0) report({ what: 'duplicates', region, feed, count: duplicates });
    }
    // At least one page was read.
    const { fromUs: sweptFromUs, atUs, cursorUs, unsettledUs } = sweep!;
    this.#unsettledUs = unsettledUs < this.#cursorUs - overlapUs() ? unsettledUs : undefined;
    this.#sweptFromUs = sweptFromUs;
    this.#sweptAtUs = atUs;
    const historyMs = cursorUs === 0 ? (atUs - sweptFromUs) / 1000 : undefined;
    return { more: false, fresh, requests: count, historyMs };
  }

  /**
   * Commits what a page brought, much of it in parts, between which others have their turn. Only with the last of them
   * the cursor moves: after a crash before it the page is read again, and what was committed is known.
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

  /** Remembers what was committed of a page, with the cursor that it justifies (0 for none). */
  #committed({ ids }: SortedPage, cursorUs: number): void {
    if (cursorUs > 0) this.#cursorUs = cursorUs;
    for (const [id, createdAtUs] of ids) this.#remember(id, createdAtUs);
    this.#recent?.forget(this.#cursorUs - RECENT_WINDOW_US);
  }

  /** Resolves to the stream's number; the first time loads what the store knows of it. */
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

  /** Takes back the cursor, which followed a clock that was ahead. */
  async #retreat(serviceNowUs: number): Promise<void> {
    await this.#feed.store.transaction((tx) => tx.streams.retreatCursor(this.#stream, serviceNowUs));
    this.#stream = 0;
    this.#recent = undefined;
    this.#sweptAtUs = 0;
    this.#unsettledUs = undefined;
    await this.#open();
  }

  #remember(id: string, createdAtUs: number): void {
    this.#recent ??= createRecentIds();
    this.#recent.add(id, createdAtUs);
  }

  /** Reads the page in this size, or from its anchor on in another one; with `toUs` of the entries up to then. */
  async #readPage(at: Position, pageSize: number, toUs?: number): Promise<ReadPage<T>> {
    const own = this.#pages();
    const larger = at.page === 0 && pageSize === own.size() ? own.larger() : undefined;
    if (larger !== undefined) {
      const tried = await this.#try(at, larger, toUs);
      own.tried(larger, 'answer' in tried);
      if ('answer' in tried) return tried;
    }
    let tried = await this.#try(at, pageSize, toUs);
    const { clock } = this.#feed;
    const halvedMsAgo = clock.monotonicMs() - (this.#refusedAtMs ?? Number.NEGATIVE_INFINITY);
    if ('refusal' in tried && halvedMsAgo >= HALVE_AGAIN_MS) {
      tried = await this.#halve(startOf(at.fromUs), pageSize, tried, toUs);
      this.#refusedAtMs = clock.monotonicMs();
    }
    if ('refusal' in tried) throw tried.refusal;
    this.#refusedAtMs = undefined;
    return tried;
  }

  /** The region's page size, or the stream's own as long as that is smaller. */
  #pages(): PageSize {
    const { pages } = this.#feed;
    if (this.#ownPages.size() >= pages.size()) this.#ownPages = pages;
    return this.#ownPages;
  }

  /** Asks for ever smaller pages until one is taken, then again for the larger: the refusals may have been a fault. */
  async #halve(
    from: Position,
    refused: number,
    first: Refused,
    toUs: number | undefined,
  ): Promise<ReadPage<T> | Refused> {
    let larger = refused;
    while (larger > 1) {
      const size = Math.floor(larger / 2);
      const tried = await this.#try(from, size, toUs);
      if ('answer' in tried) {
        const again = await this.#try(from, larger, toUs);
        if ('answer' in again) return again;
        this.#ownPages = this.#feed.pages.learn(size, this.#stream);
        return tried;
      }
      larger = size;
    }
    // Then it is not for their size that pages are refused.
    this.#ownPages = this.#feed.pages;
    return first;
  }

  async #try(at: Position, pageSize: number, toUs: number | undefined): Promise<ReadPage<T> | Refused> {
    const upTo = toUs === undefined ? {} : { toUs };
    try {
      const { page, fromUs } = at;
      const answer = await this.#read({ page, pageSize, ascending: true, fromUs, ...upTo });
      return { answer, at, pageSize };
    } catch (error) {
      if (error instanceof NestwatchError && error.code === 'bad_request') return { refusal: error };
      throw error;
    }
  }

  #read(query: PageQuery): Promise<Answer<Page<T>>> {
    // Page numbers count in the size that is given: in parts of another one there are other entries.
    const isCapped = query.page > 0 && this.#largestGiven > 0 && query.pageSize > this.#largestGiven;
    const given = isCapped ? { ...query, pageSize: this.#largestGiven } : query;
    return readInParts(async (part) => {
      const answer = await this.#feed.source.read(this.#birdId, part);
      const pageSize = answer.value.pageSize ?? part.pageSize;
      if (pageSize > 0 && pageSize < part.pageSize) this.#largestGiven = pageSize;
      else if (part.pageSize > this.#largestGiven) this.#largestGiven = 0;
      return answer;
    }, given);
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
   * The candidates without those that are older than the remembered ids, and that the store has under another instant.
   * Deletions may send a sweep back to where it began, which is long ago for a stream that was quiet.
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

  /** Learns how late the new events are that came behind the cursor at which the sweep began. */
  #learnLateness(inserted: readonly Event[], sweep: Sweep, serviceNowUs: number): void {
    if (this.#sweptAtUs === 0 || sweep.atUs - this.#sweptAtUs > PAUSE_US) return;
    for (const { occurredAtUs } of inserted) {
      if (occurredAtUs < sweep.cursorUs) this.#feed.late(serviceNowUs - occurredAtUs);
    }
  }
}

/**
 * The sweep after a page. Entries of the page after `settledUs` are so young that late ones may still come beside them:
 * from there on the next sweep reads again, however long this one takes from here to its end.
 */
function unsettled(sweep: Sweep, { instantsUs }: SortedPage, settledUs: number): Sweep {
  const isYoung = sweep.unsettledUs === Infinity && instantsUs.some((us) => us > settledUs);
  return isYoung ? { ...sweep, unsettledUs: Math.max(sweep.fromUs, settledUs) } : sweep;
}

function positionAfter<T>(
  { at, pageSize, answer }: ReadPage<T>,
  { instantsUs }: SortedPage,
): Position | 'end' {
  const { items, totalCount, pageSize: echoed } = answer.value;
  const inForce = echoed !== null && echoed > 0 ? echoed : pageSize;
  return nextPosition(at, { count: items.length, pageSize: inForce, totalCount, instantsUs });
}
