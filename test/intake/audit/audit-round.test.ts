import { beforeEach, describe, expect, test } from 'vitest';
import type { Event } from '../../../src/domain/alert/event.ts';
import { type ErrorCode, NestwatchError } from '../../../src/errors.ts';
import { AuditRound } from '../../../src/intake/audit/audit-round.ts';
import { type Batch, createCommit } from '../../../src/intake/commit.ts';
import type { LogStream, Swept } from '../../../src/intake/logs/log-stream.ts';
import type { LogEntry } from '../../../src/intake/logs/sweep.ts';
import type { Happening } from '../../../src/report.ts';
import type { PageQuery } from '../../../src/service/client.ts';
import type { Parsed } from '../../../src/service/resources.ts';
import { event, insert } from '../../store/contract/sample-records.ts';
import { openMemory, type TestStore } from '../../store/test-store.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../../virtual-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const OVERLAP_US = 120_000_000;

let clock: VirtualClock;
let store: TestStore;
let round: AuditRound;
let committed: Batch[];
let happenings: Happening[];
let asked: { birdId: string; query: PageQuery }[];
let failure: { birdId: string; code: ErrorCode | 'bug' } | undefined;

const usAgo = (ms: number) => clock.nowUs() - ms * 1000;

beforeEach(async () => {
  clock = createVirtualClock();
  store = await openMemory(clock);
  committed = [];
  happenings = [];
  asked = [];
  failure = undefined;
  round = openRound();
});

function openRound(firstLookbackMs = HOUR_MS): AuditRound {
  const report = (one: Happening) => happenings.push(one);
  const commit = createCommit({ store, rules: [], forward: [], clock, report, changed: () => {} });
  return new AuditRound({
    region: 'eu',
    auditIntervalMs: 10 * MINUTE_MS,
    retentionMs: 30 * 24 * HOUR_MS,
    store,
    commit: (batch) => {
      committed.push(batch);
      return commit(batch);
    },
    clock,
    random: () => 0,
    report,
    overlapUs: () => OVERLAP_US,
    firstFromUs: () => TEST_START_US - firstLookbackMs * 1000,
  });
}

/** A stream for which the service lists these instants, and the store has none. */
interface Given {
  readonly fromMsAgo: number;
  readonly instantsUs?: readonly number[];
  /** Counted but not listed. */
  readonly hiddenUs?: readonly number[];
  readonly prunedUs?: number;
  /** One row among them cannot be read. */
  readonly isMalformed?: boolean;
  /** The page size that the service returns for this stream. */
  readonly pageSize?: number;
}

async function add(birdId: string, given?: Given): Promise<{ given: Given | undefined; kept: number }> {
  const { stream } = await store.streams.open('eu', 'bird_log', birdId);
  const state = { given, kept: 0 };
  const log: LogStream = {
    poll: () => Promise.reject(new Error('audits do not poll')),
    readPage: () => Promise.reject(new Error('audits ask for windows')),
    cursorUs: () => 0,
    pageSize: () => state.given?.pageSize ?? 100,
    swept(): Swept | undefined {
      if (!state.given) return undefined;
      const { fromMsAgo, hiddenUs = [], prunedUs = 0 } = state.given;
      const fromUs = usAgo(fromMsAgo);
      const isShort = hiddenUs.some((us) => us >= fromUs);
      return { stream, fromUs, atUs: clock.nowUs(), prunedUs, isShort };
    },
    async ask(query) {
      asked.push({ birdId, query });
      if (failure?.birdId === birdId) {
        throw failure.code === 'bug' ? new TypeError('a bug') : new NestwatchError(failure.code, 'no');
      }
      const isAsked = (us: number) => us >= query.fromUs! && us <= query.toUs!;
      const items: Parsed<LogEntry>[] = (state.given?.instantsUs ?? [])
        .filter(isAsked)
        .map((us) => ({ ok: true, entry: { id: String(us), createdAt: { us, text: '' } } }));
      if (state.given?.isMalformed) items.push({ ok: false, raw: '{}', reason: 'no id' });
      const hidden = (state.given?.hiddenUs ?? []).filter(isAsked);
      const totalCount = items.length + hidden.length;
      const { page, pageSize } = query;
      return { items: items.slice(page * pageSize, (page + 1) * pageSize), totalCount, page, pageSize };
    },
    async keep(items) {
      state.kept += items.length;
      return items.map(() => ({}) as Event);
    },
  };
  round.add(`logs/${birdId}`, 'bird_log', birdId, log);
  return state;
}

