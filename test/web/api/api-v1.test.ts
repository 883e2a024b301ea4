import { describe, expect, test } from 'vitest';
import { fingerprint } from '../../../src/domain/alert/alert.ts';
import type { EventJson } from '../../../src/domain/alert/event.ts';
import type { alertJson, deliveryJson } from '../../../src/web/api/alert-json.ts';
import { regionJson } from '../../../src/web/api/api-v1.ts';
import { anAlert, anEvent, aStatus, LABELS, NOW_US, putAlert, putDeliveries, putEvents } from '../sample.ts';
import { serve } from '../served.ts';

const MINUTE = 60_000_000;

interface Events {
  readonly events: readonly EventJson[];
  readonly next?: string;
}
interface Alerts {
  readonly alerts: readonly ReturnType<typeof alertJson>[];
}
interface Deliveries {
  readonly deliveries: readonly ReturnType<typeof deliveryJson>[];
}

describe('GET /api/v1/status', () => {
  test('has the state of each region and feed, with counts of alerts and deliveries [long]', async () => {
    const { ask, store } = await serve();
    await putAlert(store, { id: 'a' });
    await putDeliveries(store, [{ id: '1' }, { id: '2', state: 'dead' }, { id: '3', receiver: 'pager' }]);
    const { json } = await ask<{ regions: unknown[] }>('/api/v1/status');
    expect(json).toMatchObject({
      version: '0.1.0',
      started_at: '2026-07-01T10:00:00.000000Z',
      alerts: [{ alertname: 'FlightFailed', severity: 'critical', state: 'firing', count: 1 }],
      deliveries: { ops: { pending: 1, dead: 1 }, pager: { pending: 1 } },
    });
    expect(json.regions[1]).toEqual({
      region: 'us',
      health: 'up',
      reason: 'answered',
      since: '2026-07-01T10:00:00.000000Z',
      requests_per_second: 2.5,
      nests: 2,
      birds: 7,
      audits_behind_seconds: 90,
      reads: expect.arrayContaining([
        { feed: 'flight', streams: 12, overdue: 0, oldest_read: '2026-07-02T11:59:10.000000Z' },
      ]),
      feeds: [
        {
          feed: 'notification',
          cursor: '2026-07-02T10:30:00.000000Z',
          last_success: '2026-07-02T11:59:53.000000Z',
          streams: 1,
          open_flights: 0,
          verified_until: '2026-07-02T11:58:00.000000Z',
        },
        expect.objectContaining({ feed: 'bird_log' }),
        expect.objectContaining({ feed: 'flight', open_flights: 3 }),
      ],
    });
  });

  test('a region that was not read yet is starting, and what is unknown is null', async () => {
    const [eu] = aStatus().regions;
    const never = { cursorUs: 0, lastSuccessUs: 0, verifiedUntilUs: 0 };
    const feed = { feed: 'flight', streams: 0, polled: 0, openFlights: 0, ...never } as const;
    const region = { ...eu!, started: false, feeds: [feed] };
    const { ask } = await serve({ status: () => aStatus({ regions: [region] }) });
    const { json } = await ask<{ regions: unknown[] }>('/api/v1/status');
    expect(json.regions[0]).toMatchObject({
      health: 'starting',
      feeds: [{ cursor: null, last_success: null, verified_until: null }],
    });
  });
});

