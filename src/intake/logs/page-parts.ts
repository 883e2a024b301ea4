/**
 * Reads a page of which the answer is too large to be received in smaller pages of the same entries, down to one entry
 * each. An entry that is too large on its own stands in the page as one that cannot be read, so that it is set aside
 * and reported, and whatever follows it is read.
 */
import { NestwatchError } from '../../errors.ts';
import type { Answer, PageQuery } from '../../service/client.ts';
import type { Page, Parsed } from '../../service/resources.ts';

type ReadPage<T> = (query: PageQuery) => Promise<Answer<Page<T>>>;

/**
 * A page but the first has to be asked for in a size that the service gives: in another one its number is that of
 * other entries. Rejects with `too_large` where that is no matter of single entries: all that the service answers is
 * too large.
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
  /** In the order of the page; undefined for an entry that is too large. */
  const rows: (Parsed<T> | undefined)[] = [];
  let last: Answer<Page<T>> | undefined;
  let isEnd = false;

  function keep(answer: Answer<Page<T>>): void {
    const { totalCount } = answer.value;
    // Entries were deleted meanwhile: others may have moved onto parts that were read already.
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
    // In pages of another size there are other entries.
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

  /** It is the entry that is too large only where the service answers at all: if need be it is asked for what follows. */
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

/** What stands for an entry of which nothing is known: mostly the same words each time that it is met. */
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
