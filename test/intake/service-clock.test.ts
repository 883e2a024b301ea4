import { beforeEach, expect, test } from 'vitest';
import { NestwatchError } from '../../src/errors.ts';
import { createServiceClock } from '../../src/intake/service-clock.ts';
import type { Answer, PageQuery, ServiceClient } from '../../src/service/client.ts';
import type { NotificationEntry, Page } from '../../src/service/resources.ts';
import type { Store } from '../../src/store/store.ts';
import { openMemory, type TestStore } from '../store/test-store.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../virtual-clock.ts';

const HOUR_US = 3_600e6;

let clock: VirtualClock;
let store: TestStore;
let asked: PageQuery[];

beforeEach(async () => {
  clock = createVirtualClock();
  store = await openMemory(clock);
  asked = [];
  aheadUs = -3 * HOUR_US;
});

let aheadUs: number;

/** A life with a service whose clock is three hours behind ours and whose answers take ten seconds. */
async function load(of: Store = store) {
  const getNotifications = async (query: PageQuery): Promise<Answer<Page<NotificationEntry>>> => {
    asked.push(query);
    const serverTimeUs = clock.nowUs() + aheadUs;
    await clock.advance(10_000);
    return { value: { items: [], totalCount: 0, page: 0, pageSize: 1 }, serverTimeUs };
  };
  const one = createServiceClock('eu', { getNotifications } as unknown as ServiceClient, of, clock);
  await one.load();
  return one;
}

test('before it is known since when a region is watched, nothing is guessed', async () => {
  const first = await load();
  expect(() => first.watchedSinceUs()).toThrow('not known yet');
});

test('the first to need it finds out by the smallest request, and a later life knows it without one', async () => {
  const first = await load();
  await first.begun();
  // The life began by the service's clock, when the request was sent and not when the answer came.
  const sinceUs = TEST_START_US - 3 * HOUR_US - 10e6;
  expect(first.watchedSinceUs()).toBe(sinceUs);
  await first.begun();
  // The clocks differ, so a second answer must agree with the first.
  const least = { page: 0, pageSize: 1, ascending: true };
  expect(asked).toEqual([least, least]);

  await clock.advance(72 * 3_600_000);
  const later = await load();
  await later.begun();
  expect(later.watchedSinceUs()).toBe(sinceUs);
  expect(asked).toHaveLength(2);
});

const NEWEST: PageQuery = { page: 0, pageSize: 100, ascending: true };

test('a first answer from a clock that was ahead makes no history of what happens once it is right', async () => {
  const first = await load();
  aheadUs = 30 * 365 * 24 * HOUR_US;
  await first.begun();
  aheadUs = 0;
  await clock.advance(60_000);
  await first.client.getNotifications(NEWEST);
  await first.client.getNotifications(NEWEST);
  expect(first.watchedSinceUs()).toBe(TEST_START_US - 10e6);
  expect((await load()).watchedSinceUs()).toBe(TEST_START_US - 10e6);
});

test('a stored beginning that is in the future is corrected at the next start', async () => {
  await store.inventory.regionSince('eu', TEST_START_US + 100 * HOUR_US);
  aheadUs = 0;
  const later = await load();
  await later.client.getNotifications(NEWEST);
  await later.client.getNotifications(NEWEST);
  expect(later.watchedSinceUs()).toBe(TEST_START_US - 10e6);
});

test('one answer with a time long ago changes nothing', async () => {
  const first = await load();
  await first.begun();
  const sinceUs = first.watchedSinceUs();
  for (const wrongUs of [-1000 * HOUR_US, -3 * HOUR_US, -1000 * HOUR_US, -3 * HOUR_US]) {
    aheadUs = wrongUs;
    await first.client.getNotifications(NEWEST);
  }
  expect(first.watchedSinceUs()).toBe(sinceUs);
});

test('a region that answered no earlier life is watched since the first of them began', async () => {
  aheadUs = 0;
  await load();
  await clock.advance(20 * 60_000);
  const second = await load();
  await clock.advance(60_000);
  await second.begun();
  // An answer takes ten seconds, and shows the time at which it was begun.
  expect(second.watchedSinceUs()).toBe(TEST_START_US - 10e6);
});

test('a clock that was wrong at the first start does not take the watch back for longer than three days', async () => {
  aheadUs = 0;
  await load();
  await clock.advance(30 * 86_400_000);
  const second = await load();
  await second.begun();
  expect(second.watchedSinceUs()).toBe(clock.nowUs() - 10e6 - 72 * HOUR_US);
});

test('a clock that disagrees with the service says nothing of earlier lives', async () => {
  aheadUs = -3 * HOUR_US;
  await load();
  await clock.advance(20 * 60_000);
  const second = await load();
  await second.begun();
  // Two answers of ten seconds; the first one showed the time at which it was begun.
  expect(second.watchedSinceUs()).toBe(clock.nowUs() - 3 * HOUR_US - 30e6);
});

test('how far the service is ahead is what two answers in a row show', async () => {
  const one = await load();
  expect(one.aheadUs()).toBe(0);
  const ask = () => one.client.getNotifications(NEWEST);
  await ask();
  expect(one.aheadUs()).toBe(0);
  await ask();
  // Each answer took ten seconds.
  expect(one.aheadUs()).toBe(-3 * HOUR_US - 10e6);
  aheadUs = 5e6;
  await ask();
  expect(one.aheadUs()).toBe(-5e6);
});

const DECADES_US = 30 * 365 * 24 * HOUR_US;

test('one answer with a time long ago, the first of all, does not make news of history', async () => {
  const first = await load();
  aheadUs = -DECADES_US;
  await first.client.getNotifications(NEWEST);
  expect(() => first.watchedSinceUs()).toThrow('not known yet');
  aheadUs = 0;
  await first.begun();
  expect(first.watchedSinceUs()).toBe(TEST_START_US - 10e6);
});

test('also if the first minutes show such times, as soon as both clocks agree', async () => {
  const first = await load();
  aheadUs = -DECADES_US;
  await first.begun();
  expect(first.watchedSinceUs()).toBe(TEST_START_US - DECADES_US - 10e6);
  await clock.advance(60_000);
  aheadUs = 0;
  await first.client.getNotifications(NEWEST);
  expect(first.watchedSinceUs()).toBe(TEST_START_US);
  expect((await load()).watchedSinceUs()).toBe(TEST_START_US);
});

test('what a full store did not take of it is written once it does', async () => {
  let isFull = false;
  const full = () => Promise.reject(new NestwatchError('disk_full', 'the store is full'));
  const first = await load({ ...store, transaction: (work) => (isFull ? full() : store.transaction(work)) });
  aheadUs = -DECADES_US;
  await first.begun();
  aheadUs = 0;
  isFull = true;
  await expect(first.client.getNotifications(NEWEST)).rejects.toThrow('full');
  isFull = false;
  await first.client.getNotifications(NEWEST);
  expect(first.watchedSinceUs()).toBe(TEST_START_US);
  expect((await load()).watchedSinceUs()).toBe(TEST_START_US);
});

test('a clock that shows another time in each answer is believed at last', async () => {
  const first = await load();
  const getNotifications = first.client.getNotifications;
  let known = 0;
  for (let count = 1; known === 0; count += 1) {
    aheadUs = -count * DECADES_US * (count % 2);
    if (aheadUs === 0) aheadUs = count * HOUR_US;
    await getNotifications(NEWEST);
    try {
      first.watchedSinceUs();
      known = count;
    } catch {}
  }
  expect(known).toBe(5);
});