describe('GET /api/v1/events', () => {
  async function withEvents() {
    const served = await serve();
    await putEvents(served.store, [
      { id: 'a/failed', occurredAtUs: NOW_US - 3 * MINUTE },
      { id: 'b/succeeded', type: 'flight.succeeded', occurredAtUs: NOW_US - 2 * MINUTE },
      { id: 'c', region: 'us', feed: 'notification', birdId: '', type: 'notification.FlowDeactivated' },
    ]);
    const keys = async (query: string): Promise<string[]> =>
      (await served.ask<Events>(`/api/v1/events${query}`)).json.events.map(({ key }) => key);
    return { ...served, keys };
  }

  test('returns whole events, the newest first', async () => {
    const { ask, keys } = await withEvents();
    expect(await keys('')).toEqual(['us/notification/c', 'eu/flight/b/succeeded', 'eu/flight/a/failed']);
    const { json } = await ask('/api/v1/events?type=flight.failed');
    expect(json).toEqual({
      events: [
        {
          key: 'eu/flight/a/failed',
          short_id: expect.stringMatching(/^\w{6}-\w{3}$/),
          type: 'flight.failed',
          region: 'eu',
          feed: 'flight',
          occurred_at: '2026-07-02T11:57:00.0000001Z',
          observed_at: '2026-07-02T11:57:04.000000Z',
          nest_id: '682',
          nest: 'Marketing',
          bird_id: '148890',
          bird: 'Translate blog',
          message: 'The target language "nl-BE" is not supported',
          attributes: {},
        },
      ],
    });
  });

  test.each([
    ['?region=us', ['us/notification/c']],
    ['?feed=flight', ['eu/flight/b/succeeded', 'eu/flight/a/failed']],
    ['?region=eu&type=flight.succeeded', ['eu/flight/b/succeeded']],
    ['?since=2026-07-02T11:58:00Z', ['us/notification/c', 'eu/flight/b/succeeded']],
    ['?until=2026-07-02T11:58:00Z', ['eu/flight/a/failed']],
    ['?since=2026-07-02T13:58:30%2B02:00', ['us/notification/c']],
    ['?since=2026-07-02T13:58:30+02:00', ['us/notification/c']],
    ['?region=', ['us/notification/c', 'eu/flight/b/succeeded', 'eu/flight/a/failed']],
    ['?type=nothing.like_this', []],
  ])('%s filters [long]', async (query, expected) => {
    expect(await (await withEvents()).keys(query)).toEqual(expected);
  });

  test('returns pages that join without a gap', async () => {
    const { ask, keys } = await withEvents();
    const first = (await ask<Events>('/api/v1/events?limit=2')).json;
    expect(first.events).toHaveLength(2);
    expect(await keys(`?limit=2&cursor=${first.next}`)).toEqual(['eu/flight/a/failed']);
    expect((await ask(`/api/v1/events?limit=2&cursor=${first.next}`)).json).not.toHaveProperty('next');
  });
});

describe('bad parameters cause a 400 that says what is wrong', () => {
  test.each([
    [
      '/api/v1/events?regoin=eu',
      'there is no parameter "regoin"; there are: region, nest, bird, flight, name, severity, text, since, until, zone, feed, type, limit, cursor',
    ],
    ['/api/v1/status?foo=1', 'there is no parameter "foo"; it takes none'],
    ['/api/v1/events?feed=flights', 'feed: must be one of notification, bird_log, flight, inventory, action'],
    [
      '/api/v1/events?since=yesterday',
      'since: must be a duration like 2h, or an instant like 2026-07-02T13:59:34Z',
    ],
    ['/api/v1/events?limit=0', 'limit: must be a whole number from 1 to 1000'],
    ['/api/v1/events?limit=1001', 'limit: must be a whole number from 1 to 1000'],
    ['/api/v1/events?limit=1e2', 'limit: must be a whole number from 1 to 1000'],
    ['/api/v1/events?limit=1&limit=2', 'limit: given more than once'],
    [`/api/v1/events?type=${'x'.repeat(501)}`, 'type: longer than 500 characters'],
    ['/api/v1/events?cursor=%7Bbroken', 'The cursor is not one that an earlier answer gave.'],
    ['/api/v1/alerts?state=active', 'state: must be one of firing, resolved, pending'],
    [
      '/api/v1/deliveries?state=sent',
      'state: must be one of pending, leased, delivered, retry, ambiguous, dead, suppressed',
    ],
  ])('%s [long]', async (path, error) => {
    const { ask, reported } = await serve();
    expect(await ask(path)).toMatchObject({ status: 400, json: { error } });
    expect(reported).toEqual([]);
  });
});

