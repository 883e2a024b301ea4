/**
 * Reads a page whose answer is too large to receive as several smaller pages with the same entries, down to one entry
 * each. An entry that is too large by itself appears in the page as malformed. So it is set aside and reported, and
 * everything after it is read.
 */
import { NestwatchError } from '../../errors.ts';
import type { Answer, PageQuery } from '../../service/client.ts';
import type { Page, Parsed } from '../../service/resources.ts';

type ReadPage<T> = (query: PageQuery) => Promise<Answer<Page<T>>>;

/**
 * Every page except the first must be requested in a size that the service uses: with another size its number would
 * mean other entries. Rejects with `too_large` if single entries are not the cause, because every answer is too
 * large.
 */
export async function readInParts<T extends { readonly id: string }>(
  read: ReadPage<T>,
  whole: PageQuery,
): Promise<Answer<Page<T>>> {
  try {
    return await read(whole);
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    return gatherParts(read, whole, error);
  }
}

async function gatherParts<T extends { readonly id: string }>(
  read: ReadPage<T>,
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
      answer = await read(query);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      return split(query);
    }
    const { items, pageSize } = answer.value;
    // The service uses another page size, so the parts hold other entries.
    if (pageSize !== null && pageSize > 0 && pageSize !== query.pageSize) throw refusal;
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
    if (!last) keep(await read({ ...whole, page: whole.page + 1 }));
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
function placeOf<T extends { readonly id: string }>(
  rows: readonly (Parsed<T> | undefined)[],
  at: number,
): string {
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
