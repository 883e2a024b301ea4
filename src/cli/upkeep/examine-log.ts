/**
 * Examines how one paged stream of the service behaves where the specification is silent: how large its pages are, how it
 * compares instants, whether its order and counts are true, and how late entries become visible. Only reads.
 */
import type { PollConfig } from '../../config/sections/poll-section.ts';
import { codeOf } from '../../errors.ts';
import type { PageQuery } from '../../service/client.ts';
import type { Page, Parsed } from '../../service/resources.ts';
import { durationWords, howMany } from '../../text/instant-words.ts';
import { type Clock, sleep } from '../../time/clock.ts';
import type { Instant } from '../../time/instant.ts';
import { bad, type Finding, fine, note, unknown } from './examine-finding.ts';

/** A stream as messages name it, and how to ask for its pages. */
export interface NamedStream {
  readonly name: string;
  readonly ask: AskPage;
}

/** The largest page size that is tested. */
const LARGEST_PAGE = 1_000;

/** How often new entries are looked for, and the page size used. Every service accepts pages of that size. */
const LOOK_MS = 1_000;
const LOOKED_AT = 10;

export async function* examineLog({ ask, name }: NamedStream, poll: PollConfig): AsyncGenerator<Finding> {
  const sizes = await examinePageSize(ask, LARGEST_PAGE);
  const wanted = `poll.page_size is ${poll.pageSize}; a smaller one is used once it is refused`;
  const beyond =
    sizes.beyond === 'none'
      ? `pages of ${sizes.largest} are returned`
      : `pages of up to ${sizes.largest} are returned, larger ones are ${sizes.beyond}`;
  yield sizes.largest >= poll.pageSize
    ? fine('page_size', beyond, wanted)
    : note('page_size', beyond, wanted, `Set poll.page_size: ${sizes.largest}.`);

  const pageSize = Math.min(poll.pageSize, sizes.largest);
  const entries = entriesOf(await ask({ page: 0, pageSize, ascending: false }));
  if (entries.length === 0) {
    yield unknown('bounds', 'no stream has an entry yet', 'any bounds and any precision will do');
    return;
  }
  const precision = shownPrecision(entries);
  yield fine(
    'precision',
    `instants are shown to the ${precision} (${name})`,
    'they are kept as they are shown',
  );
  const bounds = await examineBounds(ask, pageSize, entries);
  const anyBounds = 'sweeps begin 1.1 s earlier, so any bounds and any precision will do';
  if (bounds === 'ignored') {
    yield bad(
      'bounds',
      `from and to are ignored (${name})`,
      anyBounds,
      'Report it to the service: what is new cannot be asked for.',
    );
  } else if (bounds) {
    const both =
      bounds.from === bounds.to
        ? `both bounds are ${bounds.from}`
        : `from is ${bounds.from}, to is ${bounds.to}`;
    yield fine('bounds', `${both}, compared to the ${bounds.compared}`, anyBounds);
  } else {
    yield unknown('bounds', `no entry of the ${name} can tell: none is alone within its second`, anyBounds);
  }
  const { total, untrue, isOrdered } = await examineCounts(ask, pageSize);
  yield isOrdered
    ? fine('order', 'pages are in the order that is asked for', 'ascending pages are in order')
    : note(
        'order',
        'pages are not in order',
        'ascending pages are in order',
        'Nothing: pages are then counted up.',
      );
  const audits = 'audits compare counts; where they are untrue, they read the entries';
  if (total === null)
    yield note('total_count', 'no totalCount is given', audits, 'Nothing: audits cost more requests.');
  else if (untrue)
    yield note(
      'total_count',
      `totalCount is untrue: ${untrue}`,
      audits,
      'Nothing: audits cost more requests.',
    );
  else yield fine('total_count', `totalCount is true (${total} of the ${name})`, audits);
}

/** Looks for new entries for a while, and measures how long after its instant each becomes visible. */
export async function* examineDelay(
  { ask }: NamedStream,
  clock: Clock,
  { watchMs, poll }: { readonly watchMs: number; readonly poll: PollConfig },
): AsyncGenerator<Finding> {
  const look = async () => entriesOf(await ask({ page: 0, pageSize: LOOKED_AT, ascending: false }));
  const assumed = `each sweep looks ${durationWords(poll.overlapMs, 'exact')} back (poll.overlap), more once entries come later`;
  const known = new Set((await look()).map(({ id }) => id));
  const beganUs = clock.nowUs();
  let longestMs = 0;
  let fresh = 0;
  for (const endMs = clock.monotonicMs() + watchMs; clock.monotonicMs() < endMs; ) {
    await sleep(clock, LOOK_MS);
    for (const { id, createdAt } of await look()) {
      if (known.has(id)) continue;
      known.add(id);
      fresh += 1;
      longestMs = Math.max(longestMs, (clock.nowUs() - createdAt.us) / 1000);
    }
  }
  const during = durationWords((clock.nowUs() - beganUs) / 1000, 'one unit');
  if (fresh === 0) {
    yield unknown('visible_delay', `no new entry within ${during}`, assumed);
    return;
  }
  const found = `${howMany(fresh, 'new entry', 'new entries')} within ${during}, seen after ${durationWords(Math.max(0, longestMs), 'one unit')} at the latest`;
  yield longestMs <= poll.overlapMs
    ? fine('visible_delay', found, assumed)
    : note(
        'visible_delay',
        found,
        assumed,
        `Set poll.overlap to more than ${durationWords(longestMs, 'one unit')}.`,
      );
}

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
function entriesOf({ items }: Page<Entry>): readonly Entry[] {
  return readable(items);
}

/** The readable ones of what a list of the service holds. */
export function readable<T>(items: readonly Parsed<T>[]): T[] {
  return items.flatMap((item) => (item.ok ? [item.entry] : []));
}

/** The precision of instants: the finest that any of the entries shows. */
function shownPrecision(entries: readonly Entry[]): Unit {
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
async function examineBounds(
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
async function examineCounts(ask: AskPage, pageSize: number): Promise<Counts> {
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