describe('GET /api/v1/alerts', () => {
  test("returns Alertmanager's shape with the state and the count of events", async () => {
    const { ask, store } = await serve();
    await putAlert(store, { id: 'a' }, [{ id: '1' }, { id: '2' }]);
    const { alerts } = (await ask<Alerts>('/api/v1/alerts')).json;
    expect(alerts).toEqual([
      {
        id: 'a',
        state: 'firing',
        status: 'firing',
        labels: LABELS,
        annotations: { summary: 'Flight of Translate blog failed in Marketing (EU)' },
        startsAt: '2026-07-02T11:48:00.000000Z',
        endsAt: '0001-01-01T00:00:00Z',
        generatorURL: 'http://watch.example.com/nestwatch/alerts/a',
        fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
        events_total: 2,
        events: [
          expect.objectContaining({ key: 'eu/flight/2', type: 'flight.failed' }),
          expect.objectContaining({ key: 'eu/flight/1', region: 'eu', bird: 'Translate blog' }),
        ],
        events_omitted: 0,
        acknowledged: false,
        silenced: false,
        inhibited: false,
      },
    ]);
  });

  test('returns the newest 20 events of the episode, fewer of each if there are many alerts', async () => {
    const { ask, store } = await serve();
    const events = Array.from({ length: 25 }, (_, index) => anEvent({ id: String(index + 1) }));
    await putAlert(store, { id: 'a' }, events);
    // Three belong to the previous episode.
    await store.transaction((tx) => tx.alerts.put([anAlert({ id: 'a', eventsTotal: 22, lastSeq: 25 })]));
    type Listed = readonly { events: EventJson[]; events_total: number; events_omitted: number }[];
    const alerts = async (query: string) =>
      (await ask<{ alerts: Listed }>(`/api/v1/alerts?text=failed&limit=${query}`)).json.alerts;
    const [one] = await alerts('1');
    expect(one!.events.map(({ key }) => key)).toEqual(
      events
        .toReversed()
        .slice(0, 20)
        .map(({ key }) => key),
    );
    expect(one).toMatchObject({ events_total: 22, events_omitted: 2 });
    expect((await ask('/api/v1/alerts/a')).json).toMatchObject({ events_total: 22, events_omitted: 0 });
    for (let index = 0; index < 250; index += 1) await putAlert(store, { id: `b${index}` });
    const counts = async (query: string) =>
      (await alerts(query)).filter(({ events_total }) => events_total === 22).map((a) => a.events.length);
    expect(await counts('1000')).toEqual([0]);
    expect((await alerts('1000')).find(({ events_total }) => events_total === 22)!.events_omitted).toBe(22);
  });

  test('omits pending ones unless they are requested', async () => {
    const { ask, store } = await serve();
    await putAlert(store, { id: 'p', state: 'pending', startsAtUs: 0 });
    await putAlert(store, { id: 'r', state: 'resolved', endsAtUs: NOW_US - MINUTE });
    await putAlert(store, { id: 'f' });
    const ids = async (query: string) =>
      (await ask<Alerts>(`/api/v1/alerts${query}`)).json.alerts.map(({ id }) => id);
    expect((await ids('')).toSorted()).toEqual(['f', 'r']);
    expect(await ids('?state=pending')).toEqual(['p']);
    expect(await ids('?state=firing')).toEqual(['f']);
    expect((await ask<Alerts>('/api/v1/alerts?state=resolved')).json.alerts[0]?.endsAt).toBe(
      '2026-07-02T11:59:00.000000Z',
    );
    expect((await ask<Alerts>('/api/v1/alerts?state=pending')).json.alerts[0]?.startsAt).toBeNull();
  });
});

