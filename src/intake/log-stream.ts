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
import type { Page } from '../service/resources.ts';
import type { QuarantinedEntry, Store } from '../store/store.ts';
import type { Commit, EventCandidate } from './commit.ts';
import { createRecentIds, type RecentIds } from './recent-ids.ts';
import { cursorOf, nextPosition, type Position, startOf } from './sweep.ts';

/** How long before the cursor ids are remembered: the longest overlap there is, and the anchor's margin. */
const RECENT_WINDOW_US = 12 * 60 * 1_000_000;

/** Pages read in one poll before other streams have their turn. */
const PAGES_PER_POLL = 20;

export interface LogEntry {
  readonly id: string;
  readonly createdAt: Instant;
}

/** What tells one paged stream from another. */
export interface LogSource<T extends LogEntry> {
  readonly region: string;
  readonly feed: Feed;
  /** Creates the stream's row at the first poll. */
  readonly birdId: string;
  readonly read: (query: PageQuery) => Promise<Answer<Page<T>>>;
  readonly toEvent: (entry: T, observedAtUs: number) => Event;
  readonly birdStatus: (event: Event) => string | undefined;
}

export interface LogStreamOptions {
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly report: Report;
  readonly pageSize: () => number;
  /** Told when the service refuses pages of the present size. */
  readonly shrinkPages: () => boolean;
  readonly overlapUs: () => number;
  /** Where a stream without a cursor begins. */
  readonly firstFromUs: () => number;
  /** On the service's clock: what occurred before it is history. */
  readonly watchedSinceUs: () => number;
}

export interface LogStream {
  /** One poll. Resolves to whether more pages wait. Throws what the service or the store threw. */
  poll(signal: AbortSignal): Promise<{ more: boolean; fresh: readonly Event[] }>;
  /** The newest `createdAt` committed; 0 before the first. */
  cursorUs(): number;
}

export function createLogStream<T extends LogEntry>(
  source: LogSource<T>,
  options: LogStreamOptions,
): LogStream {
  const { store, commit, clock, report } = options;
  let opened: { readonly stream: number; readonly recent: RecentIds } | undefined;
  let cursorUs = 0;
  let position: Position | null = null;

  async function open() {
    opened ??= await store.transaction(async (tx) => {
      const row = await tx.openStream(source.region, source.feed, source.birdId);
      const recent = createRecentIds();
      if (row.cursorUs > 0) {
        for (const { id, occurredAtUs } of await tx.eventIds(row.stream, row.cursorUs - RECENT_WINDOW_US)) {
          recent.add(id, occurredAtUs);
        }
      }
      cursorUs = row.cursorUs;
      return { stream: row.stream, recent };
    });
    return opened;
  }

  async function readPage(
    at: Position,
  ): Promise<{ answer: Answer<Page<T>>; pageSize: number; at: Position }> {
    let from = at;
    for (;;) {
      const pageSize = options.pageSize();
      try {
        const query = { page: from.page, pageSize, ascending: true, fromUs: from.fromUs };
        return { answer: await source.read(query), pageSize, at: from };
      } catch (error) {
        const refused =
          error instanceof NestwatchError && (error.code === 'bad_request' || error.code === 'too_large');
        if (!refused || !options.shrinkPages()) throw error;
        // Page numbers count in page sizes: after a change they begin anew.
        from = startOf(from.fromUs);
      }
    }
  }

  return {
    cursorUs: () => cursorUs,
    async poll(signal) {
      const { stream, recent } = await open();
      const fromUs = cursorUs > 0 ? cursorUs - options.overlapUs() : options.firstFromUs();
      let at: Position | 'end' = position ?? startOf(fromUs);
      position = null;
      const fresh: Event[] = [];
      let heldCursorUs = 0;
      for (let pages = 0; at !== 'end'; pages += 1) {
        if (pages >= PAGES_PER_POLL || signal.aborted) {
          position = at;
          return { more: true, fresh };
        }
        const { answer, pageSize, at: asked } = await readPage(at);
        const observedAtUs = clock.nowUs();
        const { items, totalCount } = answer.value;
        const candidates: EventCandidate[] = [];
        const quarantined: QuarantinedEntry[] = [];
        const instantsUs: number[] = [];
        const inPage = new Map<string, number>();
        let duplicates = 0;
        for (const item of items) {
          if (!item.ok) {
            quarantined.push({ raw: item.raw, reason: item.reason });
            continue;
          }
          const { id, createdAt } = item.entry;
          instantsUs.push(createdAt.us);
          if (recent.has(id) || inPage.has(id)) {
            duplicates += 1;
            continue;
          }
          inPage.set(id, createdAt.us);
          const event = source.toEvent(item.entry, observedAtUs);
          const historic = event.occurredAtUs < options.watchedSinceUs();
          candidates.push({ event, historic, birdStatus: source.birdStatus(event) });
        }
        const echoedSize = answer.value.pageSize;
        at = nextPosition(asked, {
          count: items.length,
          pageSize: echoedSize !== null && echoedSize > 0 ? echoedSize : pageSize,
          totalCount,
          instantsUs,
        });
        // Without order a page's newest instant says nothing of the pages to come: the cursor waits for the end.
        heldCursorUs = Math.max(
          heldCursorUs,
          cursorOf(instantsUs, (answer.serverTimeUs ?? observedAtUs) + 1_000_000),
        );
        const inOrder = at === 'end' || at.ordered;
        const reachedUs = inOrder && heldCursorUs > cursorUs ? heldCursorUs : 0;
        if (candidates.length > 0 || quarantined.length > 0 || reachedUs > 0) {
          const inserted = await commit({
            region: source.region,
            stream: { stream, feed: source.feed },
            events: candidates,
            quarantined,
            cursorUs: reachedUs,
          });
          fresh.push(...inserted);
          duplicates += candidates.length - inserted.length;
          if (reachedUs > 0) cursorUs = reachedUs;
          for (const [id, createdAtUs] of inPage) recent.add(id, createdAtUs);
          recent.forget(cursorUs - RECENT_WINDOW_US);
        }
        if (duplicates > 0) {
          report({ what: 'duplicates', region: source.region, feed: source.feed, count: duplicates });
        }
      }
      return { more: false, fresh };
    },
  };
}
