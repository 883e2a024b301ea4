import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ANCHOR_MARGIN_US,
  cursorOf,
  nextPosition,
  type PageView,
  startOf,
} from '../../../src/intake/logs/sweep.ts';

const SECOND_US = 1_000_000;
const RUNS = 150;

interface Entry {
  readonly id: number;
  readonly us: number;
}

interface Rules {
  readonly exclusive: boolean;
  readonly precisionUs: number;
  readonly pageSize: number;
  /** `of_page`: the number of entries on the page. `changing`: one less in every second answer. */
  readonly total: 'exact' | 'zero' | 'absent' | 'stale' | 'of_page' | 'changing';
}

/** The service as the sweep sees it, with rules for what the specification leaves open. */
function page(
  entries: readonly Entry[],
  rules: Rules,
  fromUs: number,
  at: number,
  request: number,
): { ids: number[]; view: PageView } {
  const cut = (us: number) => Math.floor(us / rules.precisionUs);
  const matching = entries
    .filter(({ us }) => (rules.exclusive ? cut(us) > cut(fromUs) : cut(us) >= cut(fromUs)))
    .sort((a, b) => a.us - b.us || a.id - b.id);
  const items = matching.slice(at * rules.pageSize, (at + 1) * rules.pageSize);
  const total = {
    exact: matching.length,
    zero: 0,
    absent: null,
    stale: matching.length + 7,
    of_page: items.length,
    changing: Math.max(0, matching.length - (request % 2)),
  }[rules.total];
  return {
    ids: items.map(({ id }) => id),
    view: {
      count: items.length,
      pageSize: rules.pageSize,
      totalCount: total,
      instantsUs: items.map(({ us }) => us),
      ids: items.map(({ id }) => String(id)),
    },
  };
}

function sweep(
  entries: readonly Entry[],
  rules: Rules,
  fromUs: number,
  between?: (request: number) => Entry[],
) {
  const seen = new Set<number>();
  let present = entries;
  let position = startOf(fromUs);
  for (let requests = 1; requests < 10_000; requests += 1) {
    const { ids, view } = page(present, rules, position.fromUs, position.page, requests);
    for (const id of ids) seen.add(id);
    const next = nextPosition(position, view);
    if (next === 'end') return { seen, requests };
    position = next;
    if (between) present = between(requests);
  }
  throw new Error('the sweep does not end');
}

const anyRules = fc.record({
  exclusive: fc.boolean(),
  precisionUs: fc.constantFrom(1, 1000, SECOND_US),
  pageSize: fc.constantFrom(1, 2, 5, 37, 100),
  total: fc.constantFrom<Rules['total'][]>('exact', 'zero', 'absent', 'stale', 'of_page', 'changing'),
});

/** Instants with many ties: bursts around few seconds. */
const anyEntries = fc
  .array(
    fc.tuple(
      fc.integer({ min: 3, max: 40 }),
      fc.constantFrom(0, 1, 999_999, 400_000),
      fc.integer({ min: 1, max: 60 }),
    ),
    {
      maxLength: 25,
    },
  )
  .map((bursts) =>
    bursts.flatMap(([second, us, count]) =>
      Array.from({ length: count }, () => ({ us: second * SECOND_US + us })),
    ),
  )
  .map((list) => list.map((entry, id) => ({ ...entry, id })));