/** Turns for this long, each as soon as the previous one asks for it. */
async function pass(ms: number): Promise<void> {
  const endMs = clock.monotonicMs() + ms;
  for (;;) {
    const { delayMs } = await round.turn();
    const leftMs = endMs - clock.monotonicMs();
    await clock.advance(Math.min(delayMs, leftMs));
    if (delayMs >= leftMs) return;
  }
}

/** What is asked while time passes, and nothing before. */
async function askedIn(ms: number): Promise<typeof asked> {
  asked.length = 0;
  await pass(ms);
  return asked;
}

const HOURS_AGO = { fromMsAgo: 5 * HOUR_MS };
const BUSY = { fromMsAgo: 2 * MINUTE_MS };

/** The store has these entries of Bird 1. */
async function know(...entries: readonly { readonly id: string; readonly us: number }[]): Promise<void> {
  const known = entries.map(({ id, us }) => event(id, { feed: 'bird_log', birdId: '1', occurredAtUs: us }));
  await store.transaction((tx) => insert(tx, known, '1'));
}

/** A busy stream of Bird 1 from an hour ago until ten minutes from now, which the store knows completely. */
async function traffic(secondsApart: number, pageSize: number): Promise<Given> {
  const count = (70 * 60) / secondsApart;
  const instantsUs = Array.from({ length: count }, (_, at) => usAgo(HOUR_MS) + at * secondsApart * 1e6);
  await know(...instantsUs.map((us) => ({ id: String(us), us })));
  return { ...BUSY, instantsUs, pageSize };
}

