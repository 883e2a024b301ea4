import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { codeOf, NestwatchError } from '../../src/errors.ts';
import { STUCK_MS } from '../../src/replicas/duty-runner.ts';
import { LEASE_MS, SENDING_MS } from '../../src/replicas/membership.ts';
import { createOwnership, type Ownership } from '../../src/replicas/ownership.ts';
import type { Happening } from '../../src/report.ts';
import type { RefusedFile } from '../../src/store/ownership-store.ts';
import type { Store, Turns, Wakes, WakeUp } from '../../src/store/store.ts';
import { createStoreClock, sleep } from '../../src/time/clock.ts';
import { delivery, notification } from '../store/contract/sample-records.ts';
import { openMemory, type TestStore, testStore } from '../store/test-store.ts';
import { turnsBy } from '../store/turns-by.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';

const DUTIES = ['region a', 'region b', 'region c', 'region d'];

let clock: VirtualClock;
let store: TestStore;
let ears: Set<(what: WakeUp) => void>;

beforeEach(async () => {
  clock = createVirtualClock();
  store = await openMemory(clock);
  ears = new Set();
});

const wakes = (): Wakes => ({
  ring: (what) => {
    for (const heard of ears) clock.setTimer(5, () => heard(what));
  },
  listen(heard) {
    ears.add(heard);
    return () => ears.delete(heard);
  },
});

/** A replica whose work in each duty is to wait; what it owns can be seen from outside. */
function begin(
  name: string,
  {
    reaches = (): boolean => true,
    duties = DUTIES,
    busyMs = (): number => 0,
    refuses = (): boolean => false,
    turnMs = (): number => 0,
    asks = (_: keyof Turns): void => {},
    aheadMs = 0,
    refused = (): RefusedFile | undefined => undefined,
  } = {},
) {
  const happenings: Happening[] = [];
  const stores = new Map<string, Store>();
  const reached: Store = {
    ...store,
    transaction(work) {
      asks('transaction');
      return reaches() ? store.transaction(work) : Promise.reject(new Error('the store is not reached'));
    },
  };
  const turns: Turns = {
    ...turnsBy(reached),
    async renew(...of) {
      asks('renew');
      if (turnMs() > 0) await sleep(clock, turnMs());
      return reaches() ? store.ownership.renew(...of) : Promise.reject(new Error('so'));
    },
    shown() {
      asks('shown');
      return reaches() ? store.ownership.shown() : Promise.reject(new Error('so'));
    },
  };
  const report = (one: Happening) => void happenings.push(one);
  const busy: Store = {
    ...store,
    async transaction(work) {
      await sleep(clock, busyMs());
      return store.transaction(work);
    },
  };
  const sharing = { wakes: wakes(), turns };
  const refusing: Store = {
    ...store,
    transaction: (work) =>
      refuses() ? Promise.reject(new NestwatchError('store_down', 'so')) : reached.transaction(work),
  };
  const own = busyMs() > 0 ? busy : refusing;
  const storeClock = createStoreClock({ ...clock, nowUs: () => clock.nowUs() + aheadMs * 1000 });
  const options = {
    ...{ ...sharing, name, version: '1', store: own, random: () => 0.5, report, refused },
    ...{ clock: storeClock, storeClock, configInForce: () => ({ digest: '', sinceUs: 0 }) },
  };
  const ownership: Ownership = createOwnership(options);
  const stop = new AbortController();
  let leftOver = 0;
  const membership = ownership.begin(() => {
    leftOver += 1;
  });
  const done = duties.map((duty) =>
    ownership.whileOwned(
      {
        duty,
        show: () => `${duty} by ${name}`,
        async run(signal, own) {
          stores.set(duty, own);
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        },
      },
      stop.signal,
    ),
  );
  let ended: Promise<void> | undefined;
  async function end(): Promise<void> {
    stop.abort();
    membership.leave();
    await Promise.all(done);
    await membership.end();
  }
  const ends = () => (ended ??= end());
  onTestFinished(ends);
  return {
    ownership,
    happenings,
    stores,
    /** How often another one may have left work. */
    leftOver: () => leftOver,
    owned: () => duties.filter((duty) => ownership.owns(duty)),
    /** A stop that takes too long. */
    givesBack() {
      membership.leave();
      return membership.end();
    },
    /** Done at the end of the test, unless before. */
    ends,
  };
}

