import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Audit, type AuditOptions, type AuditOutcome } from '../../../src/intake/audit/audit.ts';
import type { Window } from '../../../src/intake/audit/audit-window.ts';
import type { LogEntry } from '../../../src/intake/logs/sweep.ts';
import type { PageQuery } from '../../../src/service/client.ts';
import type { Page, Parsed } from '../../../src/service/resources.ts';

const SECOND_US = 1_000_000;
const HOUR_US = 3_600 * SECOND_US;
const WINDOW: Window = { fromUs: 100 * HOUR_US, toUs: 104 * HOUR_US };

interface Entry {
  readonly id: string;
  readonly us: number;
  /** Counted, but on no page. */
  readonly isHidden?: boolean;
  readonly isMalformed?: boolean;
}

/** What the specification leaves open, and how counts may be wrong. */
interface Rules {
  readonly exclusive: boolean;
  readonly precisionUs: number;
  readonly maxPageSize: number;
  /** Every page holds everything. */
  readonly ignoresPages?: boolean;
  readonly total: (true_: number, all: number, shown: number) => number | null;
}

const PLAIN: Rules = { exclusive: false, precisionUs: 1, maxPageSize: 1000, total: (count) => count };

const WHOLE = {
  window: WINDOW,
  isDense: false,
  knownGaps: [],
  countedUntilUs: WINDOW.toUs,
  isCountTrue: true,
};

/** A service and a store that differ, and the audit's access to both. */
function world(service: Entry[], stored: readonly Entry[], rules: Rules = PLAIN, pageSize = 10) {
  const store = new Map(stored.map((entry) => [entry.id, entry.us]));
  const queries: PageQuery[] = [];
  const inStore = ({ fromUs, toUs }: Window) =>
    [...store].filter(([, us]) => us >= fromUs && us < toUs).sort((a, b) => a[1] - b[1]);

  function page(query: PageQuery): Page<LogEntry> {
    queries.push(query);
    if (queries.length > 20_000) throw new Error('the audit does not end');
    const cut = (us: number) => Math.floor(us / rules.precisionUs);
    const [from, to] = [cut(query.fromUs!), cut(query.toUs!)];
    const matching = service
      .filter(({ us }) =>
        rules.exclusive ? cut(us) > from && cut(us) < to : cut(us) >= from && cut(us) <= to,
      )
      .sort((a, b) => a.us - b.us);
    const size = Math.min(query.pageSize, rules.maxPageSize);
    const onPage = rules.ignoresPages ? matching : matching.slice(query.page * size, (query.page + 1) * size);
    const shown = onPage.filter((one) => !one.isHidden);
    return {
      items: shown.map(({ id, us, isMalformed }): Parsed<LogEntry> => {
        if (isMalformed) return { ok: false, raw: id, reason: 'no usable id' };
        return { ok: true, entry: { id, createdAt: { us, text: '' } } };
      }),
      totalCount: rules.total(matching.length, service.length, shown.length),
      page: query.page,
      pageSize: size,
    };
  }

  const stream = {
    ask: async (query: PageQuery) => page(query),
    count: async (window: Window) => inStore(window).length,
    entries: async (window: Window) => inStore(window).map(([id, occurredAtUs]) => ({ id, occurredAtUs })),
    async keep(items: readonly Parsed<LogEntry>[]) {
      const before = store.size;
      for (const item of items) if (item.ok) store.set(item.entry.id, item.entry.createdAt.us);
      return store.size - before;
    },
    pageSize: () => pageSize,
  };
  return { store, service, stream, queries };
}

async function run(
  { stream, queries }: ReturnType<typeof world>,
  options: Partial<AuditOptions> = {},
): Promise<AuditOutcome & { readonly requests: number }> {
  const audit = new Audit(stream, { ...WHOLE, ...options });
  const before = queries.length;
  let requests = 0;
  for (let steps = 0; !audit.outcome(); steps += 1) {
    if (steps > 20_000) throw new Error('the audit does not end');
    requests += await audit.step();
  }
  expect(requests).toBe(queries.length - before);
  return { ...audit.outcome()!, requests };
}

/** This many entries, spread evenly over the window. */
function evenly(count: number): Entry[] {
  const stepUs = Math.floor((WINDOW.toUs - WINDOW.fromUs) / (count + 1));
  return Array.from({ length: count }, (_, at) => ({ id: `e${at}`, us: WINDOW.fromUs + (at + 1) * stepUs }));
}

const without = (entries: readonly Entry[], ...gone: readonly number[]) =>
  entries.filter((_, at) => !gone.includes(at));