describe('a stream', () => {
  test('is audited only after a sweep has reached its end', async () => {
    const stream = await add('1');
    await pass(5 * MINUTE_MS);
    expect(asked).toEqual([]);
    expect(round.verifiedUntilUs('bird_log')).toBe(0);
    stream.given = BUSY;
    await pass(MINUTE_MS);
    expect(asked).toHaveLength(1);
  });

  test('is audited in pages of the size that the service returns for it', async () => {
    await add('1', { ...BUSY, pageSize: 50 });
    await add('2', BUSY);
    await pass(MINUTE_MS);
    expect(asked.map(({ query }) => query.pageSize)).toEqual([50, 100]);
  });

  test('that is idle costs nothing and is proven complete up to an overlap before its last sweep', async () => {
    await add('1', HOURS_AGO);
    await pass(59 * MINUTE_MS);
    expect(asked).toEqual([]);
    expect(round.verifiedUntilUs('bird_log')).toBeGreaterThan(usAgo(12 * MINUTE_MS));
    // Right after a sweep, entries that come an overlap late cannot be known yet.
    expect(round.verifiedUntilUs('bird_log')).toBeLessThanOrEqual(clock.nowUs() - OVERLAP_US);
  });

  test('that is idle is audited like any other while its sweeps list fewer entries than the service counts', async () => {
    const hiddenUs = [usAgo(30 * MINUTE_MS)];
    const stream = await add('1', { ...HOURS_AGO, hiddenUs });
    await pass(11 * MINUTE_MS);
    expect(happenings).toContainEqual({ what: 'missing', region: 'eu', feed: 'bird_log', count: 1 });
    expect(round.verifiedUntilUs('bird_log')).toBeLessThanOrEqual(hiddenUs[0]!);
    stream.given = HOURS_AGO;
    await pass(10 * MINUTE_MS);
    expect(await askedIn(HOUR_MS)).toEqual([]);
    expect(round.verifiedUntilUs('bird_log')).toBeGreaterThan(usAgo(13 * MINUTE_MS));
  });

  test('that is idle is read by its sweeps again once its counts are known to be untrue', async () => {
    await add('1', { ...HOURS_AGO, hiddenUs: Array(500).fill(usAgo(30 * MINUTE_MS)) });
    await pass(11 * MINUTE_MS);
    const untrue = { what: 'counts_untrue', region: 'eu', feed: 'bird_log', stream: 'logs/1' };
    expect(happenings).toContainEqual(untrue);
    expect(await askedIn(HOUR_MS)).toEqual([]);
    expect(round.verifiedUntilUs('bird_log')).toBeGreaterThan(usAgo(13 * MINUTE_MS));
  });

  test('with traffic is audited whole at first, then over 4 h at each interval, a day hourly, all of it daily', async () => {
    await add('1', BUSY);
    const lengths = () =>
      asked.splice(0).map(({ query }) => Math.round((query.toUs! - query.fromUs!) / (HOUR_MS * 1000)));
    await pass(MINUTE_MS);
    expect(lengths()).toEqual([1]);
    await pass(24 * HOUR_MS);
    // The watch began an hour before the first start.
    expect(lengths().at(-1)).toBe(25);
    await pass(2 * HOUR_MS);
    expect(lengths()).toEqual([4, 4, 4, 4, 4, 24, 4, 4, 4, 4, 4, 24]);
  });

  test('is counted where the last audit was long ago, and read where entries may have come since', async () => {
    const lengths = () =>
      asked.splice(0).map(({ query: { fromUs, toUs, pageSize } }) => ({
        minutes: Math.round((toUs! - fromUs!) / (MINUTE_MS * 1000)),
        pageSize,
      }));
    await add('1', await traffic(60, 20));
    await pass(9 * MINUTE_MS);
    await askedIn(2 * MINUTE_MS);
    expect(lengths()).toEqual([
      { minutes: 48, pageSize: 1 },
      { minutes: 20, pageSize: 20 },
      // That page was full: the next one shows that nothing follows.
      { minutes: 20, pageSize: 20 },
    ]);
  });

  test('is read whole for a day once an entry was seen to be deleted, even by a later life', async () => {
    const given = await traffic(60, 20);
    const gone = { ...given, instantsUs: given.instantsUs!.toSpliced(20, 1) };
    await add('1', gone);
    const isReadWhole = async (ms: number) => {
      return (await askedIn(ms)).some(
        ({ query }) => query.pageSize === 20 && query.fromUs! < TEST_START_US - 30 * MINUTE_MS * 1000,
      );
    };
    await pass(MINUTE_MS);
    round = openRound();
    await round.load();
    await add('1', given);
    expect(await isReadWhole(11 * MINUTE_MS)).toBe(true);
    await pass(24 * HOUR_MS);
    expect(await isReadWhole(11 * MINUTE_MS)).toBe(false);
  });

  test('is read whole if entries are too dense for an edge between what is counted and what is read', async () => {
    await add('1', await traffic(2, 200));
    await pass(9 * MINUTE_MS);
    await askedIn(2 * MINUTE_MS);
    expect(asked.map(({ query }) => query.pageSize)).toContain(200);
  });

  test('with only seconds left to audit is left to the next audit, and proven no further', async () => {
    const lookbackMs = OVERLAP_US / 1000 + 5_000;
    round = openRound(lookbackMs);
    await add('1', { fromMsAgo: MINUTE_MS });
    await pass(9 * MINUTE_MS);
    expect(asked).toEqual([]);
    expect(round.verifiedUntilUs('bird_log')).toBe(0);
    await pass(2 * MINUTE_MS);
    expect(asked).toHaveLength(1);
    expect(asked[0]!.query.fromUs).toBeLessThan(TEST_START_US - (lookbackMs - 2_000) * 1000);
    expect(round.verifiedUntilUs('bird_log')).toBe(asked[0]!.query.toUs);
  });

  test('begins where it was last proven complete if that is longer ago than its span', async () => {
    const stream = await add('1', BUSY);
    await pass(MINUTE_MS);
    stream.given = undefined;
    await pass(9 * HOUR_MS);
    asked.length = 0;
    const verifiedUs = round.verifiedUntilUs('bird_log');
    stream.given = BUSY;
    await pass(MINUTE_MS);
    expect(asked[0]!.query.fromUs).toBeLessThanOrEqual(verifiedUs);
  });

  test('whose entries an audit finds is reported, and its record survives the process', async () => {
    const stream = await add('1', { ...BUSY, instantsUs: [usAgo(30 * MINUTE_MS)] });
    await pass(MINUTE_MS);
    expect(stream.kept).toBe(1);
    expect(happenings).toContainEqual({ what: 'recovered', region: 'eu', feed: 'bird_log', count: 1 });
    const verifiedUs = round.verifiedUntilUs('bird_log');
    round = openRound();
    await round.load();
    await add('1');
    expect(round.verifiedUntilUs('bird_log')).toBe(verifiedUs);
  });
});

