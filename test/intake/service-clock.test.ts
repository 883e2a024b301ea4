import { afterEach, beforeEach, expect, test } from 'vitest';
import { createServiceClock } from '../../src/intake/service-clock.ts';
import type { Answer, PageQuery, ServiceClient } from '../../src/service/client.ts';
import type { NotificationEntry, Page } from '../../src/service/resources.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../virtual-clock.ts';

const HOUR_US = 3_600e6;

let clock: VirtualClock;
let store: Store;
let asked: PageQuery[];

beforeEach(async () => {
  clock = createVirtualClock();
  store = await openSqliteStore({ path: ':memory:', clock });
  asked = [];
});
afterEach(() => store.close());

/** A life with a service whose clock is three hours behind ours and whose answers take ten seconds. */
function life() {
  const getNotifications = async (query: PageQuery): Promise<Answer<Page<NotificationEntry>>> => {
    asked.push(query);
    const serverTimeUs = clock.nowUs() - 3 * HOUR_US;
    await clock.advance(10_000);
    return { value: { items: [], totalCount: 0, page: 0, pageSize: 1 }, serverTimeUs };
  };
  return createServiceClock('eu', { getNotifications } as unknown as ServiceClient, store, clock);
}

test('before it is known since when a region is watched nothing is guessed', async () => {
  const first = life();
  await first.load();
  expect(() => first.watchedSinceUs()).toThrow('not known yet');
});

test('what asks first finds out by the least question, and a later life knows it without one', async () => {
  const first = life();
  await first.load();
  await first.begun();
  // The life began as the service says, and not after the answer had come.
  const sinceUs = TEST_START_US - 3 * HOUR_US - 10e6;
  expect(first.watchedSinceUs()).toBe(sinceUs);
  await first.begun();
  expect(asked).toEqual([{ page: 0, pageSize: 1, ascending: true }]);

  await clock.advance(72 * 3_600_000);
  const later = life();
  await later.load();
  await later.begun();
  expect(later.watchedSinceUs()).toBe(sinceUs);
  expect(asked).toHaveLength(1);
});
