import { expect, test } from 'vitest';
import type { Fact } from '../../../src/domain/alert/fact.ts';
import { applyFacts } from '../../../src/store/change-alerts.ts';
import { deadlineMissed, MARKETING, rule, wrote } from '../../domain/world.ts';
import { groupNotification } from '../../store/contract/sample-records.ts';
import { aDelivery, NOW_US } from '../sample.ts';
import { putBirds, putFlights } from '../sample-birds.ts';
import { serve } from '../served.ts';

interface Birds {
  readonly birds: readonly { readonly bird: string; readonly standing: string }[];
  readonly next?: string;
}
interface Flights {
  readonly flights: readonly { readonly flight_id: string }[];
  readonly next?: string;
}

async function served() {
  const all = await serve();
  await putBirds(all.store);
  const birds = async (query: string) =>
    (await all.ask<Birds>(`/api/v1/birds${query}`)).json.birds.map((one) => one.bird);
  const flights = async (query: string) =>
    (await all.ask<Flights>(`/api/v1/flights${query}`)).json.flights.map((one) => one.flight_id);
  return { ...all, birds, flights };
}

test('GET /api/v1/birds returns those in trouble first, filtered, in pages', async () => {
  const { ask, birds } = await served();
  expect(await birds('')).toEqual(['Translate blog', 'Old one', 'Post news']);
  expect(await birds('?nest=market')).toEqual(['Translate blog', 'Post news']);
  expect(await birds('?standing=off')).toEqual(['Old one']);
  expect(await birds('?status=suspended')).toEqual(['Old one']);
  expect(await birds('?text=blog&region=eu')).toEqual(['Translate blog']);
  const { next } = (await ask<Birds>('/api/v1/birds?limit=2')).json;
  expect(await birds(`?limit=2&cursor=${next}`)).toEqual(['Post news']);
});

test('lists of Birds, Nests and Flights are also filtered by a Flight, a severity and a time', async () => {
  const { ask, birds, flights } = await served();
  const nests = async (query: string) =>
    (await ask<{ nests: { nest: string }[] }>(`/api/v1/nests${query}`)).json.nests.map((one) => one.nest);
  for (const query of ['?flight=f3', '?severity=critical', '?until=7h', '?bird=148890']) {
    expect(await birds(query)).toEqual(['Translate blog']);
    expect(await nests(query)).toEqual(['Marketing']);
  }
  expect(await birds('?since=45m')).toEqual(['Post news']);
  expect(await nests('?since=45m&bird=translate')).toEqual([]);
  expect(await birds('?since=2026-07-02T13:15&zone=Europe/Amsterdam')).toEqual(['Post news']);
  expect(await flights('?severity=critical')).toEqual(['f0']);
  expect(await flights('?severity=warning')).toEqual([]);
});

test('GET /api/v1/birds/{region}/{id} returns all that is known about one', async () => {
  const { ask } = await served();
  const { json } = await ask<Record<string, unknown>>('/api/v1/birds/eu/148890');
  expect(json).toMatchObject({
    ...{ region: 'eu', nest: 'Marketing', bird: 'Translate blog', standing: 'alerting', alerts_firing: 1 },
    counts: [
      { hours: 24, succeeded: 4, failed: 4, cancelled: 0, success_ratio: 0.5 },
      { hours: 168, succeeded: 4, failed: 4 },
      { hours: 720, succeeded: 4, failed: 4 },
    ],
    durations: { flights: 4, p50_seconds: 240, p95_seconds: 480 },
    next_flight: null,
    causes: [
      {
        error: 'Translation failed: the provider answered # …',
        count: 4,
        example: { flight_id: 'f0', step_id: 'translate' },
      },
    ],
    switched_off: null,
    alerts: [{ id: 'a', state: 'firing' }],
    log: [],
  });
  expect(json.flights).toHaveLength(8);
});

test('a scheduled Bird has a next Flight, and one that is off says who did it', async () => {
  const { ask } = await served();
  expect((await ask('/api/v1/birds/eu/2')).json).toMatchObject({
    next_flight: { expected_at: '2026-07-02T12:30:00.000000Z', every_seconds: 3600 },
  });
  expect((await ask('/api/v1/birds/us/3')).json).toMatchObject({
    standing: 'off',
    switched_off: { type: 'bird_log.Suspended', attributes: { initiator: 'anna@example.com' } },
    next_flight: null,
  });
});

test('GET /api/v1/flights returns the latest first, filtered, in pages', async () => {
  const { ask, flights, store } = await served();
  await putFlights(store, { birdId: '2' }, [{ id: 'now', status: 'active', startedAtUs: NOW_US }]);
  expect((await flights('')).slice(0, 3)).toEqual(['now', 'n0', 'f0']);
  expect(await flights('?bird=translate%20blog&status=failed')).toEqual(['f0', 'f2', 'f4', 'f6']);
  expect(await flights('?bird=148890&status=failed&since=4h')).toEqual(['f0', 'f2']);
  expect(await flights('?flight=f4')).toEqual(['f4']);
  expect(await flights('?text=too%20many&limit=1')).toEqual(['f0']);
  const { next } = (await ask<Flights>('/api/v1/flights?bird=148890&limit=7')).json;
  expect(await flights(`?bird=148890&limit=7&cursor=${next}`)).toEqual(['f7']);
});

