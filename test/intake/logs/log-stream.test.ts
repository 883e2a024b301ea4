import { beforeEach, describe, expect, test } from 'vitest';
import { NestwatchError } from '../../../src/errors.ts';
import { createCommit } from '../../../src/intake/commit.ts';
import { birdLogEvent } from '../../../src/intake/feeds.ts';
import { createLogStreams, type LogStream } from '../../../src/intake/logs/log-stream.ts';
import { PageReader } from '../../../src/intake/logs/page-reader.ts';
import type { Happening } from '../../../src/report.ts';
import type { BirdLogEntry, Parsed } from '../../../src/service/resources.ts';
import { openMemory, type TestStore } from '../../store/test-store.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../../virtual-clock.ts';

const SECOND_US = 1_000_000;
const OVERLAP_US = 120 * SECOND_US;
const signal = new AbortController().signal;

let clock: VirtualClock;
let store: TestStore;
let log: LogStream;
/** Instants of the entries that the service shows; they also name the entries. */
let shownUs: number[];
/** How much later the service now says that everything was created. */
let movedUs: number;
/** Ids of entries that are shown under the id of another one. */
let sameAs: Map<number, string>;
let overlapUs: number;
/** How far the service's clock is ahead of ours. */
let skewUs: number;
let lateUs: number[];
let refuse: Error | undefined;
/** Larger pages than this are refused. */
let most: number | undefined;
/** Instead of a larger page, one of this size is returned. */
let largest: number;
/** Pages with these entries are refused. */
let refused: Set<number>;
/** The page sizes that were requested. */
let asked: number[];
/** Entries too large to be received, whatever else is on the page. */
let huge: Set<number>;
/** Whether the service says what time it is, and how large its pages are. */
let isTalkative: boolean;
/** Every page holds everything, whatever its number and size; with or without a count of it. */
let ignoresPages: 'counting' | 'not counting' | undefined;
let isNewestFirst: boolean;
let malformed: number;
/** Entries that are counted but not shown. */
let counted: number;
/** When the malformed ones were created; undefined if that cannot be read either. */
let malformedUs: number | undefined;
let happened: Happening[];
let pages: PageReader;
/** Called after a page was answered. */
let afterPage: () => void;

beforeEach(async () => {
  clock = createVirtualClock();
  store = await openMemory(clock);
  shownUs = [];
  movedUs = 0;
  sameAs = new Map();
  overlapUs = OVERLAP_US;
  skewUs = 0;
  lateUs = [];
  refuse = undefined;
  most = undefined;
  largest = 1000;
  refused = new Set();
  asked = [];
  huge = new Set();
  isTalkative = true;
  ignoresPages = undefined;
  isNewestFirst = false;
  malformed = 0;
  counted = 0;
  malformedUs = undefined;
  happened = [];
  pages = new PageReader(100, clock);
  afterPage = () => {};
  log = openLog();
});

const names = { nest: () => '', bird: () => '', nestOf: () => '' };
const serviceNowUs = () => clock.nowUs() + skewUs;

function entry(us: number): BirdLogEntry {
  return {
    ...{ id: sameAs.get(us) ?? String(us), createdAt: { us: us + movedUs, text: '' }, birdId: '7' },
    ...{ nestId: '', eventType: 'Saved', message: '', eventFailedBy: '', errorType: '', initiator: '' },
  };
}

const report = (one: Happening) => happened.push(one);

