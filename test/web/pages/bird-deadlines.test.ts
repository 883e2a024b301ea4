import { expect, test } from 'vitest';
import { rule } from '../../domain/world.ts';
import { anAlertingConfig, anEvent, NOW_US } from '../sample.ts';
import { serve } from '../served.ts';

const MINUTE_US = 60_000_000;
const DAY_US = 1440 * MINUTE_US;
/** 07:00 in Amsterdam, today. */
const SEVEN_US = NOW_US - 7 * 60 * MINUTE_US;
const EXPORT = {
  ...rule('FlightOverdue', { landedBy: '0 7 * * *', timezone: 'Europe/Amsterdam', withinMs: 28_800_000 }),
  id: 'nightly-export',
};

/** A Bird that lands an hour early, but 24 min late yesterday, and not at all the day before. */
async function served(rules = [EXPORT]) {
  const all = await serve({ alerting: anAlertingConfig({ rules }) });
  await all.store.transaction(async (tx) => {
    await tx.inventory.regionSince('eu', NOW_US - 40 * DAY_US);
    const bird = { region: 'eu', birdId: '77', nestId: '7', name: 'Nightly export', status: 'active' };
    await tx.inventory.putBirds([{ ...bird, triggerType: 'scheduled', present: true, statusSinceUs: 1 }]);
    const { stream } = await tx.streams.open('eu', 'flight', '77');
    const flights = Array.from({ length: 40 }, (_, days) => {
      const endedAtUs = SEVEN_US - days * DAY_US + (days === 1 ? 24 : -60) * MINUTE_US;
      const status = days === 2 ? 'failed' : 'succeeded';
      return { stream, flightId: `d${days}`, startedAtUs: endedAtUs - 5 * MINUTE_US, endedAtUs, status };
    });
    await tx.flights.put(flights.map((one) => ({ ...one, open: false, ends: 1 })));
    await tx.overdue.judgeBirds([
      { region: 'eu', birdId: '77', nextUs: 0, deadlineUs: SEVEN_US, countedUs: 0 },
    ]);
  });
  return all;
}

test('the page of a Bird says when its next deadline is, and how the last ones were met', async () => {
  const { ask } = await served();
  expect((await ask('/birds/eu/77')).body).toContain(
    'Next deadline tomorrow, 07:00 (Amsterdam) · last 14: 12 met, 1 late (24 min), 1 missed<',
  );
});

test('so does the API, of each rule', async () => {
  const { ask } = await served([EXPORT, { ...EXPORT, id: 'other', landedBy: '0 23 * * *' }]);
  const { json } = await ask<{ deadlines: { rule: string; last: unknown[] }[] }>('/api/v1/birds/eu/77');
  expect(json.deadlines.map((one) => one.rule)).toEqual(['nightly-export', 'other']);
  expect(json.deadlines[0]).toMatchObject({
    timezone: 'Europe/Amsterdam',
    next_at: '2026-07-03T05:00:00.000000Z',
  });
  expect(json.deadlines[0]!.last.slice(-3)).toEqual([
    { at: '2026-06-30T05:00:00.000000Z', outcome: 'missed', late_seconds: null },
    { at: '2026-07-01T05:00:00.000000Z', outcome: 'late', late_seconds: 1440 },
    { at: '2026-07-02T05:00:00.000000Z', outcome: 'met', late_seconds: null },
  ]);
});

test('a Flight explains which deadlines it was for, and how they were met', async () => {
  const { ask, store } = await served();
  const startedUs = SEVEN_US - DAY_US + 19 * MINUTE_US;
  const event = anEvent({
    ...{
      id: 'd1/succeeded',
      type: 'flight.succeeded',
      birdId: '77',
      occurredAtUs: startedUs + 5 * MINUTE_US,
    },
    attributes: { flight_id: 'd1', started_at_us: startedUs - 30 * MINUTE_US },
  });
  await store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', 'flight', '77');
    await tx.events.insert(stream, [event]);
  });
  const { json } = await ask<{ deadlines: unknown[] }>(
    `/api/v1/events/${encodeURIComponent(event.key)}/explain`,
  );
  expect(json.deadlines).toEqual([
    {
      ...{ rule: 'nightly-export', timezone: 'Europe/Amsterdam', outcome: 'late', late_seconds: 1440 },
      at: '2026-07-01T05:00:00.000000Z',
    },
  ]);
  const page = await ask(`/events/${event.key}`);
  expect(page.body).toContain('yesterday, 07:00 (Amsterdam), late (24 min), rule nightly-export');
});

test('what is no longer kept, or not judged yet, is not counted', async () => {
  const { ask, store } = await served();
  await store.transaction((tx) => tx.inventory.regionSince('eu', SEVEN_US - 3.5 * DAY_US));
  const known = await ask('/birds/eu/77');
  expect(known.body).toContain('last 14:');
  await store.transaction((tx) =>
    tx.overdue.judgeBirds([
      { region: 'eu', birdId: '77', nextUs: 0, deadlineUs: SEVEN_US - 1, countedUs: 0 },
    ]),
  );
  expect((await ask('/birds/eu/77')).body).toContain('last 14: 12 met, 1 late (24 min), 1 missed');
});

test('after a first start it says why the deadline of the day is not judged', async () => {
  const { ask, store } = await served();
  await store.transaction(async (tx) => {
    await tx.inventory.began('eu', SEVEN_US + 192 * MINUTE_US);
    await tx.overdue.judgeBirds([{ region: 'eu', birdId: '77', nextUs: 0, deadlineUs: 0, countedUs: 0 }]);
  });
  expect((await ask('/birds/eu/77')).body).toContain(
    'Next deadline tomorrow, 07:00 (Amsterdam) · today, 07:00 not judged: watched only since 10:12<',
  );
  const { json } = await ask<{ deadlines: unknown[] }>('/api/v1/birds/eu/77');
  expect(json.deadlines).toMatchObject([
    {
      last: [],
      not_judged: { at: '2026-07-02T05:00:00.000000Z', watched_since: '2026-07-02T08:12:00.000000Z' },
    },
  ]);
});

test('a Bird without deadlines has no such line', async () => {
  const { ask } = await served([]);
  expect((await ask('/birds/eu/77')).body).not.toContain('Deadlines<');
});