describe('a failure', () => {
  test('of one stream delays no other, and its audit continues half a minute later', async () => {
    await add('1', BUSY);
    await add('2', BUSY);
    failure = { birdId: '1', code: 'unavailable' };
    await pass(1_000);
    expect(asked.map(({ birdId }) => birdId)).toEqual(['1', '2']);
    failure = undefined;
    await pass(30_000);
    expect(asked.map(({ birdId }) => birdId)).toEqual(['1', '2', '1']);
    expect(round.verifiedUntilUs('bird_log')).toBeGreaterThan(0);
  });

  test('that would come again is left to the next audit, which starts anew', async () => {
    await add('1', BUSY);
    failure = { birdId: '1', code: 'bad_request' };
    await pass(9 * MINUTE_MS);
    expect(asked).toHaveLength(1);
    failure = undefined;
    await pass(2 * MINUTE_MS);
    expect(asked).toHaveLength(2);
    expect(asked[1]!.query.toUs).toBeGreaterThan(asked[0]!.query.toUs!);
  });

  test('that lasts until what the audit compares may have been deleted lets it start anew', async () => {
    round = openRound(60 * 24 * HOUR_MS);
    await add('1', BUSY);
    failure = { birdId: '1', code: 'unavailable' };
    await round.turn();
    // The old end of the retention is not audited, for as long as it takes to audit the rest.
    for (const { hours, isKept } of [
      { hours: 36, isKept: true },
      { hours: 2, isKept: false },
    ]) {
      await clock.advance(hours * HOUR_MS);
      await round.turn();
      expect(asked.at(-1)!.query.fromUs === asked[0]!.query.fromUs).toBe(isKept);
    }
    expect(asked).toHaveLength(3);
  });
});

const facts = () => committed.flatMap((batch) => batch.facts ?? []);
const gapFacts = () =>
  facts().flatMap((one) => (one.fact === 'feed_gap' && one.feed === 'bird_log' ? [one.missing] : []));

describe('a gap', () => {
  test('limits what is proven from the first audit on, and is reported by the second', async () => {
    const hiddenUs = [usAgo(30 * MINUTE_MS)];
    await add('1', { ...BUSY, hiddenUs });
    await pass(MINUTE_MS);
    expect(round.verifiedUntilUs('bird_log')).toBeLessThanOrEqual(hiddenUs[0]!);
    expect(gapFacts()).toEqual([0]);
    await pass(10 * MINUTE_MS);
    expect(gapFacts()).toEqual([0, 1]);
    expect(happenings).toContainEqual({ what: 'missing', region: 'eu', feed: 'bird_log', count: 1 });
    await pass(HOUR_MS);
    expect(gapFacts()).toEqual([0, 1]);
  });

  test('is reported again by a new life, so that an alert about it cannot be lost', async () => {
    const hiddenUs = [usAgo(30 * MINUTE_MS)];
    await add('1', { ...BUSY, hiddenUs });
    await pass(11 * MINUTE_MS);
    committed = [];
    // Unreadable Flights are recorded in the same place, but audits do not report them.
    await store.transaction(async (tx) => {
      const { stream } = await tx.streams.open('eu', 'flight', '1');
      const gap = { fromUs: 1, toUs: 2, missing: 1, seen: 1, notified: 1 };
      const times = { verifiedUs: 0, dayAuditedUs: 0, wholeAuditedUs: 0, deletedUs: 0 };
      await tx.audits.put([{ stream, ...times, gaps: [gap] }]);
    });
    round = openRound();
    await round.load();
    await add('1', { ...BUSY, hiddenUs });
    await pass(MINUTE_MS);
    expect(gapFacts()).toEqual([1]);
    const feeds = facts().flatMap((fact) => ('feed' in fact ? fact.feed : []));
    expect(feeds).not.toContain('flight');
  });

  test('is over when it heals, when its Bird is deleted, and when it is older than the retention [long]', async () => {
    const given = { ...BUSY, hiddenUs: [usAgo(30 * MINUTE_MS)] };
    const healing = await add('1', given);
    await add('2', given);
    await add('3', given);
    await pass(11 * MINUTE_MS);
    expect(gapFacts().at(-1)).toBe(3);
    healing.given = BUSY;
    await pass(10 * MINUTE_MS);
    expect(gapFacts().at(-1)).toBe(2);
    round.remove('logs/2');
    await pass(10 * MINUTE_MS);
    expect(gapFacts().at(-1)).toBe(1);
    await pass(30 * 24 * HOUR_MS);
    expect(gapFacts().at(-1)).toBe(0);
    expect(round.verifiedUntilUs('bird_log')).toBeGreaterThan(usAgo(HOUR_MS));
  });
});