function openLog(birdId = '7'): LogStream {
  const streams = createLogStreams<BirdLogEntry>(
    {
      region: 'eu',
      feed: 'bird_log',
      async read(_birdId, { page, pageSize, fromUs = 0, toUs = Number.POSITIVE_INFINITY }) {
        asked.push(pageSize);
        if (refuse) throw refuse;
        if (most !== undefined && pageSize > most) {
          throw new NestwatchError('bad_request', 'not in pages of this size');
        }
        const size = Math.min(pageSize, largest);
        const all = shownUs
          .filter((us) => us >= fromUs && us <= toUs)
          .sort((a, b) => (isNewestFirst ? b - a : a - b));
        const onPage = ignoresPages ? all : all.slice(page * size, (page + 1) * size);
        if (onPage.some((us) => refused.has(us))) throw new NestwatchError('bad_request', 'not this entry');
        if (onPage.some((us) => huge.has(us))) throw new NestwatchError('too_large', 'more than 16 MiB');
        const items: Parsed<BirdLogEntry>[] = onPage.map((us) => ({ ok: true, entry: entry(us) }));
        for (let at = 0; at < malformed; at += 1) {
          const createdAt = malformedUs === undefined ? {} : { createdAt: { us: malformedUs, text: '' } };
          items.push({ ok: false, raw: `{"id":null,"at":${at}}`, reason: 'no id', ...createdAt });
        }
        afterPage();
        const totalCount = ignoresPages === 'not counting' ? null : all.length + malformed + counted;
        return {
          value: { items, totalCount, page, pageSize: isTalkative ? size : null },
          serverTimeUs: isTalkative ? serviceNowUs() : null,
        };
      },
      toEvent: (_birdId, one, observedAtUs) => birdLogEvent('eu', '7', one, names, observedAtUs),
      birdStatus: () => 'active',
    },
    {
      store,
      commit: createCommit({ store, rules: [], forward: [], clock, report, changed: () => {} }),
      clock,
      report,
      pages,
      overlapUs: () => overlapUs,
      late: (us) => lateUs.push(us),
      firstFromUs: () => TEST_START_US - 3_600 * SECOND_US,
      watchedSinceUs: () => TEST_START_US,
    },
  );
  return streams(birdId);
}

/** Shows an entry from now on, as if created this many seconds ago. */
const show = (secondsAgo: number) => shownUs.push(serviceNowUs() - secondsAgo * SECOND_US);
/** One in each of the last seconds. */
const showEach = (seconds: number) => {
  for (let second = seconds; second > 0; second -= 1) show(second);
};
const poll = () => log.poll(signal);
const askAll = (pageSize = 10) => log.ask({ page: 0, pageSize, ascending: true, fromUs: 0 });
const pass = (seconds: number) => clock.advance(seconds * 1000);

describe("a cursor ahead of the service's clock", () => {
  const cursor = async () => (await store.streams.open('eu', 'bird_log', '7')).cursorUs;

  test.each([
    ['two hours', 7_200],
    ['decades', 40 * 365 * 86_400],
  ])('is corrected in the next poll, once a clock that was %s ahead is right again', async (_, seconds) => {
    show(5);
    expect((await poll()).fresh).toHaveLength(1);
    await pass(30);
    skewUs = seconds * SECOND_US;
    show(3);
    expect((await poll()).fresh).toHaveLength(1);
    expect(log.cursorUs()).toBeGreaterThan(clock.nowUs());
    await pass(30);
    skewUs = 0;
    show(20);
    show(1);
    expect((await poll()).fresh).toHaveLength(2);
    expect(log.cursorUs()).toBe(clock.nowUs() - SECOND_US);
    expect(await cursor()).toBe(log.cursorUs());
    await pass(30);
    show(1);
    expect((await poll()).fresh).toHaveLength(1);
  });

  test('reaches the newest entry of a service that lists it first, though a sweep takes several polls', async () => {
    isNewestFirst = true;
    largest = 10;
    showEach(450);
    let polls = 1;
    while ((await poll()).more) polls += 1;
    expect(polls).toBeGreaterThan(1);
    expect(await cursor()).toBe(serviceNowUs() - SECOND_US);
  });

  test('from an earlier life is corrected in the first poll', async () => {
    await store.transaction(async (tx) => {
      const { stream } = await tx.streams.open('eu', 'bird_log', '7');
      await tx.streams.advanceCursor(stream, clock.nowUs() + 7_200 * SECOND_US);
    });
    show(60);
    expect((await poll()).fresh).toHaveLength(1);
    expect(log.cursorUs()).toBe(clock.nowUs() - 60 * SECOND_US);
  });

  test('in one answer alone stays, and nothing is read twice', async () => {
    show(5);
    await poll();
    const cursorUs = log.cursorUs();
    let isWrong = true;
    afterPage = () => {
      skewUs = isWrong ? -365 * 86_400 * SECOND_US : 0;
      isWrong = false;
    };
    await pass(30);
    show(1);
    expect((await poll()).fresh).toHaveLength(1);
    expect(log.cursorUs()).toBe(cursorUs + 34 * SECOND_US);
  });

  test('by one entry that disagrees with that clock is not followed', async () => {
    show(5);
    show(-7_200);
    expect((await poll()).fresh).toHaveLength(2);
    expect(log.cursorUs()).toBe(clock.nowUs() - 5 * SECOND_US);
    await pass(30);
    show(1);
    expect((await poll()).fresh).toHaveLength(1);
  });
});