/** One replica, another a second later, and this many seconds of both. */
async function beginTwo(seconds: number, ofOne?: Parameters<typeof begin>[1]) {
  const one = begin('one', ofOne);
  await secondsPass(1);
  const two = begin('two');
  await secondsPass(seconds);
  return [one, two] as const;
}

/** It is sending a delivery, whose state can be asked for. */
async function sending({ ownership }: ReturnType<typeof begin>) {
  await store.transaction(async (tx) => {
    await tx.outbox.enqueue(notification('1'), [delivery('1', { notificationId: '1' })]);
    await tx.outbox.claim('ops', 0, clock.nowUs(), 1, ownership.senders.holder()!);
  });
  return async () => (await store.outbox.count())[0]?.state;
}

const secondsPass = (seconds: number) => clock.advance(seconds * 1000);

describe('one replica', () => {
  test('owns everything at once, and keeps it [long]', async () => {
    const one = begin('one');
    await secondsPass(1);
    expect(one.owned()).toEqual(DUTIES);
    await secondsPass(3_600);
    expect(one.owned()).toEqual(DUTIES);
    expect(one.happenings.map(({ what }) => what)).toEqual(['joined', ...DUTIES.map(() => 'duty')]);
  });

  test('queries the state of all once per turn while nothing happens, and rarely reports its own [long]', async () => {
    const asked = { renew: 0, shown: 0, transaction: 0 };
    begin('one', { asks: (what) => Object.assign(asked, { [what]: asked[what] + 1 }) });
    await secondsPass(60);
    Object.assign(asked, { renew: 0, shown: 0, transaction: 0 });
    await secondsPass(600);
    expect(asked.renew / 10).toBeLessThanOrEqual(24);
    expect(asked.shown / 10).toBeLessThanOrEqual(4);
    // To show the state of its own duties.
    expect(asked.transaction / 10).toBeLessThanOrEqual(4);
    const without = { renew: 0, shown: 0, transaction: 0 };
    begin('two', { duties: [], asks: (what) => Object.assign(without, { [what]: without[what] + 1 }) });
    await secondsPass(60);
    without.transaction = 0;
    await secondsPass(600);
    expect(without.transaction).toBe(0);
  });

  test('one with a slow store gets nothing if the store is quick for others', async () => {
    let isSlow = false;
    const slow = begin('slow', { turnMs: () => (isSlow ? 400 : 0) });
    await secondsPass(5);
    const quick = begin('quick');
    await secondsPass(120);
    expect(DUTIES.some((duty) => slow.ownership.owns(duty))).toBe(true);
    isSlow = true;
    await secondsPass(120);
    expect(DUTIES.filter((duty) => slow.ownership.owns(duty))).toEqual([]);
    expect(DUTIES.filter((duty) => quick.ownership.owns(duty))).toEqual([...DUTIES]);
    isSlow = false;
    await secondsPass(180);
    expect(DUTIES.some((duty) => slow.ownership.owns(duty))).toBe(true);
  });

  test('tells all how much its clock differs, and why it still uses an older configuration', async () => {
    let refused: RefusedFile | undefined;
    const one = begin('one', { aheadMs: -9_000, refused: () => refused });
    const two = begin('two', { aheadMs: 61_000 });
    const seen = () =>
      two.ownership.replicas().map(({ name, clockAheadUs, isOwn }) => [name, clockAheadUs / 1000, isOwn]);
    expect(two.ownership.replicas()).toEqual([]);
    await secondsPass(8);
    expect(seen()).toEqual([
      ['one', -9_000, false],
      ['two', 61_000, true],
    ]);
    refused = { mistakes: 1, first: 'n.yaml:3:1: rout: unknown key', sinceUs: 7 };
    expect(one.ownership.replicas()[0]).toMatchObject({ name: 'one', refused });
    await secondsPass(5);
    expect(two.ownership.replicas()[0]).toMatchObject({ name: 'one', refused });
    refused = undefined;
    await secondsPass(5);
    expect(two.ownership.replicas()[0]!.refused).toBeUndefined();
  });

  test('keeps what it owns if it was not heard for longer than a lease and nobody else wanted it', async () => {
    let isReached = true;
    const one = begin('one', { reaches: () => isReached });
    await secondsPass(1);
    isReached = false;
    await secondsPass(LEASE_MS / 1000 + 5);
    expect(one.owned()).toEqual([]);
    isReached = true;
    await secondsPass(5);
    expect(one.owned()).toEqual(DUTIES);
  });
});