describe('a service that ignores page numbers is read to its end', () => {
  const dense = Array.from({ length: 25 }, (_, at) => ({ id: `d${at}`, us: WINDOW.fromUs + HOUR_US + at }));

  test.each([
    ['trusted counts', evenly(25), {}],
    ['trusted counts of a dense second', dense, {}],
    ['counts that are not trusted', evenly(25), { isCountTrue: false }],
    ['counts of a dense second that are not trusted', dense, { isCountTrue: false }],
  ])('with %s', async (_, all, options) => {
    const one = world(all, without(all, 3, 20), { ...PLAIN, ignoresPages: true });
    expect(await run(one, options)).toMatchObject({ recovered: 2, gaps: [] });
    expect(one.queries.length).toBeLessThan(60);
  });
});

describe('the requests of an audit', () => {
  test('an empty window, and one of less than a page, cost one', async () => {
    expect(await run(world([], []))).toMatchObject({ requests: 1, recovered: 0, isDeleted: false });
    expect(await run(world(evenly(9), evenly(9)))).toMatchObject({ requests: 1, recovered: 0 });
  });

  test('a window of many pages whose counts agree costs one, for one entry', async () => {
    const one = world(evenly(1000), evenly(1000));
    expect(await run(one)).toMatchObject({ requests: 1, recovered: 0, gaps: [] });
    expect(one.queries).toEqual([{ page: 0, pageSize: 1, ascending: true, ...WINDOW }]);
  });

  test('one missing entry among a thousand is found by halving, not by reading all of them', async () => {
    const all = evenly(1000);
    const one = world(all, without(all, 700));
    const { requests, ...outcome } = await run(one);
    expect(outcome).toEqual({ gaps: [], recovered: 1, isDeleted: false, isCountTrue: true });
    expect(one.store.has('e700')).toBe(true);
    expect(requests).toBeLessThan(20);
  });

  test('an entry missing on a page that is requested anyway costs nothing', async () => {
    const all = evenly(8);
    expect(await run(world(all, without(all, 2, 5)))).toMatchObject({ requests: 1, recovered: 2 });
  });
});

describe('entries that the service deleted', () => {
  test('are neither gaps nor recovered, and are noticed', async () => {
    const all = evenly(100);
    const outcome = await run(world(without(all, 40), all));
    expect(outcome).toMatchObject({ gaps: [], recovered: 0, isDeleted: true, isCountTrue: true });
  });

  test('that are the oldest ones have expired, which costs only one more look at the store', async () => {
    const all = evenly(100);
    const outcome = await run(world(all.slice(30), all));
    expect(outcome).toMatchObject({ requests: 1, recovered: 0, isDeleted: false });
    const few = evenly(9);
    expect(await run(world(few.slice(3), few))).toMatchObject({ isDeleted: false });
    expect(await run(world([], few))).toMatchObject({ isDeleted: false });
  });

  test('that expire one after another during the audit leave its counts true', async () => {
    const all = evenly(1000);
    const odd = all.toSpliced(700, 1, { ...all[700]!, isMalformed: true });
    for (const everyRequests of [1, 2, 5]) {
      const one = world(odd.slice(), without(all, 700));
      const { ask } = one.stream;
      one.stream.ask = async (query) => {
        const answer = await ask(query);
        if (one.queries.length % everyRequests === 0) one.service.shift();
        return answer;
      };
      const { requests, ...outcome } = await run(one);
      expect(outcome).toEqual({ gaps: [], recovered: 0, isDeleted: false, isCountTrue: true });
      expect(requests).toBeLessThan(25);
    }
  });

  test('that expired all together during the audit leave its counts true', async () => {
    const all = evenly(40);
    const one = world(all.slice(), without(all, 39));
    const { ask } = one.stream;
    one.stream.ask = async (query) => {
      const answer = await ask(query);
      if (answer.items.some((item) => item.ok && item.entry.id === 'e39')) one.service.splice(0);
      return answer;
    };
    expect(await run(one)).toMatchObject({ gaps: [], recovered: 1, isDeleted: false, isCountTrue: true });
  });

  test('hide as many missing ones from counts, but none from pages', async () => {
    const all = evenly(100);
    const pair = () => world(without(all, 20), without(all, 70));
    expect(await run(pair())).toMatchObject({ requests: 1, recovered: 0 });
    expect(await run(pair(), { countedUntilUs: 0 })).toMatchObject({ recovered: 1, isDeleted: true });
    const few = evenly(9);
    expect(await run(world(without(few, 2), without(few, 7)))).toMatchObject({ requests: 1, recovered: 1 });
  });

  test('are noticed if everything is read, which costs one request more for each page of it', async () => {
    const all = evenly(100);
    const countedUntilUs = WINDOW.toUs - 0.155 * (WINDOW.toUs - WINDOW.fromUs);
    const inNews = await run(world(without(all, 90), without(all, 95)), { countedUntilUs });
    expect(inNews).toMatchObject({ gaps: [], recovered: 1, isDeleted: true });
    expect(inNews.requests).toBeLessThanOrEqual(5);
    expect(await run(world(all, all), { countedUntilUs })).toMatchObject({ recovered: 0, isDeleted: false });
    const gap = { fromUs: countedUntilUs - HOUR_US, toUs: countedUntilUs - HOUR_US / 2 };
    const inGap = await run(world(all, without(all, 60, 70, 95)), { countedUntilUs, knownGaps: [gap] });
    expect(inGap).toMatchObject({ gaps: [], recovered: 3 });
  });
});