describe('an entry is late', () => {
  test('if it came behind the cursor of the previous sweep, by the time since it occurred', async () => {
    show(5);
    await poll();
    await pass(30);
    show(50);
    show(1);
    expect((await poll()).fresh).toHaveLength(2);
    expect(lateUs).toEqual([50 * SECOND_US]);
  });

  test('by the clock of the service, however wrong ours is', async () => {
    skewUs = 7_200 * SECOND_US;
    show(5);
    await poll();
    await pass(30);
    show(50);
    await poll();
    expect(lateUs).toEqual([50 * SECOND_US]);
  });

  test('but not at a first start, nor if it was waiting ahead of the cursor all through an outage', async () => {
    show(2_000);
    show(5);
    await poll();
    await pass(7_200);
    show(7_000);
    show(10);
    expect((await poll()).fresh).toHaveLength(2);
    expect(lateUs).toEqual([]);
  });

  test('but not if it came behind the cursor at an unknown time during an outage', async () => {
    show(5);
    await poll();
    await pass(7_200);
    show(7_250);
    expect((await poll()).fresh).toHaveLength(1);
    expect(lateUs).toEqual([]);
  });

  test('but not in the first sweep of a new life', async () => {
    show(5);
    await poll();
    log = openLog();
    show(60);
    expect((await poll()).fresh).toHaveLength(1);
    expect(lateUs).toEqual([]);
  });

  test('by as much as sweeps look back, if only an audit found it', async () => {
    show(5);
    await poll();
    await pass(600);
    expect(await log.keep((await askAll()).items)).toEqual([]);
    show(400);
    expect(await log.keep((await askAll()).items)).toHaveLength(1);
    expect(lateUs).toEqual([OVERLAP_US]);
  });
});

test('an entry that comes again with a later instant is recognised if deletions send a sweep back to it', async () => {
  pages = new PageReader(4, clock);
  log = openLog();
  for (const secondsAgo of [60, 59.9, 59.8, 59.7, 59.5]) show(secondsAgo);
  const [firstUs] = shownUs;
  sameAs.set(shownUs.at(-1)!, String(firstUs));
  expect((await poll()).fresh).toHaveLength(4);
  await pass(3 * 3_600);
  for (let count = 0; count < 8; count += 1) show(5 - count / 10);
  let read = 0;
  afterPage = () => {
    read += 1;
    // Pages are counted up within such a dense second. Entries that vanish now seem to have moved to earlier pages.
    if (read === 2) shownUs.splice(-4);
  };
  const { fresh } = await poll();
  expect(fresh.map(({ key }) => key)).not.toContain(`eu/bird_log/${firstUs}`);
  expect(fresh).toHaveLength(4);
});