test('a replica whose own work keeps the store busy stays alive, and keeps what it owns', async () => {
  const busy = begin('busy', { busyMs: () => STUCK_MS / 2 });
  await secondsPass(1);
  const other = begin('other');
  await secondsPass(10 * (LEASE_MS / 1000));
  const { replicas } = await store.ownership.view();
  expect(replicas.map(({ name }) => name)).toEqual(['busy', 'other']);
  expect([...busy.owned(), ...other.owned()].toSorted()).toEqual(DUTIES.toSorted());
  expect(busy.happenings.filter(({ what }) => what === 'trouble')).toEqual([]);
});

test('a replica that cannot commit any work leaves its duties to others until it can', async () => {
  let busyMs = 2 * STUCK_MS;
  const stuck = begin('stuck', { busyMs: () => busyMs });
  await secondsPass(1);
  const other = begin('other');
  await secondsPass((STUCK_MS + LEASE_MS) / 1000 + 20);
  expect([stuck.owned(), other.owned().toSorted()]).toEqual([[], DUTIES]);
  busyMs = 0;
  await secondsPass(60);
  const { replicas } = await store.ownership.view();
  expect(replicas.map(({ name }) => name).toSorted()).toEqual(['other', 'stuck']);
});

test('a replica whose work is refused, although its turns are not, leaves its duties to others until it is not [long]', async () => {
  let isRefused = false;
  const refused = begin('refused', { refuses: () => isRefused });
  await secondsPass(1);
  const other = begin('other');
  isRefused = true;
  await secondsPass((STUCK_MS + LEASE_MS) / 1000 + 35);
  expect([refused.owned(), other.owned().toSorted()]).toEqual([[], DUTIES]);
  const begun = () => other.happenings.filter(({ what }) => what === 'duty').length;
  const before = begun();
  await secondsPass(600);
  expect([refused.owned(), begun()]).toEqual([[], before]);
  isRefused = false;
  await secondsPass(10);
  const { replicas } = await store.ownership.view();
  expect(replicas.map(({ name }) => name).toSorted()).toEqual(['other', 'refused']);
});

