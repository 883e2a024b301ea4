/**
 * Examines how one paged stream of the service behaves where the specification is silent: how it compares instants,
 * how large its pages are, and whether its order and counts are true. Only reads.
 */
import { codeOf } from '../../errors.ts';
import type { PageQuery } from '../../service/client.ts';
import type { Page, Parsed } from '../../service/resources.ts';
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

/** A margin around an instant that no bound can reach, however it is compared. */
const AROUND_US = 3_000_000;

/** The readable entries of a page. */
export function entriesOf({ items }: Page<Entry>): readonly Entry[] {
  return readable(items);
}

/** The readable ones of what a list of the service holds. */
export function readable<T>(items: readonly Parsed<T>[]): T[] {
  return items.flatMap((item) => (item.ok ? [item.entry] : []));
}

/** The precision of instants: the finest that any of the entries shows. */
export function shownPrecision(entries: readonly Entry[]): Unit {
  const isWhole = (us: number) => entries.every(({ createdAt }) => createdAt.us % us === 0);
  return isWhole(1_000_000) ? 'second' : isWhole(1_000) ? 'millisecond' : 'microsecond';
}

interface Bounds {
  readonly from: 'inclusive' | 'exclusive';
  readonly to: 'inclusive' | 'exclusive';
  /** The precision to which both sides are truncated before they are compared. */
  readonly compared: Unit;
}

/**
 * Requests windows that end at one entry's instant. `ignored` if windows far from it return it too. Undefined if no
 * entry is suitable: its instant must be known to the microsecond, and no other entry may be near it.
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
  // If instants are truncated to a unit, a bound later in the same unit still shows the entry if inclusive, and an
  // earlier one hides it if exclusive.
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

/** Whether an instant is neither at the edge of a unit nor near another entry. */
function isTelling(us: number, entries: readonly Entry[]): boolean {
  const inMillisecond = us % 1_000;
  const inSecond = us % 1_000_000;
  const isInside = inMillisecond > 0 && inMillisecond < 999 && inSecond > 1_000 && inSecond < 998_999;
  return isInside && entries.filter(({ createdAt }) => Math.abs(createdAt.us - us) < 1_000_000).length === 1;
}

interface PageSizes {
  /** The largest page that was returned. */
  readonly largest: number;
  /** What happens to larger pages; `none` if that was not seen with the tested sizes. */
  readonly beyond: 'none' | 'clamped' | 'refused';
}

/** Requests ever larger pages up to `most`. */
export async function examinePageSize(ask: AskPage, most: number): Promise<PageSizes> {
  const given = async (pageSize: number): Promise<number> => {
    try {
      const asked = { pageSize, ascending: false };
      const { items, pageSize: echoed, totalCount } = await ask({ page: 0, ...asked });
      if (echoed !== null) return echoed;
      if (items.length === 0 || items.length >= pageSize) return pageSize;
      // Without a size and count, only a further page shows that a short one was cut off.
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

interface Counts {
  /** Of the whole stream; null if the service does not say. */
  readonly total: number | null;
  /** Why the count is untrue, in words; undefined if it seems true. */
  readonly untrue: string | undefined;
  readonly isOrdered: boolean;
}

/** Compares the service's count with the entries at both ends of the stream. */
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
    // The newest second or so, which a delayed count does not include yet.
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