test('an entry that comes again with a later instant is recognised by its id as long as sweeps read it', async () => {
  overlapUs = 600 * SECOND_US;
  show(5);
  await poll();
  await pass(8 * 60);
  show(0);
  sameAs.set(shownUs[1]!, String(shownUs[0]));
  expect((await poll()).fresh).toEqual([]);
  await pass(9 * 60);
  show(1);
  expect((await poll()).fresh).toHaveLength(1);
  expect((await poll()).fresh).toEqual([]);
  log = openLog();
  expect((await poll()).fresh).toEqual([]);
});

describe('an entry that is shown again under its id', () => {
  test('as created later is not news, even if the sweep that reads it there goes far back', async () => {
    show(0);
    await poll();
    await pass(420);
    show(0);
    sameAs.set(shownUs[1]!, String(shownUs[0]));
    expect((await poll()).fresh).toEqual([]);
    // Far ahead, so that the first one's own instant is too old to be remembered.
    await pass(1_200);
    show(0);
    expect((await poll()).fresh).toHaveLength(1);
    overlapUs = 1_300 * SECOND_US;
    expect((await poll()).fresh).toEqual([]);
  });
});

describe('the last sweep', () => {
  test('is stored with where and when it began, once it has reached its end', async () => {
    expect(log.swept()).toBeUndefined();
    showEach(2_500);
    expect((await poll()).more).toBe(true);
    expect(log.swept()).toBeUndefined();
    const beganUs = clock.nowUs();
    await pass(10);
    expect((await poll()).more).toBe(false);
    expect(log.swept()).toMatchObject({ fromUs: TEST_START_US - 3_600 * SECOND_US, atUs: beganUs });
    await poll();
    expect(log.swept()).toMatchObject({ fromUs: beganUs - SECOND_US - OVERLAP_US, atUs: clock.nowUs() });
  });

  test('is short if fewer entries were listed than counted, wherever the sweep has stopped for a while', async () => {
    showEach(2_500);
    counted = 1;
    while ((await poll()).more);
    expect(log.swept()?.isShort).toBe(true);
    counted = 0;
    await poll();
    expect(log.swept()?.isShort).toBe(false);
    // Of one instant, so that pages are counted.
    for (let at = 0; at < 250; at += 1) show(-1);
    await pass(1);
    await poll();
    expect(log.swept()?.isShort).toBe(false);
    counted = 1;
    await poll();
    expect(log.swept()?.isShort).toBe(true);
  });
});

describe('what an audit keeps', () => {
  test('does not move the cursor, and is not new to the next sweep', async () => {
    show(50);
    await poll();
    const cursorUs = log.cursorUs();
    show(20);
    expect(await log.keep((await askAll()).items)).toHaveLength(1);
    expect(log.cursorUs()).toBe(cursorUs);
    movedUs = 1;
    expect((await poll()).fresh).toEqual([]);
  });

  test('is read in parts if an answer is too large, and refused if the service refuses it', async () => {
    showEach(30);
    huge.add(shownUs[20]!);
    const page = await askAll(100);
    expect(page.items.map(({ ok }) => ok).indexOf(false)).toBe(20);
    expect(page).toMatchObject({ totalCount: 30, items: { length: 30 } });
    most = 30;
    await expect(askAll(100)).rejects.toThrow('this size');
    expect(asked.at(-1)).toBe(100);
  });
});

