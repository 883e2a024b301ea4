/** Events are forwarded in batches whose ids never collide, whatever the service returns twice. */
import { beforeEach, expect, test } from 'vitest';
import { forwardEvents } from '../../src/alerting/forward-events.ts';
import type { Receiver } from '../../src/channels/receiver.ts';
import type { Event } from '../../src/domain/alert/event.ts';
import { webhook } from '../channels/sample-notifications.ts';
import { event, NOW_US } from '../store/contract/sample-records.ts';
import { openMemory, type TestStore } from '../store/test-store.ts';

const cloudevents = webhook({ format: 'cloudevents' });
const RECEIVERS: readonly Receiver[] = [
  { name: 'archive', integrations: [cloudevents] },
  { name: 'lake', integrations: [webhook(), cloudevents, cloudevents] },
];

let store: TestStore;
beforeEach(async () => {
  store = await openMemory();
});

/**
 * Queues the events for a receiver and forwards everything that waits; returns the ids of the batches, the oldest
 * first.
 */
async function forwards(receiver: string, ...events: readonly Event[]): Promise<string[]> {
  return store.transaction(async (tx) => {
    await tx.forwards.queue(events.map((one) => ({ receiver, event: one })));
    while ((await forwardEvents(tx, RECEIVERS, NOW_US)).done > 0);
    const found = await tx.outbox.page({ receiver, limit: 1000 }).then((one) => one.deliveries);
    return [...new Set(found.map(({ notificationId }) => notificationId))].toReversed();
  });
}

test('a batch goes to each integration that takes events, and has the same id in another store', async () => {
  const [id, ...others] = await forwards('lake', event('a'), event('b'));
  expect(others).toEqual([]);
  const deliveries = await store.outbox.page({ limit: 10 }).then((one) => one.deliveries);
  expect(deliveries.map((one) => one.id).toSorted()).toEqual([`${id}-101`, `${id}-201`]);
  await store.close();
  store = await openMemory();
  expect(await forwards('lake', event('a'), event('b'))).toEqual([id]);
});

test('a batch made again has the same id if it has the same events, read in any order, and no other', async () => {
  const [id] = await forwards('lake', event('a'), event('b'));
  for (const [events, isSame] of [
    [[event('b'), event('a', { occurredAtUs: NOW_US - 1 })], true],
    [[event('a'), event('c')], false],
  ] as const) {
    await store.close();
    store = await openMemory();
    expect((await forwards('lake', ...events))[0] === id).toBe(isSame);
  }
});

test('an event that comes again, with a new instant or not, makes a batch of its own and delays nobody', async () => {
  const later = event('a', { occurredAtUs: NOW_US + 1 });
  for (const again of [event('a'), later, event('a'), event('a')]) {
    await forwards('archive', again);
    await forwards('lake', again);
  }
  expect(new Set(await forwards('archive')).size).toBe(4);
  expect(new Set(await forwards('lake', event('b'))).size).toBe(5);
});

test('an event that is first in several batches at once leads to several', async () => {
  const rest = Array.from({ length: 99 }, (_, index) => event(`e${index}`));
  expect(await forwards('lake', event('a'), ...rest, event('a'), ...rest, event('a'))).toHaveLength(3);
});

test('a receiver for which it fails waits a while, and the others do not wait for it', async () => {
  let isBroken = true;
  const broken: Receiver = {
    name: 'archive',
    get integrations() {
      if (isBroken) throw new TypeError('no answer');
      return [cloudevents];
    },
  };
  const pass = (nowUs: number) =>
    store.transaction(async (tx) => {
      while ((await forwardEvents(tx, [broken, RECEIVERS[1]!], nowUs)).done > 0);
      const found = await tx.outbox.page({ limit: 1000 }).then((one) => one.deliveries);
      const set = await tx.faults.list(nowUs, 10);
      return { receivers: new Set(found.map(({ receiver }) => receiver)), faults: set };
    });
  await store.forwards.queue(['archive', 'lake'].map((receiver) => ({ receiver, event: event('a') })));
  const { receivers, faults } = await pass(NOW_US);
  expect(receivers).toEqual(new Set(['lake']));
  expect(faults).toMatchObject([{ sort: 'receiver', name: 'archive', reason: 'TypeError: no answer' }]);
  isBroken = false;
  expect((await pass(NOW_US + 299e6)).receivers).toEqual(new Set(['lake']));
  const later = await pass(NOW_US + 300e6);
  expect(later.receivers).toEqual(new Set(['archive', 'lake']));
  expect(later.faults).toEqual([]);
});