describe('gaps', () => {
  const hidden = (entries: readonly Entry[], at: number) =>
    entries.map((entry, index) => (index === at ? { ...entry, isHidden: true } : entry));

  test.each([5, 500])(
    'one of %d entries that is counted but not returned is narrowed down',
    async (count) => {
      const all = evenly(count);
      const at = Math.floor(count / 3);
      const { gaps, isCountTrue, recovered } = await run(world(hidden(all, at), without(all, at)));
      expect({ isCountTrue, recovered }).toEqual({ isCountTrue: true, recovered: 0 });
      expect(gaps).toHaveLength(1);
      expect(gaps[0]!.missing).toBe(1);
      expect(gaps[0]!.fromUs).toBeLessThanOrEqual(all[at]!.us);
      expect(gaps[0]!.toUs).toBeGreaterThan(all[at]!.us);
      expect(gaps[0]!.toUs - gaps[0]!.fromUs).toBeLessThanOrEqual(HOUR_US / 4);
    },
  );

  test('that are known are checked first, with two requests, and heal', async () => {
    const all = evenly(500);
    const stored = without(all, 100);
    const { gaps } = await run(world(hidden(all, 100), stored));
    const again = await run(world(hidden(all, 100), stored), { knownGaps: gaps });
    expect(again.gaps).toEqual(gaps);
    // One count each before and after it; within it, its page and the proof that no further page follows.
    expect(again.requests).toBeLessThanOrEqual(6);
    const healed = await run(world(all, stored), { knownGaps: gaps });
    expect(healed).toMatchObject({ gaps: [], recovered: 1 });
  });

  test('that are known may come in any order, and each is its own part', async () => {
    const all = evenly(500);
    const hiddenAll = hidden(hidden(all, 100), 400);
    const gapAt = (at: number) => ({
      fromUs: all[at - 1]!.us + SECOND_US * 10,
      toUs: all[at]!.us + SECOND_US * 10,
    });
    const knownGaps = [gapAt(400), gapAt(100)];
    const { gaps } = await run(world(hiddenAll, without(all, 100, 400)), { knownGaps });
    expect(gaps).toEqual([
      { ...gapAt(100), missing: 1 },
      { ...gapAt(400), missing: 1 },
    ]);
  });

  test('a malformed entry and one that is listed twice are counted and are not gaps', async () => {
    const all = evenly(50);
    const odd = [...all, { id: '{}', us: all[20]!.us + SECOND_US, isMalformed: true }, all[30]!];
    for (const maxPageSize of [1000, 3]) {
      const outcome = await run(world(odd, all, { ...PLAIN, maxPageSize }));
      expect(outcome).toMatchObject({ gaps: [], recovered: 0, isCountTrue: true });
    }
  });
});