describe('a sweep', () => {
  test('sees every entry after its start, with any bounds, precision, page size and totals of the service [long]', () => {
    fc.assert(
      fc.property(anyEntries, anyRules, (entries, rules) => {
        // An exclusive bound at whole seconds hides up to a second; sweeps start an overlap before their cursor.
        const { seen } = sweep(entries, rules, 1 * SECOND_US);
        const full = rules.total !== 'zero' ? entries.length : undefined;
        if (full !== undefined) expect(seen.size).toBe(full);
        // A total that is too low can end the sweep only on a page that is not full: everything before that page was
        // seen.
        else expect(seen.size).toBeGreaterThanOrEqual(Math.min(entries.length, rules.pageSize));
      }),
      { numRuns: RUNS },
    );
  });

  test('skips nothing that stays while older entries are deleted between its pages [long]', () => {
    fc.assert(
      fc.property(anyEntries, anyRules, fc.integer({ min: 1, max: 30 }), (entries, rules, perPage) => {
        const sorted = [...entries].sort((a, b) => a.us - b.us || a.id - b.id);
        const exact: Rules = { ...rules, total: 'exact', precisionUs: 1 };
        // Retention deletes the oldest first; what is left at the end must have been seen.
        let gone = 0;
        const { seen } = sweep(entries, exact, 1 * SECOND_US, () => {
          gone += perPage;
          return sorted.slice(gone);
        });
        for (const { id } of sorted.slice(gone)) expect(seen.has(id)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  test('reads a long sparse stream with hardly more requests than pages', () => {
    const entries = Array.from({ length: 10_000 }, (_, id) => ({ id, us: 10 * SECOND_US + id * SECOND_US }));
    const rules: Rules = { exclusive: false, precisionUs: 1, pageSize: 100, total: 'exact' };
    expect(sweep(entries, rules, SECOND_US).requests).toBeLessThanOrEqual(104);
  });

  test('reads a dense stream by counting pages instead of reading its seconds again', () => {
    const entries = Array.from({ length: 10_000 }, (_, id) => ({ id, us: 10 * SECOND_US + id * 10_000 }));
    const rules: Rules = { exclusive: false, precisionUs: 1, pageSize: 100, total: 'exact' };
    expect(sweep(entries, rules, SECOND_US).requests).toBeLessThanOrEqual(110);
  });
});

describe('the next position', () => {
  const view = (count: number, over: Partial<PageView> = {}): PageView => ({
    count,
    pageSize: 3,
    totalCount: 10,
    instantsUs: Array.from({ length: count }, (_, at) => (at + 1) * 5 * SECOND_US),
    ids: [],
    ...over,
  });

  test.each([
    ['an empty page ends it', view(0), 'end'],
    ['a short page whose total says that nothing follows ends it', view(2, { totalCount: 2 }), 'end'],
    ['a short page alone does not end it', view(2), startOf(10 * SECOND_US - ANCHOR_MARGIN_US)],
    [
      'a full page does not end it even when the total says so',
      view(3, { totalCount: 3 }),
      startOf(15 * SECOND_US - ANCHOR_MARGIN_US),
    ],
    [
      'without a total pages are counted up to an empty one',
      view(2, { totalCount: null }),
      { ...startOf(0), page: 1, same: 1 },
    ],
    [
      'a page of unreadable entries is passed by counting',
      view(3, { instantsUs: [] }),
      { ...startOf(0), page: 1, total: 10, same: 1 },
    ],
    [
      'a page out of order makes anchors meaningless',
      view(3, { instantsUs: [9e6, 5e6, 7e6] }),
      { ...startOf(0), page: 1, total: 10, ordered: false, same: 1 },
    ],
  ])('%s', (_, page, expected) => {
    expect(nextPosition(startOf(0), page)).toEqual(expected);
  });

  test('a total that shrank while pages are counted goes back as far as entries can have moved', () => {
    const counting = { ...startOf(0), page: 4, total: 30 };
    const page = { count: 3, pageSize: 3, instantsUs: [20e6, 20e6, 20e6], ids: [] };
    expect(nextPosition(counting, { ...page, totalCount: 26 })).toEqual({ ...counting, page: 2, total: 26 });
    expect(nextPosition(counting, { ...page, totalCount: 1 })).toEqual({ ...counting, page: 0, total: 1 });
    expect(nextPosition(counting, { ...page, count: 0, totalCount: 29 })).toMatchObject({ page: 3 });
  });
});

describe('the cursor', () => {
  test("is the newest instant of the page that is not ahead of the service's clock", () => {
    expect(cursorOf([5, 9, 40, 7], 10)).toBe(9);
  });
  test('does not move for a page without readable instants', () => {
    expect(cursorOf([], 10)).toBe(0);
  });
});
