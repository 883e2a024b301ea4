import { expect } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { TEST_START_US } from '../../virtual-clock.ts';

/** A store that is being opened has what the life in `keep.ts` left behind; it is closed then. */
export async function expectKept(opening: Promise<Store>): Promise<void> {
  const store = await opening;
  await expectContent(store);
  await store.close();
}

async function expectContent(store: Store): Promise<void> {
  const seen = await store.transaction(async (tx) => ({
    streams: (await tx.streams.list('eu')).length + (await tx.streams.list('us')).length,
    alerts: (await tx.alerts.count()).map(({ alertname, state, count }) => `${alertname} ${state} ${count}`),
    silences: (await tx.silences.list()).map(({ comment }) => comment),
    deliveries: (await tx.outbox.count()).map(
      ({ receiver, state, count }) => `${receiver} ${state} ${count}`,
    ),
    nests: (await tx.inventory.nests('eu')).map(({ name }) => name),
    faults: await tx.faults.count(TEST_START_US),
  }));
  expect(seen).toEqual({
    streams: 10,
    alerts: ['DeliveryFailing pending 1', 'FlightFailed firing 3'],
    silences: ['known'],
    deliveries: ['lake delivered 3', 'lake retry 2', 'ops delivered 8'],
    nests: ['Zürich 東京 "eu"'],
    faults: [],
  });
}
