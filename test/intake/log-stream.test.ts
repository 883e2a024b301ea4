import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NestwatchError } from '../../src/errors.ts';
import { createCommit } from '../../src/intake/commit.ts';
import { birdLogEvent } from '../../src/intake/entry-event.ts';
import { createLogStream, type LogStream } from '../../src/intake/log-stream.ts';
import type { BirdLogEntry } from '../../src/service/resources.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../virtual-clock.ts';

const SECOND_US = 1_000_000;
const OVERLAP_US = 120 * SECOND_US;
const signal = new AbortController().signal;

let clock: VirtualClock;
let store: Store;
let log: LogStream;
/** Instants of the entries that the service shows, by which they are named. */
let shownUs: number[];
/** How much later the service now says that all was created. */
let movedUs: number;
/** How far the service's clock is ahead of ours. */
let skewUs: number;
let lateUs: number[];
let refuse: NestwatchError | undefined;
let pageSize: number;

beforeEach(async () => {
  clock = createVirtualClock();
  store = await openSqliteStore({ path: ':memory:', clock });
  shownUs = [];
  movedUs = 0;
  skewUs = 0;
  lateUs = [];
  refuse = undefined;
  pageSize = 100;
  log = openLog();
});
afterEach(() => store.close());

const names = { nest: () => '', bird: () => '', nestOf: () => '' };
const serviceNowUs = () => clock.nowUs() + skewUs;

function entry(us: number): BirdLogEntry {
  const text = {
    nestId: '',
    eventType: 'Saved',
    message: '',
    eventFailedBy: '',
    errorType: '',
    initiator: '',
  };
  return { id: String(us), createdAt: { us: us + movedUs, text: '' }, birdId: '7', ...text };
}

function openLog(): LogStream {
  return createLogStream<BirdLogEntry>(
    {
      region: 'eu',
      feed: 'bird_log',
      birdId: '7',
      async read({ page, pageSize: size, fromUs = 0, toUs = Number.POSITIVE_INFINITY }) {
        if (refuse) throw refuse;
        const all = shownUs.filter((us) => us >= fromUs && us <= toUs).sort((a, b) => a - b);
        const items = all
          .slice(page * size, (page + 1) * size)
          .map((us) => ({ ok: true as const, entry: entry(us) }));
        return {
          value: { items, totalCount: all.length, page, pageSize: size },
          serverTimeUs: serviceNowUs(),
        };
      },
      toEvent: (one, observedAtUs) => birdLogEvent('eu', '7', one, names, observedAtUs),
      birdStatus: () => 'active',
    },
    {
      store,
      commit: createCommit({ store, rules: [], forward: [], clock, report: () => {}, changed: () => {} }),
      clock,
      report: () => {},
      pageSize: () => pageSize,
      shrinkPages() {
        pageSize /= 2;
        return true;
      },
      overlapUs: () => OVERLAP_US,
      late: (us) => lateUs.push(us),
      firstFromUs: () => TEST_START_US - 3_600 * SECOND_US,
      watchedSinceUs: () => TEST_START_US,
    },
  );
}

/** An entry that the service shows from now on, as if created so many seconds ago. */
const show = (secondsAgo: number) => shownUs.push(serviceNowUs() - secondsAgo * SECOND_US);
const poll = () => log.poll(signal);
const pass = (seconds: number) => clock.advance(seconds * 1000);

describe('an entry is late', () => {
  test('when it came behind the cursor of the sweep before, by the time since it occurred', async () => {
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

  test('not at a first start, nor when it was waiting ahead of the cursor all through an outage', async () => {
    show(2_000);
    show(5);
    await poll();
    await pass(7_200);
    show(7_000);
    show(10);
    expect((await poll()).fresh).toHaveLength(2);
    expect(lateUs).toEqual([]);
  });

  test('not when it came behind the cursor some time during an outage, nobody knows when', async () => {
    show(5);
    await poll();
    await pass(7_200);
    show(7_250);
    expect((await poll()).fresh).toHaveLength(1);
    expect(lateUs).toEqual([]);
  });

  test('not in the first sweep of a new life', async () => {
    show(5);
    await poll();
    log = openLog();
    show(60);
    expect((await poll()).fresh).toHaveLength(1);
    expect(lateUs).toEqual([]);
  });

  test('by as much as sweeps look back, when only an audit found it', async () => {
    show(5);
    await poll();
    await pass(600);
    const page = await log.ask({ page: 0, pageSize: 10, ascending: true, fromUs: 0 });
    expect(await log.keep(page.items)).toEqual([]);
    show(400);
    const later = await log.ask({ page: 0, pageSize: 10, ascending: true, fromUs: 0 });
    expect(await log.keep(later.items)).toHaveLength(1);
    expect(lateUs).toEqual([OVERLAP_US]);
  });
});

describe('the last sweep', () => {
  test('is known with where and when it began, once it has reached its end', async () => {
    expect(log.swept()).toBeUndefined();
    for (let second = 2_500; second > 0; second -= 1) show(second);
    expect((await poll()).more).toBe(true);
    expect(log.swept()).toBeUndefined();
    const beganUs = clock.nowUs();
    await pass(10);
    expect((await poll()).more).toBe(false);
    expect(log.swept()).toMatchObject({ fromUs: TEST_START_US - 3_600 * SECOND_US, atUs: beganUs });
    await poll();
    expect(log.swept()).toMatchObject({ fromUs: beganUs - SECOND_US - OVERLAP_US, atUs: clock.nowUs() });
  });
});

describe('what an audit keeps', () => {
  test('does not move the cursor, and is not new to the next sweep', async () => {
    show(50);
    await poll();
    const cursorUs = log.cursorUs();
    show(20);
    const page = await log.ask({ page: 0, pageSize: 10, ascending: true, fromUs: 0 });
    expect(await log.keep(page.items)).toHaveLength(1);
    expect(log.cursorUs()).toBe(cursorUs);
    movedUs = 1;
    expect((await poll()).fresh).toEqual([]);
  });

  test('is asked for in smaller pages when an answer was too large, not for any other refusal', async () => {
    const ask = () => log.ask({ page: 0, pageSize, ascending: true, fromUs: 0 });
    refuse = new NestwatchError('bad_request', 'no');
    await expect(ask()).rejects.toBe(refuse);
    expect(pageSize).toBe(100);
    refuse = new NestwatchError('too_large', 'no');
    await expect(ask()).rejects.toBe(refuse);
    expect(pageSize).toBe(50);
  });
});
