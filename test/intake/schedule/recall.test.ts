import { beforeEach, expect, test } from 'vitest';
import type { Event } from '../../../src/domain/alert/event.ts';
import { recallSeen } from '../../../src/intake/streams.ts';
import { event, NOW_US } from '../../store/contract/sample-records.ts';
import { openMemory, type TestStore } from '../../store/test-store.ts';

const HOUR_MS = 3_600_000;
const HOUR_US = HOUR_MS * 1000;

let store: TestStore;
beforeEach(async () => {
  store = await openMemory();
});

const recall = async () => Object.fromEntries(await recallSeen(store, 'eu', HOUR_MS));

async function watchSince(agoUs: number): Promise<void> {
  await store.inventory.regionSince('eu', NOW_US - agoUs);
}

/** Adds events to a stream, this many hours before the newest. */
async function came(feed: Event['feed'], birdId: string, hoursAgo: readonly number[]): Promise<void> {
  await store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', feed, birdId);
    const events = hoursAgo.map((hours, at) => {
      const occurredAtUs = NOW_US - hours * HOUR_US;
      return {
        ...event(`${feed}${birdId}${at}`),
        key: `eu/${feed}/${birdId}${at}`,
        feed,
        birdId,
        occurredAtUs,
      };
    });
    await tx.events.insert(stream, events);
    if (hoursAgo.length > 0) await tx.streams.advanceCursor(stream, NOW_US - hoursAgo[0]! * HOUR_US);
  });
}

test('of a region that was never watched nothing is known', async () => {
  expect(await recall()).toEqual({});
  await watchSince(HOUR_US);
  expect(await recall()).toEqual({});
});

test('the entries of the last hours are counted back from the newest, including streams without any, those of logs little', async () => {
  await watchSince(48 * HOUR_US);
  await came('flight', '1', [0, 1, 2, 13]);
  await came('bird_log', '1', [5]);
  await came('flight', '2', []);
  await came('notification', '', [0, 3]);
  const coveredMs = 12 * HOUR_MS;
  expect(await recall()).toEqual({
    'flights/1': { entries: 3, coveredMs },
    'logs/1': { entries: 1 / 20, coveredMs },
    'flights/2': { entries: 0, coveredMs },
  });
});

test("of a region that is watched for a short time, that time and the first reading's history count", async () => {
  await watchSince(HOUR_US);
  await came('flight', '1', [0, 1.5]);
  expect(await recall()).toEqual({ 'flights/1': { entries: 2, coveredMs: 2 * HOUR_MS } });
});

test("if all entries are older than the first reading's history, there is no time to count in", async () => {
  await watchSince(0);
  await came('flight', '1', [2]);
  expect(await recall()).toEqual({});
});