describe('a page that the service refuses', () => {
  const all = async () => {
    asked = [];
    for (const one of [log, openLog('8'), openLog('9')]) await one.poll(signal);
    return asked;
  };

  test('is requested in halves until it is accepted, and all streams continue with these', async () => {
    showEach(300);
    most = 30;
    expect((await poll()).fresh).toHaveLength(300);
    expect(asked.slice(0, 4)).toEqual([100, 50, 25, 50]);
    expect(new Set(asked.slice(4))).toEqual(new Set([25]));
    asked = [];
    await openLog('9').poll(signal);
    expect(new Set(asked)).toEqual(new Set([25]));
  });

  test('and is accepted soon afterwards teaches nothing', async () => {
    most = 30;
    const polled = poll();
    while (asked.at(-1) !== 25) await Promise.resolve();
    most = undefined;
    await polled;
    expect([asked, pages.size()]).toEqual([[100, 50, 25, 50], 100]);
  });

  test('because of one of its entries is read smaller, and the size of others stays', async () => {
    showEach(300);
    refused.add(shownUs[150]!);
    await expect(poll()).rejects.toThrow('not this entry');
    expect([log.cursorUs(), pages.size()]).toEqual([shownUs[149], 100]);
    refused.clear();
    expect((await poll()).fresh).toHaveLength(150);
  });

  test('in any size leaves the size as it was', async () => {
    most = 0;
    await expect(poll()).rejects.toThrow('not in pages of this size');
    expect([asked.length, pages.size()]).toEqual([7, 100]);
    show(5);
    most = 30;
    expect((await poll()).fresh).toHaveLength(1);
    expect(log.pageSize()).toBe(25);
  });

  test('is tried larger by one stream after an hour, then two, and at once again if that was accepted', async () => {
    most = 30;
    await poll();
    expect(await all()).toEqual([25, 25, 25]);
    await pass(3_600);
    expect(await all()).toEqual([50, 25, 25, 25]);
    await pass(3_600);
    expect(await all()).toEqual([25, 25, 25]);
    most = undefined;
    await pass(3_600);
    expect(await all()).toEqual([50, 100, 100]);
  });

  test('or that is smaller than requested gives the size of all others', async () => {
    showEach(300);
    largest = 40;
    expect((await poll()).fresh).toHaveLength(300);
    expect(await all()).toContain(40);
    expect(new Set(asked)).toEqual(new Set([40]));
    largest = 1000;
    await pass(3_600);
    show(1);
    await all();
    expect(pages.size()).toBe(100);
  });

  test('for another reason is a failure at once', async () => {
    for (const error of [new NestwatchError('timeout', 'no answer'), new TypeError('a bug')]) {
      refuse = error;
      await expect(poll()).rejects.toThrow(error.message);
      expect(pages.size()).toBe(100);
    }
  });
});

describe('an entry too large to be received', () => {
  const setAside = () => happened.flatMap((one) => (one.what === 'quarantined' ? [one.count] : []));

  test('is set aside once, its neighbours are stored, and the page size stays', async () => {
    showEach(60);
    huge.add(shownUs[50]!);
    const { fresh } = await poll();
    expect(fresh.map(({ key }) => key)).not.toContain(`eu/bird_log/${shownUs[50]}`);
    expect(fresh).toHaveLength(59);
    await poll();
    await pass(100);
    show(0);
    expect((await poll()).fresh).toHaveLength(1);
    // Now the sweep begins among the entries.
    await poll();
    expect([setAside(), pages.size()]).toEqual([[1], 100]);
    await pass(600);
    show(0);
    await poll();
    asked = [];
    await poll();
    expect(asked).toEqual([100]);
  });

  test('is also skipped if it is the first, the last or the only one', async () => {
    show(50);
    huge.add(shownUs[0]!);
    expect((await poll()).fresh).toEqual([]);
    show(40);
    expect((await poll()).fresh).toHaveLength(1);
    show(30);
    huge.add(shownUs[2]!);
    expect((await poll()).fresh).toEqual([]);
    show(20);
    expect((await poll()).fresh).toHaveLength(1);
  });

  test('is the only one skipped, even if pages are smaller than requested', async () => {
    // All within a second, so that pages are counted up, in the size that the service returns.
    for (let at = 0; at < 200; at += 1) show(5 - at / 1000);
    largest = 50;
    huge.add(shownUs[160]!);
    expect((await poll()).fresh).toHaveLength(199);
    expect(setAside()).toEqual([1]);
  });

  test('is not assumed if all answers are too large: that is a failure, after few requests', async () => {
    refuse = new NestwatchError('too_large', 'more than 16 MiB');
    await expect(poll()).rejects.toBe(refuse);
    expect(asked).toEqual([100, 50, 25, 5, 1, 100]);
    expect(setAside()).toEqual([]);
  });

  test('and entries that are deleted while its page is read in parts: the page is read again', async () => {
    showEach(60);
    huge.add(shownUs[57]!);
    afterPage = () => shownUs.shift();
    await expect(poll()).rejects.toThrow('more than 16 MiB');
    afterPage = () => {};
    const left = shownUs.length - 1;
    expect((await poll()).fresh).toHaveLength(left);
  });
});

