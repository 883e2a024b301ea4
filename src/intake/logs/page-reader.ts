/**
 * Reads the pages of a feed's streams, in whatever size the service accepts. A refused page is asked for again in smaller
 * sizes, and an answer that is too large to receive is read in parts.
 */
import { NestwatchError } from '../../errors.ts';
import type { Answer, PageQuery } from '../../service/client.ts';
import type { Page } from '../../service/resources.ts';
import type { Clock } from '../../time/clock.ts';
import { readInParts } from './page-parts.ts';
import type { PageSize, RegionPageSize } from './page-size.ts';
import type { LogEntry } from './sorted-page.ts';
import { type Position, startOf } from './sweep.ts';

/**
 * If smaller pages are refused too, they are tried again only after this time: everything may have failed
 * temporarily.
 */
const HALVE_AGAIN_MS = 3 * 60_000;

/** The answer with a page, and the position and size with which it was requested. */
export interface ReadPage<T> {
  readonly answer: Answer<Page<T>>;
  readonly at: Position;
  readonly pageSize: number;
}

/** `birdId` is empty for a feed with one stream. */
interface PageFeed<T> {
  readonly source: { readonly read: (birdId: string, query: PageQuery) => Promise<Answer<Page<T>>> };
  readonly pages: RegionPageSize;
  readonly clock: Clock;
}

/** The service refused the request, perhaps because of the page size. */
interface Refused {
  readonly refusal: NestwatchError;
}

/** What was learned about the pages of one stream. */
interface Learned {
  /** The region's page size, or this stream's own if the service accepts only a smaller one here. */
  readonly ownPages: PageSize;
  /** When pages of every size were last refused; undefined once one was accepted. */
  readonly refusedAtMs: number | undefined;
  /** Larger pages are answered with pages of this size; 0 if they are not. */
  readonly largestGiven: number;
}

export class PageReader<T extends LogEntry> {
  readonly #feed: PageFeed<T>;
  /** Of nearly all streams. */
  readonly #nothing: Learned;
  /** By Bird, what was learned of the other streams. */
  readonly #learned = new Map<string, Learned>();

  constructor(feed: PageFeed<T>) {
    this.#feed = feed;
    this.#nothing = { ownPages: feed.pages, refusedAtMs: undefined, largestGiven: 0 };
  }

  /** The page size that the service accepts for the Bird's stream, as far as known. */
  size(birdId: string): number {
    return this.#pages(birdId).size();
  }

  /** To be called when the Bird no longer exists. */
  forget(birdId: string): void {
    this.#learned.delete(birdId);
  }

  /** Reads exactly this page. */
  ask(birdId: string, query: PageQuery): Promise<Answer<Page<T>>> {
    // Page numbers count in the page size that the service uses. If the parts of a large page had another size, they
    // would hold other entries.
    const { largestGiven } = this.#of(birdId);
    const isCapped = query.page > 0 && largestGiven > 0 && query.pageSize > largestGiven;
    const given = isCapped ? { ...query, pageSize: largestGiven } : query;
    return readInParts(async (part) => {
      const answer = await this.#feed.source.read(birdId, part);
      const pageSize = answer.value.pageSize ?? part.pageSize;
      if (pageSize > 0 && pageSize < part.pageSize) this.#learn(birdId, { largestGiven: pageSize });
      else if (part.pageSize > this.#of(birdId).largestGiven) this.#learn(birdId, { largestGiven: 0 });
      return answer;
    }, given);
  }

  /**
   * Reads a page of the stream with this number in the store, in this size or in another size from the position's
   * anchor. With `toUs` only entries up to then are read. Rejects with what the service refused it with.
   */
  async read(
    birdId: string,
    stream: number,
    at: Position,
    pageSize: number,
    toUs?: number,
  ): Promise<ReadPage<T>> {
    const own = this.#pages(birdId);
    const larger = at.page === 0 && pageSize === own.size() ? own.larger() : undefined;
    if (larger !== undefined) {
      const tried = await this.#try(birdId, at, larger, toUs);
      own.tried(larger, 'answer' in tried);
      if ('answer' in tried) return tried;
    }
    let tried = await this.#try(birdId, at, pageSize, toUs);
    const { clock } = this.#feed;
    const halvedMsAgo = clock.monotonicMs() - (this.#of(birdId).refusedAtMs ?? Number.NEGATIVE_INFINITY);
    if ('refusal' in tried && halvedMsAgo >= HALVE_AGAIN_MS) {
      tried = await this.#halve(birdId, stream, startOf(at.fromUs), pageSize, tried, toUs);
      this.#learn(birdId, { refusedAtMs: clock.monotonicMs() });
    }
    if ('refusal' in tried) throw tried.refusal;
    this.#learn(birdId, { refusedAtMs: undefined });
    return tried;
  }

  #of(birdId: string): Learned {
    return this.#learned.get(birdId) ?? this.#nothing;
  }

  #learn(birdId: string, change: Partial<Learned>): void {
    const { ownPages, refusedAtMs, largestGiven } = { ...this.#of(birdId), ...change };
    const isNothing = ownPages === this.#feed.pages && refusedAtMs === undefined && largestGiven === 0;
    if (isNothing) this.#learned.delete(birdId);
    else this.#learned.set(birdId, { ownPages, refusedAtMs, largestGiven });
  }

  /** The region's page size, or the stream's own while that is smaller. */
  #pages(birdId: string): PageSize {
    const { pages } = this.#feed;
    const { ownPages } = this.#of(birdId);
    if (ownPages === pages || ownPages.size() < pages.size()) return ownPages;
    this.#learn(birdId, { ownPages: pages });
    return pages;
  }

  /**
   * Tries ever smaller pages until one is accepted. Then it tries the next larger size again, since the refusals may
   * have been temporary.
   */
  async #halve(
    birdId: string,
    stream: number,
    from: Position,
    refused: number,
    first: Refused,
    toUs: number | undefined,
  ): Promise<ReadPage<T> | Refused> {
    let larger = refused;
    while (larger > 1) {
      const size = Math.floor(larger / 2);
      const tried = await this.#try(birdId, from, size, toUs);
      if ('answer' in tried) {
        const again = await this.#try(birdId, from, larger, toUs);
        if ('answer' in again) return again;
        this.#learn(birdId, { ownPages: this.#feed.pages.learn(size, stream) });
        return tried;
      }
      larger = size;
    }
    // The size is not the reason for the refusals.
    this.#learn(birdId, { ownPages: this.#feed.pages });
    return first;
  }

  async #try(
    birdId: string,
    at: Position,
    pageSize: number,
    toUs: number | undefined,
  ): Promise<ReadPage<T> | Refused> {
    const upTo = toUs === undefined ? {} : { toUs };
    try {
      const { page, fromUs } = at;
      const answer = await this.ask(birdId, { page, pageSize, ascending: true, fromUs, ...upTo });
      return { answer, at, pageSize };
    } catch (error) {
      if (error instanceof NestwatchError && error.code === 'bad_request') return { refusal: error };
      throw error;
    }
  }
}