describe('wrong counts', () => {
  const lies: [string, Rules['total']][] = [
    ['a cap', (count) => Math.min(count, 7)],
    ['a cap of a page', (count) => Math.min(count, 10)],
    ['a cap of many pages', (count) => Math.min(count, 60)],
    ['those of the page', (_, __, shown) => shown],
    ['one too many', (count) => count + 1],
    ['one too few', (count) => Math.max(0, count - 1)],
    ['always none', () => 0],
    ['of all there is', (_, all) => all],
    ['absent', () => null],
  ];
  test.each(lies)('%s: are detected, and everything is read', async (_, total) => {
    const all = evenly(200);
    const one = world(all, without(all, 3, 77, 199), { ...PLAIN, total });
    const outcome = await run(one);
    expect(outcome).toMatchObject({ gaps: [], recovered: 3, isCountTrue: false });
    // Once in the life of a stream; from then on it is read.
    expect(outcome.requests).toBeLessThan(500);
  });

  test.each([10, 11, 12, 20, 21])(
    'that end where a page ends are detected in a window of %d entries',
    async (count) => {
      const all = evenly(count);
      const total = (_: number, __: number, shown: number) => shown;
      for (const lies of [total, (one: number) => Math.min(one, 10)]) {
        const one = world(all, without(all, count - 1), { ...PLAIN, total: lies });
        expect(await run(one)).toMatchObject({ gaps: [], recovered: 1, isDeleted: false });
      }
    },
  );

  test('that were detected before are not requested again', async () => {
    const all = evenly(200);
    const outcome = await run(world(all, without(all, 3), { ...PLAIN, total: () => 0 }), {
      isCountTrue: false,
    });
    expect(outcome).toMatchObject({ recovered: 1, isCountTrue: false });
    // 20 pages, a few more because one begins before the previous one ends, and two that show the end.
    expect(outcome.requests).toBeLessThanOrEqual(25);
  });

  test.each([1, -1])('counts that are wrong by %d for one request get another chance', async (by) => {
    const all = evenly(200);
    // If the count were one too low at first, it would equal what the store has.
    for (let wrong = by > 0 ? 1 : 2; wrong <= 20; wrong += 1) {
      let asked = 0;
      const total = (count: number) => {
        asked += 1;
        return asked === wrong ? count + by : count;
      };
      const outcome = await run(world(all, without(all, 50), { ...PLAIN, total }));
      expect(outcome).toMatchObject({ gaps: [], recovered: 1, isCountTrue: true });
    }
  });

  test('are doubted in one part while the others wait: nothing of those is skipped', async () => {
    const all = evenly(100);
    const gap = { fromUs: WINDOW.fromUs, toUs: WINDOW.fromUs + 600 * SECOND_US };
    const one = world(all, without(all, 2, 70), { ...PLAIN, total: () => null });
    const outcome = await run(one, { knownGaps: [gap] });
    expect(outcome).toMatchObject({ gaps: [], recovered: 2, isCountTrue: false });
  });

  test('are not waited for if a later page comes without one: the part is started again', async () => {
    const all = evenly(5).map((entry, at) => (at === 2 ? { ...entry, isHidden: true } : entry));
    let asked = 0;
    const total = (count: number) => (++asked === 2 ? null : count);
    const one = world(all, without(all, 2), { ...PLAIN, total });
    const outcome = await run(one);
    expect(outcome).toMatchObject({ gaps: [{ missing: 1 }], isCountTrue: true });
    // The whole and its page as before; only then the page that shows that nothing follows.
    expect(one.queries.slice(0, 5).map(({ page }) => page)).toEqual([0, 0, 0, 0, 1]);
  });

  test('cause no gaps, neither in a short window nor from what was taken for one', async () => {
    const total = (count: number) => count + 1;
    const window = { fromUs: WINDOW.fromUs, toUs: WINDOW.fromUs + 600 * SECOND_US };
    const short = await run(world([], [], { ...PLAIN, total }), { window });
    expect(short).toMatchObject({ gaps: [], isCountTrue: false });
    const all = evenly(100);
    const known = await run(world(all, all, { ...PLAIN, total }), { knownGaps: [window] });
    expect(known).toMatchObject({ gaps: [], isCountTrue: false });
  });
});

describe('an edge between pieces', () => {
  const exclusive: Rules = { ...PLAIN, exclusive: true, precisionUs: SECOND_US };

  test('is moved if an unknown entry was exactly on it', async () => {
    const middle = { id: 'middle', us: (WINDOW.fromUs + WINDOW.toUs) / 2 };
    const all = evenly(100);
    const outcome = await run(world([...all, middle], all, exclusive));
    expect(outcome).toMatchObject({ gaps: [], recovered: 1, isCountTrue: true });
  });

  test('hides nothing if entries are too dense for a quiet one, and does not make the count wrong', async () => {
    const middleUs = (WINDOW.fromUs + WINDOW.toUs) / 2;
    const dense = Array.from({ length: 3_000 }, (_, at) => ({
      id: `d${at}`,
      us: middleUs + (at - 1_500) * 700_000,
    }));
    const stored = dense.filter((_, at) => at % 3 > 0);
    const one = world(dense, stored, exclusive);
    expect(await run(one)).toMatchObject({ gaps: [], recovered: 1_000, isCountTrue: true });
    expect(one.store.size).toBe(3_000);
  });
});

