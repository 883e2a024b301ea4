/** Mistakes in how pages follow each other, and in where a sweep begins. */

import { nextPosition, type Position, startOf } from '../../../src/intake/logs/sweep.ts';
import { parseInstant } from '../../../src/time/instant.ts';
import { changed } from '../../store/changed-transaction.ts';
import { fromBy, lookingBack } from './look-back.ts';
import { type PagingRule, pagedBy } from './naive-pager.ts';
import { LAYERS, type Variant } from './variant.ts';
import { dryRun, withAnswer, withHeader, withStore } from './wrap.ts';

/**
 * A mistake in how pages follow each other. The next sweep would read the same once more, and so would the audit, so
 * both are switched off.
 */
function paging(name: string, mistake: string, rule: PagingRule): Variant {
  return { name, mistake, by: 'lost', without: ['audit', 'overlap'], vary: (parts) => pagedBy(parts, rule) };
}

const counted = (position: Position): Position => ({ ...position, page: position.page + 1 });

export const PAGING: readonly Variant[] = [
  paging('short_page_ends', 'A page with fewer entries than were asked for is the last one.', (at, page) =>
    page.count < page.asked ? 'end' : counted(at),
  ),
  paging('offset_paging', 'Pages are counted up from where the sweep began.', (at, page) =>
    at.page * page.pageSize + page.count >= (page.totalCount ?? 0) ? 'end' : counted(at),
  ),
  paging('count_is_believed', 'As many entries as `totalCount` says are all that there are.', (at, page) => {
    if (page.count === 0 || at.page * page.pageSize + page.count >= (page.totalCount ?? 0)) return 'end';
    return nextPosition(at, page);
  }),
  paging(
    'bounds_inclusive',
    'The next page begins at the newest entry of this one: a bound is inclusive, and exact.',
    (at, page) => {
      const next = nextPosition(at, page);
      if (next === 'end' || next.page > 0) return next;
      return startOf(Math.max(at.fromUs, page.instantsUs.at(-1) ?? 0));
    },
  ),
  paging(
    'deletions_unnoticed',
    'Pages are counted on though entries on earlier ones were deleted.',
    (at, page) => nextPosition({ ...at, total: null }, page),
  ),
  paging(
    'dense_instant_skipped',
    'Where one instant fills a page, the sweep goes on behind it.',
    (at, page) => {
      const next = nextPosition(at, page);
      if (next === 'end' || next.page === 0) return next;
      return startOf(Math.max(at.fromUs, page.instantsUs.at(-1) ?? 0) + 1_000_000);
    },
  ),
];

export const CURSORS: readonly Variant[] = [
  {
    name: 'local_clock_cursor',
    mistake: 'A sweep begins at the local time of the one before, less the overlap.',
    by: 'lost',
    vary(parts) {
      const polledUs = new Map<string, number>();
      return fromBy(parts, (fromUs, path) => {
        const sinceUs = polledUs.get(path);
        polledUs.set(path, parts.clock.nowUs());
        return sinceUs === undefined ? fromUs : sinceUs - parts.config.poll.overlapMs * 1000;
      });
    },
  },
  {
    name: 'no_overlap',
    mistake: 'A sweep begins right at the cursor: nothing comes late.',
    by: 'unexplained',
    vary: LAYERS.overlap,
  },
  {
    name: 'no_learned_overlap',
    mistake: 'Sweeps look back as far as they did at first, however late entries come.',
    by: 'unexplained',
    vary: (parts) => lookingBack(parts, (cursorUs) => cursorUs - parts.config.poll.overlapMs * 1000),
  },
  {
    name: 'future_moves_cursor',
    mistake: 'The cursor follows an instant that is still to come.',
    by: 'lost',
    vary: (parts) =>
      withAnswer(parts, (response) => withHeader(response, 'date', 'Fri, 01 Jan 2100 00:00:00 GMT')),
  },
  {
    name: 'cursor_before_commit',
    mistake: 'The cursor is saved first, and what it stands for after it.',
    by: 'lost',
    without: ['audit', 'overlap', 'review'],
    vary: (parts) =>
      withStore(parts, (store) => ({
        async transaction(work) {
          const moves: (readonly [stream: number, cursorUs: number])[] = [];
          await dryRun(store.transaction, work, (tx) =>
            changed(tx, {
              streams: {
                advanceCursor: async (...move) => void moves.push(move),
              },
            }),
          );
          if (moves.length > 0) {
            await store.transaction(async (tx) => {
              for (const [stream, cursorUs] of moves) await tx.streams.advanceCursor(stream, cursorUs);
            });
          }
          return store.transaction(work);
        },
      })),
  },
  {
    name: 'malformed_blocks',
    mistake: 'A page with an entry that cannot be read is no page.',
    by: 'lost',
    vary: (parts) =>
      withAnswer(parts, (response) =>
        /"items":/.test(response.body) && !pageIsPlain(response.body)
          ? { ...response, status: 500 }
          : response,
      ),
  },
];

function pageIsPlain(body: string): boolean {
  try {
    const { items } = JSON.parse(body) as { items: (Record<string, unknown> | null)[] | null };
    return (items ?? []).every((item) => {
      const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
      return (
        typeof item === 'object' && isText(item?.id) && isText(item.createdAt) && parseInstant(item.createdAt)
      );
    });
  } catch {
    return true;
  }
}
