/**
 * Reads the pages of a feed's streams in a region, in a size that the service accepts. The limit is undocumented, so it
 * is learned from refusals and from full pages that are smaller than asked for: a refused page is asked for in halves, and
 * the size that is accepted then holds for all these streams. After an hour a page of twice that size is tried. If a page
 * of the refused size was accepted since the last refusal, the entries are the reason, so only this page is read smaller.
 *
 * A page whose answer is too large to receive is read as several smaller pages with the same entries, down to one entry
 * each. An entry that is too large by itself appears in the page as malformed. So it is set aside and reported, and
 * everything after it is read.
 */
import { NestwatchError } from '../../errors.ts';
import type { Answer, PageQuery } from '../../service/client.ts';
import type { Page, Parsed } from '../../service/resources.ts';
import type { Clock } from '../../time/clock.ts';
import { type Position, startOf } from './sweep.ts';

/** The answer with a page, the position from which it was requested, and the size in which the service counts pages. */
export interface ReadPage<T> {
  readonly answer: Answer<Page<T>>;
  readonly at: Position;
  readonly pageSize: number;
}

/** Asks the service for exactly this page. */
type Ask<T> = (query: PageQuery) => Promise<Answer<Page<T>>>;

type WithId = { readonly id: string };

/** The time between two tries of a larger size. It doubles with each refusal. */
const FIRST_PAUSE_MS = 3_600_000;
const LONGEST_PAUSE_MS = 24 * 3_600_000;

/** Shared by all streams of a feed in a region. */
export class PageReader {
  readonly #first: number;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #size: number;
  /** The largest size accepted since the last refusal. */
  #accepted = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #largerAtMs = 0;

  /** Pages are never larger than `first`. */
  constructor(first: number, clock: Pick<Clock, 'monotonicMs'>) {
    this.#first = first;
    this.#clock = clock;
    this.#size = first;
  }

  /** The page size that the service accepts, as far as known. */
  size(): number {
    return this.#size;
  }

  /**
   * Reads a page in this size, or in another one from the position's anchor. With `toUs` only entries up to then are
   * read. Rejects with what the service refused it with.
   */
  async read<T extends WithId>(
    ask: Ask<T>,
    at: Position,
    pageSize: number,
    toUs?: number,
  ): Promise<ReadPage<T>> {
    const from = startOf(at.fromUs);
    if (at.page === 0 && this.#size < this.#first && this.#clock.monotonicMs() >= this.#largerAtMs) {
      const larger = Math.min(this.#first, 2 * this.#size);
      // No other stream tries it meanwhile.
      this.#largerAtMs = this.#clock.monotonicMs() + this.#pauseMs;
      const tried = await this.#try(ask, at, larger, toUs);
      if ('answer' in tried && tried.pageSize === larger) {
        this.#size = larger;
        this.#largerAtMs = 0;
      } else {
        this.#pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * this.#pauseMs);
        this.#largerAtMs = this.#clock.monotonicMs() + this.#pauseMs;
      }
      if ('answer' in tried) return tried;
    }
    const first = await this.#try(ask, at, pageSize, toUs);
    if ('answer' in first) return first;
    for (let refused = pageSize; refused > 1; refused = Math.floor(refused / 2)) {
      const size = Math.floor(refused / 2);
      const tried = await this.#try(ask, from, size, toUs);
      if (!('answer' in tried)) continue;
      // The refusals may have been temporary.
      const again = await this.#try(ask, refused === pageSize ? at : from, refused, toUs);
      if ('answer' in again) return again;
      if (refused > this.#accepted) this.#shrinkTo(size);
      this.#accepted = size;
      return tried;
    }
    // The size is not the reason for the refusals.
    throw first.refusal;
  }

  #shrinkTo(size: number): void {
    this.#size = Math.min(this.#size, size);
    this.#largerAtMs = this.#clock.monotonicMs() + this.#pauseMs;
  }

  async #try<T extends WithId>(
    ask: Ask<T>,
    at: Position,
    pageSize: number,
    toUs: number | undefined,
  ): Promise<ReadPage<T> | { readonly refusal: NestwatchError }> {
    const { page, fromUs } = at;
    const query = { page, pageSize, ascending: true, fromUs, ...(toUs !== undefined && { toUs }) };
    try {
      const answer = await readWhole(ask, query);
      const { items, totalCount, pageSize: given } = answer.value;
      const isFull = items.length === given && items.length < (totalCount ?? 0);
      if (!isFull || given >= pageSize) {
        this.#accepted = Math.max(this.#accepted, pageSize);
        return { answer, at, pageSize };
      }
      this.#shrinkTo(given);
      return { answer, at, pageSize: given };
    } catch (error) {
      if (error instanceof NestwatchError && error.code === 'bad_request') return { refusal: error };
      throw error;
    }
  }
}