describe('GET /api/v1/alerts with filters', () => {
  const ids = ({ json }: { json: Alerts }) => json.alerts.map(({ id }) => id);

  test('filters, and continues page by page', async () => {
    const { ask, store } = await serve();
    for (const id of ['a', 'b', 'c']) {
      const labels = { ...LABELS, severity: id === 'c' ? 'warning' : 'critical' };
      await putAlert(store, { id, labels });
    }
    expect(ids(await ask('/api/v1/alerts?severity=warning'))).toEqual(['c']);
    expect(ids(await ask('/api/v1/alerts?nest=market&bird=148890&name=flightfailed'))).toHaveLength(3);
    const first = await ask<Alerts & { next: string }>('/api/v1/alerts?limit=2');
    expect(ids(first)).toEqual(['a', 'b']);
    expect(ids(await ask(`/api/v1/alerts?limit=2&cursor=${first.json.next}`))).toEqual(['c']);
    expect((await ask('/api/v1/alerts?cursor=x')).status).toBe(400);
  });

  test('says who acknowledged one', async () => {
    const { ask, post, store } = await serve();
    await putAlert(store, { id: 'a' });
    await putAlert(store, { id: 'b' });
    await post('/api/v1/alerts/acknowledge', { ids: ['a'], author: 'Ben' });
    expect(ids(await ask('/api/v1/alerts?acknowledged=true'))).toEqual(['a']);
    expect(ids(await ask('/api/v1/alerts?acknowledged=false'))).toEqual(['b']);
    const [one] = (await ask<Alerts>('/api/v1/alerts?acknowledged=true')).json.alerts;
    expect(one).toMatchObject({ acknowledged: true, silenced: false });
  });

  test('says of those that are over whether somebody acknowledged them before', async () => {
    const { ask, post, store } = await serve();
    for (const id of ['a', 'b', 'c']) await putAlert(store, { id });
    await post('/api/v1/alerts/acknowledge', { ids: ['a'], author: 'Ben' });
    for (const id of ['a', 'b']) await putAlert(store, { id, state: 'resolved', endsAtUs: NOW_US });
    const seen = await ask<Alerts>('/api/v1/alerts?state=resolved&acknowledged=true');
    expect(seen.json.alerts).toMatchObject([{ id: 'a', acknowledged: true }]);
    expect(ids(await ask('/api/v1/alerts?state=resolved&acknowledged=false'))).toEqual(['b']);
    expect(ids(await ask('/api/v1/alerts?acknowledged=true'))).toEqual(['a']);
    expect(ids(await ask('/api/v1/alerts?acknowledged=false'))).toEqual(['b', 'c']);
  });
});

describe('GET /api/v1/alerts/{id}', () => {
  test('returns all that is known about it, at an address with slashes or without', async () => {
    const { ask, store } = await serve();
    const id = 'FlightFailed/1d9a/eu/bird/148890';
    await putAlert(store, { id }, [{ id: 'f1/failed' }]);
    for (const path of [id, encodeURIComponent(id)]) {
      expect((await ask(`/api/v1/alerts/${path}`)).json).toMatchObject({
        id,
        kept: true,
        receivers: ['pager', 'ops'],
        events: [{ seq: 1, key: 'eu/flight/f1/failed' }],
        episodes: [],
        notifications: [],
        generatorURL: `http://watch.example.com/nestwatch/alerts/${id}`,
      });
    }
    expect(await ask('/api/v1/alerts/none')).toMatchObject({ status: 404 });
    expect(await ask('/api/v1/alerts/100%')).toMatchObject({ status: 400 });
  });
});

test('GET /api/v1/birds returns the existing Birds, with their Nests', async () => {
  const { ask, store } = await serve();
  const bird = { region: 'eu', birdId: '1', nestId: '682', name: 'Translate', status: 'active' } as const;
  await store.transaction(async (tx) => {
    await tx.inventory.putNests([{ region: 'eu', nestId: '682', name: 'Marketing', present: true }]);
    await tx.inventory.putBirds([
      { ...bird, triggerType: 'manual', present: true, statusSinceUs: NOW_US },
      { ...bird, birdId: '2', triggerType: 'event', present: false, statusSinceUs: NOW_US },
      { ...bird, region: 'us', triggerType: 'event', present: true, statusSinceUs: NOW_US },
    ]);
  });
  expect((await ask('/api/v1/birds?region=eu')).json).toEqual({
    birds: [
      {
        region: 'eu',
        nest_id: '682',
        nest: 'Marketing',
        bird_id: '1',
        bird: 'Translate',
        status: 'active',
        status_since: '2026-07-02T12:00:00.000000Z',
        trigger_type: 'manual',
        standing: 'well',
        alerts_firing: 0,
        last_flight: null,
        latest: [],
        links: {},
      },
    ],
  });
  expect((await ask<{ birds: unknown[] }>('/api/v1/birds')).json.birds).toHaveLength(2);
});