test('a failed request loses nothing: the piece is processed again', async () => {
  const all = evenly(300);
  const one = world(all, without(all, 10, 150, 290));
  const ask = one.stream.ask;
  let calls = 0;
  one.stream.ask = async (query) => {
    calls += 1;
    if (calls % 3 === 0) throw new Error('unreachable');
    return ask(query);
  };
  const audit = new Audit(one.stream, WHOLE);
  for (let steps = 0; !audit.outcome() && steps < 1000; steps += 1) await audit.step().catch(() => {});
  expect(audit.outcome()).toEqual({ gaps: [], recovered: 3, isDeleted: false, isCountTrue: true });
});

describe('with any bounds, precision, page sizes, ties and deletions', () => {
  const anyRules = fc.record({
    exclusive: fc.boolean(),
    precisionUs: fc.constantFrom(1, 1000, SECOND_US),
    maxPageSize: fc.constantFrom(3, 7, 1000),
  });
  const anyBurst = fc.tuple(
    fc.integer({ min: 3, max: 14_396 }),
    fc.constantFrom(0, 1, 999_999),
    fc.integer({ min: 1, max: 30 }),
  );
  /** Bursts with ties, away from the edges of the window: an entry at an edge belongs to the next audit. */
  const anyEntries = fc
    .array(anyBurst, { maxLength: 30 })
    .map((bursts) =>
      bursts.flatMap(([second, us, count]) =>
        Array.from({ length: count }, () => WINDOW.fromUs + second * SECOND_US + us),
      ),
    )
    .map((instants) => instants.map((us, at): Entry => ({ id: `e${at}`, us })));
  const anyLoss = fc.array(fc.nat({ max: 900 }), { maxLength: 12, size: 'max' });

  test('an audit that reads pages finds everything [long]', async () => {
    await fc.assert(
      fc.asyncProperty(anyEntries, anyRules, anyLoss, anyLoss, async (all, rules, missing, deleted) => {
        const one = world(without(all, ...deleted), without(all, ...missing), { ...PLAIN, ...rules });
        const outcome = await run(one, { countedUntilUs: 0 });
        expect(one.service.filter(({ id }) => !one.store.has(id))).toEqual([]);
        expect(outcome.gaps).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  test('an audit by counts finds everything if nothing is deleted [long]', async () => {
    await fc.assert(
      fc.asyncProperty(anyEntries, anyRules, anyLoss, async (all, rules, missing) => {
        const one = world(all, without(all, ...missing), { ...PLAIN, ...rules });
        const outcome = await run(one);
        expect(one.service.filter(({ id }) => !one.store.has(id))).toEqual([]);
        expect(outcome).toMatchObject({ gaps: [], isDeleted: false });
      }),
      { numRuns: 150 },
    );
  });
});

/** Like `world`, with a service that does not say how large its pages are. */
function silent(service: Entry[], stored: readonly Entry[]) {
  const one = world(service, stored);
  const ask = async (query: PageQuery) => ({ ...(await one.stream.ask(query)), pageSize: null });
  return { ...one, stream: { ...one.stream, ask } };
}

test('an audit takes one request if a page that does not say its size lists fewer entries than asked for', async () => {
  const all = evenly(5);
  const one = silent(all, all);
  await run(one);
  expect(one.queries).toHaveLength(1);
});

describe('an audit whose counts are not trusted', () => {
  test('reads the window to its end, past malformed entries, even if pages have no size', async () => {
    const all = evenly(35).map((entry, at) => ({ ...entry, isMalformed: at === 3 }));
    const one = silent(all, without(all, 3, 20));
    expect(await run(one, { isCountTrue: false })).toMatchObject({ recovered: 1, gaps: [] });
  });

  test('that is over makes no further requests', async () => {
    const { stream, queries } = world([], []);
    const audit = new Audit(stream, WHOLE);
    await audit.step();
    expect([await audit.step(), queries.length]).toEqual([0, 1]);
  });

  test('requests nothing after a known gap that reaches to the end of the window', async () => {
    const gap = { fromUs: WINDOW.toUs - HOUR_US, toUs: WINDOW.toUs };
    const one = world([], []);
    await run(one, { knownGaps: [gap] });
    expect(one.queries.map(({ fromUs, toUs }) => [fromUs, toUs])).toEqual([
      [WINDOW.fromUs, gap.fromUs],
      [gap.fromUs, gap.toUs],
    ]);
  });

  test('begins with the first entry, even if that cannot be read', async () => {
    const all = evenly(40).map((entry, at) => ({ ...entry, isMalformed: at === 0 }));
    expect(await run(world(all, all))).toMatchObject({ gaps: [], recovered: 0, isCountTrue: true });
  });
});