describe('several replicas', () => {
  test('divide the work evenly a while after one joined, and no sooner [long]', async () => {
    const [one, two] = await beginTwo(25);
    expect([one.owned().length, two.owned().length]).toEqual([4, 0]);
    await secondsPass(60);
    expect([one.owned().length, two.owned().length]).toEqual([2, 2]);
    const before = [...one.happenings, ...two.happenings].length;
    await secondsPass(3_600);
    expect([...one.happenings, ...two.happenings]).toHaveLength(before);
  });

  test('take over at once from one that ends', async () => {
    const [one, two] = await beginTwo(5);
    await one.ends();
    await secondsPass(0.5);
    expect(two.owned()).toEqual(DUTIES);
    expect(two.ownership.view()?.replicas).toHaveLength(1);
  });

  test('take over at once from one whose work does not end, which commits nothing more', async () => {
    const [one, two] = await beginTwo(5);
    const late = one.stores.get('region a')!;
    await one.givesBack();
    await secondsPass(0.5);
    expect(two.owned()).toEqual(DUTIES);
    const written = late.transaction((tx) => tx.inventory.putRate('eu', { perSecond: 1, keptUs: 1 }));
    expect(await written.catch(codeOf)).toBe('lease_lost');
  });

  test('take over within a lease from a silent one, which commits nothing more and comes back', async () => {
    let isReached = true;
    const [one, two] = await beginTwo(2, { reaches: () => isReached });
    const late = one.stores.get('region a')!;
    isReached = false;
    await secondsPass(LEASE_MS / 1000 + 1);
    expect([one.owned(), two.owned()]).toEqual([[], DUTIES]);
    isReached = true;
    const written = late.transaction((tx) => tx.inventory.putRate('eu', { perSecond: 1, keptUs: 1 }));
    expect(await written.catch(codeOf)).toBe('lease_lost');
    expect(await store.inventory.rate('eu')).toBeUndefined();
    await secondsPass(100);
    expect([one.owned().length, two.owned().length]).toEqual([2, 2]);
  });

  test('leave what another was sending to it for as long as its last attempt may take, then send it again', async () => {
    let isReached = true;
    const one = begin('one', { reaches: () => isReached });
    const two = begin('two');
    await secondsPass(10);
    const before = two.leftOver();
    const stateOf = await sending(one);
    isReached = false;
    await secondsPass(LEASE_MS / 1000 + 1);
    expect([two.owned(), await stateOf(), two.leftOver() - before]).toEqual([DUTIES, 'leased', 1]);
    expect(one.ownership.senders.mayBegin()).toBe(false);
    await secondsPass(SENDING_MS / 1000 + 3);
    expect([await stateOf(), two.leftOver() - before]).toEqual(['ambiguous', 2]);
    isReached = true;
  });

  test('leave it that time even if the one that removes it looks after what those before it left', async () => {
    let isReached = true;
    const one = begin('one', { reaches: () => isReached });
    await secondsPass(10);
    const stateOf = await sending(one);
    isReached = false;
    await secondsPass((LEASE_MS - SENDING_MS) / 1000);
    const two = begin('two');
    while (two.owned().length === 0) await secondsPass(0.5);
    await secondsPass(SENDING_MS / 1000 - 1);
    expect(await stateOf()).toBe('leased');
    await secondsPass(4);
    expect(await stateOf()).toBe('ambiguous');
    isReached = true;
  });

  test('that paused begin no attempt before they were heard again', async () => {
    const one = begin('one');
    await secondsPass(1);
    expect(one.ownership.senders.mayBegin()).toBe(true);
    expect(one.ownership.senders.holder()).toBeGreaterThan(0);
    clock.stall(6_000);
    expect(one.ownership.senders.mayBegin()).toBe(false);
    clock.stall(10_000);
    expect(one.ownership.senders.holder()).toBeUndefined();
    await secondsPass(1);
    expect(one.ownership.senders.mayBegin()).toBe(true);
  });

  test("know the state of each other's work", async () => {
    begin('one');
    await secondsPass(1);
    const two = begin('two');
    await secondsPass(30);
    expect(two.ownership.shown('region a')?.shown).toBe('region a by one');
  });

  test('leave to each what only it has configured', async () => {
    const one = begin('one', { duties: ['region a'] });
    await secondsPass(1);
    const two = begin('two', { duties: ['region b'] });
    await secondsPass(60);
    expect([one.owned(), two.owned()]).toEqual([['region a'], ['region b']]);
  });
});

test('a lease that was taken but answered too late is not lost', async () => {
  let isAnswered = true;
  const inner = store;
  store = testStore({
    ...inner,
    async transaction(work) {
      const value = await inner.transaction(work);
      if (!isAnswered) throw new Error('the answer was lost');
      return value;
    },
  });
  const one = begin('one', { duties: ['region a'] });
  isAnswered = false;
  await secondsPass(1);
  expect(one.owned()).toEqual([]);
  isAnswered = true;
  await secondsPass(LEASE_MS / 1000 + 5);
  expect(one.owned()).toEqual(['region a']);
  await one.ends();
  store = inner;
});

test('what was last shown a day ago, as of a region that was removed, is read no more', async () => {
  await store.ownership.join('a', '1', 1);
  const lease = (await store.ownership.take('region gone', 1))!;
  await store.ownership.show([{ lease, shown: '{}' }]);
  await clock.advance(23 * 3_600_000);
  expect(await store.ownership.shown()).toHaveLength(1);
  await clock.advance(2 * 3_600_000);
  expect(await store.ownership.shown()).toEqual([]);
});
