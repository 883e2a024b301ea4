/** What is reported about ended Flights and lost connections once they are committed. */
import { expect, test } from 'vitest';
import type { Event } from '../../src/domain/alert/event.ts';
import { createCommit } from '../../src/intake/commit.ts';
import type { Happening } from '../../src/report.ts';
import { event as sample } from '../store/contract/sample-records.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock, TEST_START_US } from '../virtual-clock.ts';

async function reportsOf(change: Partial<Event>): Promise<Happening[]> {
  const clock = createVirtualClock();
  const store = await openMemory(clock);
  const reports: Happening[] = [];
  const report = (one: Happening) => reports.push(one);
  const commit = createCommit({ store, rules: [], forward: [], clock, report, changed() {} });
  const event = sample('77', {
    ...{ key: 'eu/flight/77/failed', feed: 'flight', type: 'flight.failed', birdId: '1', attributes: {} },
    message: 'HTTP 503 from https://tms.example.com/jobs/815',
    ...change,
  });
  const { stream } = await store.streams.open('eu', 'flight', '1');
  await commit({ region: 'eu', stream: { stream, feed: 'flight' }, events: [{ event, historic: false }] });
  return reports.filter(({ what }) => what === 'flight' || what === 'connection_lost');
}

const END = {
  what: 'flight',
  region: 'eu',
  nestId: '682',
  birdId: '1',
  status: 'failed',
  atUs: TEST_START_US,
  eventKey: 'eu/flight/77/failed',
};

test.each([
  ['its own duration', { duration_seconds: 61.5 }, { durationMs: 61_500 }],
  ['when it started', { started_at_us: TEST_START_US - 2_000_000 }, { durationMs: 2_000 }],
  ['nothing', {}, {}],
  ['a duration without end', { duration_seconds: 1e308 }, {}],
  ['a start after its end', { started_at_us: TEST_START_US + 1 }, {}],
])('a failed Flight with %s', async (_, attributes, expected) => {
  expect(await reportsOf({ attributes })).toEqual([
    { ...END, cause: expect.stringMatching(/^HTTP ?# from https:\/\/tms.example.com\/…$/), ...expected },
  ]);
});

test('one that succeeded has no cause', async () => {
  const type = 'flight.succeeded';
  expect(await reportsOf({ type })).toEqual([{ ...END, status: 'succeeded' }]);
});

test.each([
  ['Connection lost, retrying', 'retrying'],
  ['All retries exceeded', 'given_up'],
])('a lost connection: %s', async (message, state) => {
  const change = { feed: 'notification', type: 'notification.ConnectionDisconnected', message } as const;
  expect(await reportsOf(change)).toEqual([{ what: 'connection_lost', region: 'eu', state }]);
});