/**
 * Reads a page, in parts if it is too large. Every page except the first must be requested in a size that the service
 * uses: with another size its number would mean other entries. Rejects with `too_large` if single entries are not the
 * cause, because every answer is too large.
 */
export async function readWhole<T extends WithId>(ask: Ask<T>, whole: PageQuery): Promise<Answer<Page<T>>> {
  try {
    return await ask(whole);
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    return readParts(ask, whole, error);
  }
}

async function readParts<T extends WithId>(
  ask: Ask<T>,
  whole: PageQuery,
  refusal: NestwatchError,
): Promise<Answer<Page<T>>> {
  /** In page order; undefined for an entry that is too large. */
  const rows: (Parsed<T> | undefined)[] = [];
  let last: Answer<Page<T>> | undefined;
  let isEnd = false;

  function keep(answer: Answer<Page<T>>): void {
    const { totalCount } = answer.value;
    // Entries were deleted meanwhile, so others may have moved into parts that were already read.
    if (totalCount !== null && totalCount < (last?.value.totalCount ?? 0)) throw refusal;
    last = answer;
  }

  async function gather(query: PageQuery): Promise<void> {
    let answer: Answer<Page<T>>;
    try {
      answer = await ask(query);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      return split(query);
    }
    const { items, pageSize } = answer.value;
    if (pageSize !== null && pageSize > 0 && pageSize !== query.pageSize) {
      // The service uses another page size. On the first page only the number of entries differs.
      if (whole.page > 0) throw refusal;
      return split(query);
    }
    keep(answer);
    for (const item of items) rows.push(item);
    isEnd = items.length < query.pageSize;
  }

  async function split(query: PageQuery): Promise<void> {
    if (query.pageSize === 1) return passOver();
    const parts = leastDivisor(query.pageSize);
    for (let part = 0; part < parts && !isEnd; part += 1) {
      await gather({ ...query, page: query.page * parts + part, pageSize: query.pageSize / parts });
    }
  }

  /**
   * Passes over one entry. The entry is only at fault if the service can answer at all, so the following page is
   * requested if no answer has arrived yet.
   */
  async function passOver(): Promise<void> {
    if (!last) keep(await ask({ ...whole, page: whole.page + 1 }));
    rows.push(undefined);
  }

  await split(whole);
  const { page, pageSize } = whole;
  const items = rows.map(
    (row, at): Parsed<T> =>
      row ?? { ok: false, raw: placeOf(rows, at), reason: 'larger than an answer may be' },
  );
  return {
    value: { items, totalCount: last!.value.totalCount, page, pageSize },
    serverTimeUs: last!.serverTimeUs,
  };
}

/** What represents an entry about which nothing is known: usually the same text each time it is found. */
function placeOf<T extends WithId>(rows: readonly (Parsed<T> | undefined)[], at: number): string {
  const idOf = (row: Parsed<T> | undefined) => (row?.ok ? row.entry.id : undefined);
  const after = rows.slice(0, at).findLast((row) => row?.ok);
  const before = rows.slice(at).find((row) => row?.ok);
  return JSON.stringify(after ? { after: idOf(after) } : { before: idOf(before) });
}

function leastDivisor(size: number): number {
  for (let divisor = 2; divisor * divisor <= size; divisor += 1) if (size % divisor === 0) return divisor;
  return size;
}

function isTooLarge(error: unknown): error is NestwatchError {
  return error instanceof NestwatchError && error.code === 'too_large';
}