test('GET /api/v1/birds returns names that every JSON reader accepts', async () => {
  const { ask, store } = await serve();
  await store.transaction(async (tx) => {
    await tx.inventory.putNests([{ region: 'eu', nestId: '1', name: 'M\0', present: true }]);
    const bird = { region: 'eu', birdId: '1', nestId: '1', status: 'active', triggerType: 'event' } as const;
    await tx.inventory.putBirds([{ ...bird, name: 'T\ud800', present: true, statusSinceUs: NOW_US }]);
  });
  expect((await ask('/api/v1/birds')).json).toMatchObject({
    birds: [{ nest: 'M\uFFFD', bird: 'T\uFFFD' }],
  });
});

test('GET /api/v1/deliveries returns what was sent, to whom, when and why not', async () => {
  const { ask, store } = await serve();
  await putDeliveries(store, [
    { id: 'd1', state: 'delivered', attempts: 1, settledAtUs: NOW_US },
    {
      id: 'd2',
      receiver: 'pager',
      integration: 'webhook',
      state: 'retry',
      attempts: 2,
      lastError: 'HTTP 503',
    },
  ]);
  const { deliveries } = (await ask<Deliveries>('/api/v1/deliveries')).json;
  expect(deliveries.map(({ id }) => id)).toEqual(['d2', 'd1']);
  expect(deliveries[0]).toEqual({
    id: 'd2',
    notification_id: 'n-d2',
    receiver: 'pager',
    integration: 'webhook',
    integration_name: 'webhook',
    state: 'retry',
    attempts: 2,
    created_at: '2026-07-02T11:58:00.000000Z',
    next_attempt_at: '2026-07-02T11:58:00.000000Z',
    settled_at: null,
    last_error: 'HTTP 503',
    about: 'Events',
    about_more: 0,
  });
  expect(deliveries[1]).toMatchObject({ next_attempt_at: null, settled_at: '2026-07-02T12:00:00.000000Z' });
  const ids = async (query: string) =>
    (await ask<Deliveries>(`/api/v1/deliveries?${query}`)).json.deliveries.map(({ id }) => id);
  expect(await ids('receiver=ops')).toEqual(['d1']);
  expect(await ids('state=retry')).toEqual(['d2']);
  expect(await ids('limit=1')).toEqual(['d2']);
});

describe('/api/v1/deliveries/retry', () => {
  test('queues dead deliveries again, and wakes up the stages', async () => {
    const { post, store, changes } = await serve();
    await putDeliveries(store, [{ id: '1', state: 'dead' }, { id: '2' }]);
    const { status, json } = await post('/api/v1/deliveries/retry', { ids: ['1', '2', 'none'] });
    expect([status, json]).toEqual([200, { retried: ['1'] }]);
    expect(changes).toHaveLength(1);
    expect((await store.transaction((tx) => tx.outbox.find('1')))?.delivery.state).toBe('pending');
  });

  test.each([[{ ids: [] }], [{ ids: 'x' }], [{}], ['x']])('%j is refused', async (body) => {
    const { post, changes } = await serve();
    const { status, json } = await post<{ error: string }>('/api/v1/deliveries/retry', body);
    expect([status, json.error]).toEqual([400, expect.stringContaining('the body must be {"ids"')]);
    expect(changes).toEqual([]);
  });
});

