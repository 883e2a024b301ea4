import { expect, test } from 'vitest';
import { createDigests } from '../../src/alerting/send-digests.ts';
import type { Action } from '../../src/domain/action/action.ts';
import { bird, event, flight, insert, nest } from '../store/contract/sample-records.ts';
import { TEST_START_US } from '../virtual-clock.ts';
import { hook, NOTHING_CONFIGURED } from './desk.ts';
import { openMadeDigests } from './made-digests.ts';

const MINUTE_US = 60_000_000;

test('what a rule healed counts in the one digest that was made after its success was read', async () => {
  const { clock, inner, made, store } = await openMadeDigests();
  const startedAtUs = TEST_START_US + 50 * MINUTE_US;
  const action: Action = {
    ...{ id: 'a', name: 'fly_again', state: 'done', by: [], rule: 'r', comment: '', reason: '' },
    ...{ region: 'eu', nestId: '682', nest: 'Marketing', birdId: '1', bird: 'Bird 1', failedFlightId: 'f' },
    ...{ wantedAtUs: startedAtUs, askedAtUs: startedAtUs, settledAtUs: startedAtUs },
    newFlight: { flightId: 'g', startedAtUs },
  };
  await inner.transaction(async (tx) => {
    await tx.inventory.putNests([nest('682', 'Marketing')]);
    await tx.inventory.putBirds([bird('1')]);
    await tx.actions.put([action]);
  });
  const stop = new AbortController();
  const ended = createDigests({
    ...{ store, clock, report: () => {}, queued: () => {}, regions: () => [] },
    config: {
      ...NOTHING_CONFIGURED,
      ...{ receivers: [hook('ops')], regions: [{ name: 'eu', fly: true }] },
      digests: [{ name: 'd', cron: '0 * * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: false }],
    },
  }).run(stop.signal);
  await clock.advance(65 * 60_000);
  await expect.poll(() => made).toHaveLength(1);
  // It succeeded two minutes before the digest, and was read five minutes after it.
  const endedAtUs = TEST_START_US + 58 * MINUTE_US;
  await inner.transaction(async (tx) => {
    const success = { feed: 'flight', type: 'flight.succeeded', occurredAtUs: endedAtUs } as const;
    const stream = await insert(
      tx,
      [event('g/succeeded', { ...success, key: 'eu/flight/g/succeeded' })],
      '1',
    );
    const done = { status: 'succeeded', open: false, ends: 1, endedAtUs };
    await tx.flights.put([flight('g', { stream, startedAtUs, ...done })]);
  });
  await clock.advance(120 * 60_000);
  await expect.poll(() => made).toHaveLength(3);
  expect(made.map(({ digest }) => ('acted' in digest ? (digest.acted?.healed ?? 0) : 0))).toEqual([0, 1, 0]);
  stop.abort();
  await clock.advance(60_000);
  await ended;
});
