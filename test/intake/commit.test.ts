import { beforeEach, expect, test } from 'vitest';
import { defaultRule } from '../../src/domain/kinds/kinds.ts';
import { type Commit, createCommit } from '../../src/intake/commit.ts';
import { birdLogEvent } from '../../src/intake/feeds.ts';
import { openMemory, type TestStore } from '../store/test-store.ts';
import { createVirtualClock, TEST_START_US } from '../virtual-clock.ts';

const MINUTE_US = 60_000_000;
const names = { nest: () => 'Marketing', bird: () => 'Publish', nestOf: () => '682' };

let store: TestStore;
let commit: Commit;

beforeEach(async () => {
  const clock = createVirtualClock();
  store = await openMemory(clock);
  const rules = [defaultRule('BirdTriggerFailing')];
  commit = createCommit({ store, rules, forward: [], clock, report() {}, changed() {} });
});

/** Intake reads in the Bird's log that its trigger failed this many minutes after the story began. */
async function triggerFailed(minute: number): Promise<void> {
  const us = TEST_START_US + minute * MINUTE_US;
  const entry = {
    id: `log-${minute}`,
    createdAt: { us, text: '' },
    nestId: '682',
    birdId: '7',
    eventType: 'EventError',
    message: 'connection refused',
    eventFailedBy: '',
    errorType: '',
    initiator: '',
  };
  const { stream } = await store.streams.open('eu', 'bird_log', '7');
  const event = birdLogEvent('eu', '7', entry, names, us);
  await commit({ region: 'eu', stream: { stream, feed: 'bird_log' }, events: [{ event, historic: false }] });
}

const firing = async () => (await store.alerts.firing(undefined, 10)).length;

test('a Flight that was read before the failed triggers around it still separates them', async () => {
  const { stream } = await store.streams.open('eu', 'flight', '7');
  const flight = { stream, flightId: 'f', startedAtUs: TEST_START_US + 2 * MINUTE_US, status: 'active' };
  await commit({
    region: 'eu',
    stream: { stream, feed: 'flight' },
    flights: [{ ...flight, open: true, ends: 0 }],
  });
  await triggerFailed(1);
  await triggerFailed(3);
  expect(await firing()).toBe(0);
  await triggerFailed(4);
  expect(await firing()).toBe(1);
});
