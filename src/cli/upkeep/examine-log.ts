/** Examines one paged stream: page sizes, instants, bounds, order and counts, and how late entries become visible. Only reads. */
import type { PollConfig } from '../../config/sections/poll-section.ts';
import { durationWords, howMany } from '../../text/duration-words.ts';
import { type Clock, sleep } from '../../time/clock.ts';
import { bad, type Finding, fine, note, unknown } from './examine-finding.ts';
import {
  type AskPage,
  entriesOf,
  examineBounds,
  examineCounts,
  examinePageSize,
  shownPrecision,
} from './examine-stream.ts';

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