describe('/api/v1/alerts/acknowledge', () => {
  test('silences what fires until it is resolved, and says why it did not silence the rest', async () => {
    const { post, store, changes } = await serve();
    await putAlert(store, { id: 'a/1' });
    await putAlert(store, { id: 'b', state: 'resolved' });
    const body = { ids: ['a/1', 'b', 'c', 'a/1'], author: ' Ben ', comment: 'half \ud800 a pair' };
    const { status, json } = await post('/api/v1/alerts/acknowledge', body);
    const [silence, ...others] = await store.transaction((tx) => tx.silences.list());
    expect(others).toEqual([]);
    expect(silence).toMatchObject({ alertId: 'a/1', createdBy: 'Ben', comment: 'half \ufffd a pair' });
    expect([status, json]).toEqual([
      200,
      {
        acknowledged: [{ id: 'a/1', silence_id: silence!.id }],
        refused: [
          { id: 'b', error: 'the alert is not firing' },
          { id: 'c', error: 'there is no such alert' },
        ],
      },
    ]);
    expect(changes).toHaveLength(1);
  });

  test.each([[{ ids: ['a/1'] }], [{ ids: ['a/1'], author: ' ' }], [{ ids: [], author: 'Ben' }], ['x']])(
    '%j is refused',
    async (body) => {
      const { post, store } = await serve();
      await putAlert(store, { id: 'a/1' });
      const { status, json } = await post<{ error: string }>('/api/v1/alerts/acknowledge', body);
      expect([status, json.error]).toEqual([400, expect.stringContaining('"author": "…"')]);
      expect(await store.transaction((tx) => tx.silences.list())).toEqual([]);
    },
  );
});

test.each([
  ['acknowledge', { author: 'x'.repeat(10_000) }, 'author: longer than 200 characters'],
  ['resolve', { author: 'Ben', comment: 'x'.repeat(2_001) }, 'comment: longer than 2000 characters'],
])('what is too long is refused by name, with how long it may be: %s', async (verb, signed, error) => {
  const { post } = await serve();
  const { status, json } = await post(`/api/v1/alerts/${verb}`, { ids: ['a/1'], ...signed });
  expect([status, json]).toEqual([400, { error }]);
});

describe('/api/v1/alerts/resolve', () => {
  test('ends what fires and says who did, and says why it did not end the rest', async () => {
    const { post, store, changes, probes, reported } = await serve();
    await putAlert(store, { id: 'a/1' });
    await putAlert(store, { id: 'b', state: 'resolved' });
    const labels = { alertname: 'RegionDown', severity: 'critical', region: 'eu' };
    await putAlert(store, { id: 'down', labels });
    const body = { ids: ['a/1', 'b', 'c', 'down', 'a/1'], author: ' Ben ', comment: 'mended' };
    const { status, json } = await post('/api/v1/alerts/resolve', body);
    expect([status, json]).toEqual([
      200,
      {
        resolved: [{ id: 'a/1', ends_at: '2026-07-02T12:00:00.000000Z' }],
        refused: [
          { id: 'b', error: 'the alert is not firing' },
          { id: 'c', error: 'there is no such alert' },
          {
            id: 'down',
            error: 'the region is asked again now, and the alert ends once it answers as it should',
          },
        ],
      },
    ]);
    expect(probes).toEqual(['eu']);
    expect(await store.transaction((tx) => tx.alerts.find('a/1'))).toMatchObject({
      state: 'resolved',
      endsAtUs: NOW_US,
      annotations: { resolved_by: 'it was resolved by hand by Ben: mended' },
    });
    expect(changes).toHaveLength(1);
    expect(reported).toEqual([
      { what: 'alert', alertname: 'FlightFailed', region: 'eu', state: 'resolved', alertId: 'a/1' },
      expect.objectContaining({ what: 'write', action: 'POST /api/v1/alerts/resolve', status: 200 }),
    ]);
  });

  test('without a name is refused', async () => {
    const { post, store } = await serve();
    await putAlert(store, { id: 'a/1' });
    const { status, json } = await post<{ error: string }>('/api/v1/alerts/resolve', { ids: ['a/1'] });
    expect([status, json.error]).toEqual([400, expect.stringContaining('"author": "…"')]);
    expect((await store.transaction((tx) => tx.alerts.find('a/1')))?.state).toBe('firing');
  });
});