test('an unreadable entry is set aside once, and the cursor moves on', async () => {
  show(5);
  malformed = 2;
  expect((await poll()).fresh).toHaveLength(1);
  expect(log.cursorUs()).toBe(shownUs[0]);
});

test('the cursor passes an unreadable entry if its instant is known', async () => {
  show(50);
  await poll();
  malformed = 2;
  malformedUs = clock.nowUs() - 20 * SECOND_US;
  expect((await poll()).fresh).toEqual([]);
  expect(log.cursorUs()).toBe(malformedUs);
});

test('a service that gives neither its time nor its page size is read by ours', async () => {
  isTalkative = false;
  showEach(250);
  expect(await poll()).toMatchObject({ more: false, fresh: { length: 250 } });
  expect(log.swept()?.atUs).toBe(clock.nowUs());
});

test.each([
  ['counting', 250],
  ['not counting', 250],
  ['not counting', 3],
] as const)(
  'a service that ignores page numbers is read to its end, %s, with %i entries',
  async (how, count) => {
    ignoresPages = how;
    showEach(count);
    for (let polls = 0; polls < 2; polls += 1) {
      expect(await poll()).toMatchObject({ more: false, fresh: { length: polls === 0 ? count : 0 } });
    }
    expect(asked.length).toBeLessThanOrEqual(12);
  },
);

test('a poll that is stopped before its first page has read nothing', async () => {
  expect(await log.poll(AbortSignal.abort())).toEqual({ more: true, fresh: [], requests: 0 });
  expect(log.swept()).toBeUndefined();
});

/** From this request on, the service answers 502. */
function failAt(request: number): void {
  afterPage = () => {
    if (asked.length === request) refuse = new NestwatchError('unavailable', 'the service answered 502');
  };
}

/** The service is well again, and the next poll reads all that is behind the cursor. */
async function expectRest(): Promise<void> {
  refuse = undefined;
  afterPage = () => {};
  const left = shownUs.filter((us) => us > log.cursorUs()).length;
  asked = [];
  expect(await poll()).toMatchObject({ more: false, fresh: { length: left } });
}

test('a failure within a long sweep loses no page that was read before it', async () => {
  for (let at = 1_500; at > 0; at -= 1) show(at / 16);
  failAt(8);
  await expect(poll()).rejects.toThrow('502');
  await expectRest();
  expect(asked.length).toBeLessThan(13);
});

test('a page that keeps failing is requested again from where its sweep began', async () => {
  for (let at = 1_500; at > 0; at -= 1) show(at / 16);
  failAt(8);
  await expect(poll()).rejects.toThrow('502');
  await expect(poll()).rejects.toThrow('502');
  await expectRest();
  expect(asked.length).toBeGreaterThan(16);
});

test('an entry that came late while a long sweep waited for its turn is found by the next one', async () => {
  for (let at = 2_500; at > 0; at -= 1) show(at / 32);
  expect((await poll()).more).toBe(true);
  show(50 + 1 / 64);
  await clock.advance(10 * 60_000);
  showEach(590);
  while ((await poll()).more);
  await poll();
  const found = await store.events.count(1, 0, clock.nowUs());
  expect(found).toBe(shownUs.length);
});

test('an old entry that an audit found is not remembered, but still stored once', async () => {
  show(5);
  await poll();
  show(3_500);
  const page = await askAll();
  expect(await log.keep(page.items)).toHaveLength(1);
  expect(await log.keep(page.items)).toEqual([]);
});
