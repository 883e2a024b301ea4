/**
 * What one paged stream of the service does where its specification is silent: how it compares instants, how large its
 * pages are, whether its order and counts are true. It is asked, never told: nothing is written.
 */
import { codeOf } from '../../errors.ts';
import type { PageQuery } from '../../service/client.ts';
import type { Page } from '../../service/resources.ts';
import type { Instant } from '../../time/instant.ts';

interface Entry {
  readonly id: string;
  readonly createdAt: Instant;
}

export type AskPage = (query: PageQuery) => Promise<Page<Entry>>;

const UNITS = [
  ['microsecond', 1],
  ['millisecond', 1_000],
  ['second', 1_000_000],
] as const;
type Unit = (typeof UNITS)[number][0];

/** Room around an instant that no bound, however it is compared, can reach. */
const AROUND_US = 3_000_000;

/** The readable entries of a page. */
export function entriesOf({ items }: Page<Entry>): readonly Entry[] {
  return items.flatMap((item) => (item.ok ? [item.entry] : []));
}

/** To what instants are written: of all entries the most digits that are not zeros. */
export function shownPrecision(entries: readonly Entry[]): Unit {
  const isWhole = (us: number) => entries.every(({ createdAt }) => createdAt.us % us === 0);
  return isWhole(1_000_000) ? 'second' : isWhole(1_000) ? 'millisecond' : 'microsecond';
}

export interface Bounds {
  readonly from: 'inclusive' | 'exclusive';
  readonly to: 'inclusive' | 'exclusive';
  /** To what both sides are cut before they are compared. */
  readonly compared: Unit;
}

/**
 * Asks for windows that end at one entry's instant. `ignored` where windows far from it show it too. Undefined where no
 * entry can tell: its instant must be known to the microsecond, and be alone.
 */
export async function examineBounds(
  ask: AskPage,
  pageSize: number,
  entries: readonly Entry[],
): Promise<Bounds | 'ignored' | undefined> {
  const telling = entries.find(({ createdAt: { us } }) => isTelling(us, entries));
  if (!telling) return undefined;
  const { id, createdAt } = telling;
  const has = async (fromUs: number, toUs: number) =>
    entriesOf(await ask({ page: 0, pageSize, ascending: true, fromUs, toUs })).some((one) => one.id === id);
  const { us } = createdAt;
  if ((await has(us - 2 * AROUND_US, us - AROUND_US)) || (await has(us + AROUND_US, us + 2 * AROUND_US))) {
    return 'ignored';
  }
  const from = (await has(us, us + AROUND_US)) ? 'inclusive' : 'exclusive';
  const to = (await has(us - AROUND_US, us)) ? 'inclusive' : 'exclusive';
  // Within one unit an inclusive bound still shows the entry, and an exclusive one hides it, though it is past it.
  let compared: Unit = 'microsecond';
  for (const [unit, unitUs] of UNITS.slice(1)) {
    const begin = Math.floor(us / unitUs) * unitUs;
    const isCut =
      from === 'inclusive'
        ? await has(begin + unitUs - 1, us + AROUND_US)
        : !(await has(begin, us + AROUND_US));
    if (isCut) compared = unit;
  }
  return { from, to, compared };
}

/** Neither at the edge of a unit nor near another entry. */
function isTelling(us: number, entries: readonly Entry[]): boolean {
  const inMillisecond = us % 1_000;
  const inSecond = us % 1_000_000;
  const isInside = inMillisecond > 0 && inMillisecond < 999 && inSecond > 1_000 && inSecond < 998_999;
  return isInside && entries.filter(({ createdAt }) => Math.abs(createdAt.us - us) < 1_000_000).length === 1;
}

export interface PageSizes {
  /** The largest page that was given. */
  readonly largest: number;
  /** What happens to one that is larger; `none` where none of this size was seen to be. */
  readonly beyond: 'none' | 'clamped' | 'refused';
}

/** Asks for ever larger pages up to `most`. */
export async function examinePageSize(ask: AskPage, most: number): Promise<PageSizes> {
  const given = async (pageSize: number): Promise<number> => {
    try {
      const asked = { pageSize, ascending: false };
      const { items, pageSize: echoed, totalCount } = await ask({ page: 0, ...asked });
      if (echoed !== null) return echoed;
      if (items.length === 0 || items.length >= pageSize) return pageSize;
      // Without size and count only what stands behind a short page tells that it was cut.
      const isCut =
        totalCount === null ? (await ask({ page: 1, ...asked })).items.length > 0 : totalCount > items.length;
      return isCut ? items.length : pageSize;
    } catch (error) {
      if (codeOf(error) === 'bad_request' || codeOf(error) === 'too_large') return 0;
      throw error;
    }
  };
  const largest = await given(most);
  if (largest >= most) return { largest: most, beyond: 'none' };
  if (largest > 0) return { largest, beyond: 'clamped' };
  let [low, high] = [1, most];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if ((await given(middle)) >= middle) low = middle;
    else high = middle;
  }
  return { largest: low, beyond: 'refused' };
}

export interface Counts {
  /** Of the whole stream; null where the service gives none. */
  readonly total: number | null;
  /** Why it is untrue, in words; undefined where nothing says so. */
  readonly untrue: string | undefined;
  readonly isOrdered: boolean;
}

/** Compares the service's count with the entries that it shows, at both ends of the stream. */
export async function examineCounts(ask: AskPage, pageSize: number): Promise<Counts> {
  const newest = await ask({ page: 0, pageSize, ascending: false });
  const oldest = await ask({ page: 0, pageSize, ascending: true });
  const isOrdered = isSorted(oldest, 1) && isSorted(newest, -1);
  const total = newest.totalCount;
  if (total === null) return { total, untrue: undefined, isOrdered };
  const untrue = await (async () => {
    if (newest.items.length > total) return `it says ${total} and shows ${newest.items.length}`;
    const behind = Math.ceil(total / pageSize);
    const beyond = await ask({ page: behind, pageSize, ascending: false });
    if (beyond.items.length > 0) return `it says ${total}, and there are more behind them`;
    // The newest second or so: a count that lags has not heard of them yet.
    const last = entriesOf(newest)[0];
    if (!last) return undefined;
    const fromUs = last.createdAt.us - AROUND_US;
    const few = await ask({ page: 0, pageSize, ascending: true, fromUs });
    if (few.totalCount !== null && few.items.length > few.totalCount) {
      return `of the newest it says ${few.totalCount} and shows ${few.items.length}`;
    }
    return undefined;
  })();
  return { total, untrue, isOrdered };
}

function isSorted(page: Page<Entry>, sign: 1 | -1): boolean {
  const instants = entriesOf(page).map(({ createdAt }) => createdAt.us);
  return instants.every((us, at) => at === 0 || sign * (us - instants[at - 1]!) >= 0);
}