test('GET /api/v1/flights/{region}/{id} returns its whole error, its alerts and who was notified', async () => {
  const { ask, store } = await served();
  await store.transaction(async (tx) => {
    const event = await tx.events.find('eu/flight/f0/failed');
    await tx.outbox.enqueue(groupNotification('n', [event!]), [aDelivery({ id: 'd', notificationId: 'n' })]);
  });
  expect((await ask('/api/v1/flights/eu/f0')).json).toMatchObject({
    ...{ region: 'eu', nest: 'Marketing', bird: 'Translate blog', flight_id: 'f0', status: 'failed' },
    ...{ started_at: '2026-07-02T11:00:00.000000Z', ended_at: '2026-07-02T11:01:00.000000Z' },
    ...{ duration_seconds: 60, step_id: 'translate', event: 'eu/flight/f0/failed' },
    end: { message: expect.stringContaining('   at Poll (line 12)') },
    alerts: [{ id: 'a' }],
    deliveries: [{ id: 'd', receiver: 'ops', integration: 'email' }],
    suppressions: [],
  });
});

test('a Flight in the air lists the alerts about it: that it waits, and that it is overdue', async () => {
  const { ask, store } = await served();
  const place = { ...MARKETING, birdId: '148890' };
  const wait = { ...wrote(0, { at: 1, readAt: 540 }), place, flightId: 'up', startedAtUs: NOW_US };
  const late = { ...deadlineMissed(500), place, fromUs: NOW_US - 1 } as Fact;
  await store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', 'flight', '148890');
    const up = { stream, startedAtUs: NOW_US, endedAtUs: 0, status: 'active', open: true, ends: 0 };
    await tx.flights.put(['up', 'other'].map((flightId) => ({ ...up, flightId })));
    await applyFacts(
      tx,
      [wait, late],
      [rule('FlightOverdue'), rule('FlightWaiting', { steps: ['*'] })],
      NOW_US,
    );
  });
  const names = async (id: string) =>
    (await ask<{ alerts: { labels: { alertname: string } }[] }>(`/api/v1/flights/eu/${id}`)).json.alerts.map(
      ({ labels }) => labels.alertname,
    );
  expect((await names('up')).toSorted()).toEqual(['FlightOverdue', 'FlightWaiting']);
  expect(await names('other')).toEqual(['FlightOverdue']);
  expect(await names('f0')).toEqual(['FlightFailed']);
});

test('GET /api/v1/nests returns the worst first', async () => {
  const { ask } = await served();
  const zero = { birds_alerting: 0, birds_failing: 0, birds_off: 0, alerts_firing: 0 };
  expect((await ask('/api/v1/nests')).json).toEqual({
    nests: [
      {
        ...{ region: 'eu', nest_id: '682', nest: 'Marketing', birds: 2, ...zero },
        ...{ birds_alerting: 1, birds_failing: 1, alerts_firing: 1 },
        ...{ flights_succeeded: 10, flights_failed: 4, success_ratio: 10 / 14 },
        links: {},
      },
      {
        ...{ region: 'us', nest_id: '7', nest: 'Sales', birds: 1, ...zero, birds_off: 1 },
        ...{ flights_succeeded: 0, flights_failed: 0, success_ratio: null },
        links: {},
      },
    ],
  });
});

test.each([
  ['/api/v1/birds?colour=red', 400, 'there is no parameter "colour"'],
  ['/api/v1/birds?region=asia', 400, 'region: must be one of eu, us'],
  ['/api/v1/birds?standing=bad', 400, 'standing: must be one of well, off, failing, alerting'],
  ['/api/v1/birds?cursor=x', 400, 'The cursor is not one'],
  ['/api/v1/birds/eu/none', 404, 'No such Bird is known'],
  ['/api/v1/birds/asia/148890', 404, 'No such Bird is known'],
  ['/api/v1/birds/eu/148890?x=1', 400, 'there is no parameter "x"'],
  ['/api/v1/flights/eu/f0?log=maybe', 400, 'log: must be one of true, false'],
  ['/api/v1/flights?since=yesterday', 400, 'since: must be'],
  ['/api/v1/flights?limit=0', 400, 'limit: must be a whole number'],
  ['/api/v1/flights/eu/none', 404, 'No such Flight is stored'],
  ['/api/v1/flights/us/f0', 404, 'No such Flight is stored'],
  ["/api/v1/deliveries/a$&b$'", 404, "a$&b$'"],
  ['/api/v1/nests?standing=well', 400, 'there is no parameter "standing"'],
  ['/api/v1/nests?since=1h&until=2h', 400, 'since: must be before until'],
])('%s is %i: %s', async (path, status, error) => {
  const { ask } = await served();
  const answer = await ask<{ error: string }>(path);
  expect(answer.status).toBe(status);
  expect(answer.json.error).toContain(error);
});

test('an id may be any text', async () => {
  const { ask, store } = await serve();
  const birdId = 'a/b "c" %2F ü';
  const bird = { region: 'eu', birdId, nestId: '1', name: 'x', status: 'active', triggerType: 'manual' };
  await store.transaction((tx) => tx.inventory.putBirds([{ ...bird, present: true, statusSinceUs: NOW_US }]));
  expect((await ask(`/api/v1/birds/eu/${encodeURIComponent(birdId)}`)).json).toMatchObject({
    bird_id: birdId,
  });
});