describe('/api/v1/alerts/note', () => {
  const HOSTILE = '<img src=x onerror=alert(1)>\u202E half \ud800 of a pair';
  const notesOf = async ({ ask }: Awaited<ReturnType<typeof serve>>, id: string) =>
    (await ask<{ notes: unknown[] }>(`/api/v1/alerts/${id}`)).json.notes;

  test('stands with the alert, newest first, whether it fires or is over, and in the record of writes', async () => {
    const world = await serve();
    await putAlert(world.store, { id: 'a/1' });
    const over = { state: 'resolved', endsAtUs: NOW_US } as const;
    await putAlert(world.store, { id: 'b', ...over });
    const first = await world.post('/api/v1/alerts/note', { id: 'a/1', author: ' Ben ', text: ' A\r\nB ' });
    const note = { id: '00000000-0000-4000-8000-000000000001', author: 'Ben', text: 'A\nB', public: false };
    const at = '2026-07-02T12:00:00.000000Z';
    expect([first.status, first.json]).toEqual([200, { alert_id: 'a/1', ...note, at }]);
    world.clock.advance(1_000);
    // By what another program calls it.
    const id = fingerprint(anAlert({ id: 'a/1' }).labels);
    await world.post('/api/v1/alerts/note', { id, author: 'Ann', text: HOSTILE });
    const text = HOSTILE.toWellFormed();
    expect(await notesOf(world, 'a/1')).toMatchObject([
      { author: 'Ann', text },
      { ...note, at },
    ]);
    expect((await world.post('/api/v1/alerts/note', { id: 'b', author: 'Ann', text: 'x' })).status).toBe(200);
    await world.store.transaction((tx) => tx.alerts.delete(['b']));
    expect(await notesOf(world, 'b')).toMatchObject([{ author: 'Ann', text: 'x' }]);
    const { json } = await world.ask<{ writes: unknown[] }>('/api/v1/writes');
    expect(json.writes).toHaveLength(3);
    expect(json.writes[0]).toMatchObject({ action: 'POST /api/v1/alerts/note', status: 200 });
    expect(world.changes).toEqual([]);
  });

  test.each([
    [{ text: ' \n\u200B ' }, 400, 'a note needs a text'],
    [{ text: 'x'.repeat(2_001) }, 400, 'a note has at most 2000 characters; this one has 2001'],
    [{ id: 'none' }, 404, 'there is no alert none'],
    [
      { public: true },
      400,
      'no public page shows this alert: it is of no Nest that `web.public.nests` names',
    ],
    [{ author: ' ' }, 400, expect.stringContaining('the body must be {"id"')],
    [{ text: undefined }, 400, expect.stringContaining('the body must be {"id"')],
  ])('%j is refused', async (change, status, error) => {
    const { post, store, ask } = await serve();
    await putAlert(store, { id: 'a' });
    const body = { id: 'a', author: 'Ben', text: 'x', ...change };
    expect(await post('/api/v1/alerts/note', body)).toMatchObject({ status, json: { error } });
    expect((await ask<{ notes: unknown[] }>('/api/v1/alerts/a')).json.notes).toEqual([]);
  });

  test('is refused once the alert has 100 [long]', async () => {
    const { post, store } = await serve();
    await putAlert(store, { id: 'a' });
    const add = () => post('/api/v1/alerts/note', { id: 'a', author: 'Ben', text: 'x' });
    for (let at = 0; at < 100; at += 1) expect((await add()).status).toBe(200);
    expect(await add()).toMatchObject({
      status: 400,
      json: { error: 'the alert has 100 notes already, the most that one may have' },
    });
  });
});

describe('/api/v1/events/{key}/explain', () => {
  test('an address without a key is not found', async () => {
    const { ask } = await serve();
    expect((await ask('/api/v1/events/x')).status).toBe(404);
    expect((await ask('/api/v1/events/explain')).status).toBe(404);
    expect(await ask('/api/v1/events/%zz/explain')).toMatchObject({
      status: 400,
      json: { error: 'the key is not encoded as an address is' },
    });
  });
});

test('a region whose Nests are not listed says since when', () => {
  const [region] = aStatus().regions;
  const unlisted = { sinceUs: NOW_US - 600_000_000, said: 'HTTP 500', address: 'http://eu/nests' };
  const view = { ...region!, unlisted } as Parameters<typeof regionJson>[0];
  expect(regionJson(view)).toMatchObject({ health: 'unlisted', since: '2026-07-02T11:50:00.000000Z' });
});