test('an entry that the store has with another instant is not stored again', async () => {
  const us = usAgo(30 * MINUTE_MS);
  const stream = await add('1', { ...BUSY, instantsUs: [us] });
  await know({ id: String(us), us: us - 10 * MINUTE_MS * 1000 });
  await pass(MINUTE_MS);
  expect(asked).toHaveLength(1);
  expect(stream.kept).toBe(0);
});

test('no audit looks at what the store has deleted, and it proves the rest', async () => {
  const prunedUs = usAgo(30 * MINUTE_MS);
  await add('1', { ...BUSY, instantsUs: [usAgo(50 * MINUTE_MS), prunedUs], prunedUs });
  await pass(MINUTE_MS);
  expect(asked).toHaveLength(1);
  expect(asked[0]!.query.fromUs).toBeGreaterThan(prunedUs + 1_000_000);
  expect(happenings).not.toContainEqual(expect.objectContaining({ what: 'recovered' }));
  expect(round.verifiedUntilUs('bird_log')).toBeGreaterThan(usAgo(5 * MINUTE_MS));
});

test('no audit looks at what the store may have deleted already [long]', async () => {
  await add('1', { ...BUSY });
  await pass(40 * 24 * HOUR_MS);
  const oldestMs = Math.max(...asked.map(({ query }) => (query.toUs! - query.fromUs!) / 1000));
  expect(oldestMs).toBeGreaterThan(28 * 24 * HOUR_MS);
  expect(oldestMs).toBeLessThan(28.5 * 24 * HOUR_MS);
});

describe('what is proven complete of a feed', () => {
  test('is what is proven of all its streams', async () => {
    await add('1', HOURS_AGO);
    await add('2');
    await pass(MINUTE_MS);
    expect(round.verifiedUntilUs('bird_log')).toBe(0);
  });

  test('is unchanged when a Bird comes back that was gone for a while, whatever an earlier life knew [long]', async () => {
    const hiddenUs = [usAgo(30 * MINUTE_MS)];
    await add('1', { ...BUSY, hiddenUs });
    await pass(11 * MINUTE_MS);
    round = openRound();
    await round.load();
    await add('1', BUSY);
    await add('2', HOURS_AGO);
    await pass(24 * HOUR_MS);
    const verifiedUs = round.verifiedUntilUs('bird_log');
    expect(verifiedUs).toBeGreaterThan(usAgo(15 * MINUTE_MS));
    round.remove('logs/1');
    await add('1', BUSY);
    expect(round.verifiedUntilUs('bird_log')).toBe(verifiedUs);
  });

  test('lacks the gap of a deleted Bird until the Bird is back', async () => {
    const given = { ...BUSY, hiddenUs: [usAgo(30 * MINUTE_MS)] };
    await add('1', given);
    await add('2', HOURS_AGO);
    await pass(11 * MINUTE_MS);
    round.remove('logs/1');
    await round.turn();
    await add('1', given);
    await round.turn();
    expect(gapFacts().slice(-3)).toEqual([1, 0, 1]);
  });

  test('is not reduced by a new stream', async () => {
    await add('1', HOURS_AGO);
    await pass(MINUTE_MS);
    const verifiedUs = round.verifiedUntilUs('bird_log');
    await add('2');
    expect(round.verifiedUntilUs('bird_log')).toBe(verifiedUs);
  });

  test('ends where a new stream was first read as long as every audit of it fails', async () => {
    await add('1', HOURS_AGO);
    await pass(MINUTE_MS);
    expect(round.verifiedUntilUs('bird_log')).toBeGreaterThan(0);
    const addedUs = clock.nowUs();
    await add('2', BUSY);
    failure = { birdId: '2', code: 'unavailable' };
    await pass(3 * HOUR_MS);
    expect(round.verifiedUntilUs('bird_log')).toBe(addedUs);
    failure = undefined;
    await pass(30 * MINUTE_MS);
    expect(round.verifiedUntilUs('bird_log')).toBeGreaterThan(usAgo(HOUR_MS));
  });
});

test('ten thousand idle streams are proven complete within their interval, without a request [long]', async () => {
  for (let bird = 0; bird < 10_000; bird += 1) await add(String(bird), HOURS_AGO);
  await pass(9 * MINUTE_MS);
  expect(asked).toEqual([]);
  expect(round.verifiedUntilUs('bird_log')).toBeGreaterThan(usAgo(15 * MINUTE_MS));
  expect(round.lagMs()).toBe(0);
});

test("an earlier life's gap is reported as over if nothing is missing any more", async () => {
  await add('1', HOURS_AGO);
  await pass(MINUTE_MS);
  const before = facts();
  expect(before).toContainEqual({ fact: 'feed_gap', region: 'eu', feed: 'bird_log', missing: 0, sinceUs: 0 });
  await pass(HOUR_MS);
  expect(facts()).toHaveLength(before.length);
});

describe('a round', () => {
  test('without streams has nothing to do and is not behind', async () => {
    expect(await round.turn()).toEqual({ requests: 0, delayMs: Number.POSITIVE_INFINITY });
    expect(round.lagMs()).toBe(0);
    expect(round.verifiedUntilUs('notification')).toBe(0);
  });

  test('keeps feeds separate', async () => {
    await add('1', HOURS_AGO);
    await pass(MINUTE_MS);
    expect(round.verifiedUntilUs('bird_log')).toBeGreaterThan(0);
    expect(round.verifiedUntilUs('notification')).toBe(0);
  });

  test('reports a bug in an audit, and leaves it to its next turn', async () => {
    failure = { birdId: '1', code: 'bug' };
    await add('1', BUSY);
    await pass(5 * MINUTE_MS);
    expect(asked).toHaveLength(1);
    expect(happenings.filter(({ what }) => what === 'trouble')).toHaveLength(1);
  });

  test('reports a store that cannot be written if it has nothing else to do', async () => {
    const { transaction } = store;
    await add('1', HOURS_AGO);
    store.transaction = () => Promise.reject(new NestwatchError('disk_full', 'no space'));
    await round.turn();
    expect(happenings).toContainEqual(expect.objectContaining({ what: 'trouble', stage: 'intake' }));
    store.transaction = transaction;
  });
});

test('an unreadable row is kept with what an audit found', async () => {
  const stream = await add('1', { ...BUSY, instantsUs: [usAgo(50 * MINUTE_MS)], isMalformed: true });
  await pass(MINUTE_MS);
  expect(stream.kept).toBe(2);
});

test('a stream that is unknown, or was not audited yet, leaves nothing behind when it is removed', async () => {
  await add('1');
  round.remove('logs/1');
  round.remove('logs/never there');
  await add('1', BUSY);
  await pass(MINUTE_MS);
  expect(asked).toHaveLength(1);
});

test('an audit of a stream that is removed meanwhile does not affect one that is added then', async () => {
  await add('1', BUSY);
  const turn = round.turn();
  round.remove('logs/1');
  round.add('logs/2', 'bird_log', '2', { swept: () => undefined } as LogStream);
  await turn;
  expect(asked).not.toEqual([]);
  expect(round.verifiedUntilUs('bird_log')).toBe(0);
});
