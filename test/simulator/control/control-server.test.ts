import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createExchange } from '../../../src/simulator/answers/simulator-server.ts';
import { openControl } from '../../../src/simulator/control/control-server.ts';
import { createMovableClock } from '../../../src/simulator/control/endpoint.ts';
import { ENDPOINTS } from '../../../src/simulator/control/endpoints.ts';
import { seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import { createWorld } from '../../../src/simulator/world/world.ts';
import { createVirtualClock, TEST_START_US } from '../../virtual-clock.ts';
import { ask, type Json, TOKEN } from '../ask.ts';

async function controlled() {
  const virtual = createVirtualClock();
  const clock = createMovableClock(virtual);
  const world = createWorld({ region: 'eu', clock, random: seededRandom(1), token: TOKEN });
  const nest = world.addNest({ name: 'Customer 3' });
  const bird = world.addBird(nest.id, { name: 'Nightly export', triggerType: 'scheduled' });
  const { url, close } = await openControl({ world, clock }, '127.0.0.1', 0);
  onTestFinished(close);
  const send = async (target: string, body?: string, headers: Record<string, string> = {}) => {
    const [method = '', path = ''] = target.split(' ');
    const answer = await fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text };
  };
  /** Sends what must be accepted. */
  const tell = async (target: string, body?: unknown) => {
    const { status, text } = await send(target, body === undefined ? undefined : JSON.stringify(body));
    expect(status, text).toBe(200);
    return JSON.parse(text) as Json;
  };
  const flights = () => ask(world, `GET /nests/${nest.id}/birds/${bird.id}/flights`).list;
  const logs = () => ask(world, `GET /nests/${nest.id}/birds/${bird.id}/logs`).items;
  const flightLog = (id: unknown) =>
    ask(world, `GET /nests/${nest.id}/birds/${bird.id}/flights/${id}/logs?ascending=true`).items;
  return { url, clock: virtual, world, nest, bird, send, tell, flights, logs, flightLog };
}

describe('the list of endpoints', () => {
  test('names each with its fields, and its examples can be pasted in their order [long]', async () => {
    const { send, tell, world } = await controlled();
    for (const bird of world.birds.keys()) world.deleteBird(bird);
    for (const nest of world.nests.keys()) world.deleteNest(nest);
    const { text, headers } = await send('GET /');
    expect(headers.get('content-type')).toContain('text/plain');
    const ids: Record<string, string> = { nest: 'Customer 3', bird: 'Nightly export' };
    for (const { method, path, does, example, fields } of ENDPOINTS) {
      expect(text).toContain(`${method} /${path}  ${does}\n`);
      for (const [name, about] of Object.entries(fields)) {
        expect(about.length).toBeGreaterThan(5);
        expect(text).toMatch(new RegExp(`^ {4}${name} .*`, 'm'));
      }
      if (path === 'flights/{flight}') {
        ids.flight = String((await tell('POST /flights', { bird: 'Nightly export', startDate: '-1m' })).id);
      }
      if (path === 'members/{nest}/{member}') ids.member = 'owner@example.com';
      if (path === 'users/{user}') ids.user = 'owner@example.com';
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name]!));
      if (example) expect(text).toContain(`-d '${JSON.stringify(example)}'`);
      await tell(`${method} /${filled}`, example);
      if (method === 'POST' && path === 'nests/{nest}') ids.nest = 'Customer 4';
    }
    expect([...world.nests.values()]).toEqual([]);
  });
});

test('the README names the same endpoints, with bodies that are taken', async () => {
  const readme = readFileSync(new URL('../../../src/simulator/README.md', import.meta.url), 'utf8');
  const named = [...readme.matchAll(/`(GET|POST|DELETE) (\/\S*)`/g)].map(
    ([, method, path]) => `${method} ${path}`,
  );
  expect(named.toSorted()).toEqual(ENDPOINTS.map(({ method, path }) => `${method} /${path}`).toSorted());

  const { tell } = await controlled();
  const { id } = await tell('POST /flights', { bird: 'Nightly export', startDate: '-1m' });
  await tell('POST /nests', { name: 'Customer 4' });
  const rows = [...readme.matchAll(/^\| `(POST [^`]+)`.* \| `(\{.*\})` \|$/gm)];
  expect(rows.length).toBeGreaterThan(10);
  for (const [, target, body] of rows) {
    const path = target!
      .replace('{flight}', String(id))
      .replace('{bird}', 'Nightly%20export')
      .replace('{user}', 'owner@example.com');
    const given = JSON.parse(body!) as Json;
    await tell(path, ['POST /nests', 'POST /birds'].includes(path) ? { ...given, name: 'Another' } : given);
  }
});

describe('Flights', () => {
  test('start, and end with a message and the step that failed', async () => {
    const { tell, flights, flightLog, bird } = await controlled();
    const { id } = await tell('POST /flights', { bird: bird.id });
    expect(flights()).toMatchObject([{ id, status: 'active' }]);
    expect((await tell('GET /birds')) as unknown).toMatchObject([{ id: bird.id, activeFlights: [id] }]);
    const end = {
      status: 'failed',
      message: 'boom',
      errorType: 'PluginMisconfiguration',
      scope: 'Map fields',
    };
    await tell(`POST /flights/${id}`, end);
    expect(flights()).toMatchObject([{ id, status: 'failed', errorMessages: 'boom' }]);
    expect(flightLog(id).find(({ eventType }) => eventType === 5)).toMatchObject({
      errorType: 3,
      scope: 'Map fields',
      message: 'boom',
    });
    await tell(`POST /flights/${id}`, { status: 'active' });
    expect(flights()).toMatchObject([{ id, status: 'active' }]);
  });

  test('may have flown in the past, and end by themselves later', async () => {
    const { tell, flights, clock } = await controlled();
    await tell('POST /flights', {
      bird: 'Nightly export',
      startDate: '-10m',
      status: 'succeeded',
      duration: '4m',
    });
    expect(flights()).toMatchObject([{ status: 'succeeded', duration: 240 }]);
    await tell('POST /flights', { bird: 'Nightly export', status: 'cancelled', duration: '5s' });
    expect(flights()[0]).toMatchObject({ status: 'active' });
    await clock.advance(5_000);
    expect(flights()[0]).toMatchObject({ status: 'cancelled', duration: 5 });
  });

  test('become visible late, and so do their ends', async () => {
    const { tell, flights, clock, world } = await controlled();
    const body = { bird: 'Nightly export', startDate: '-10s', status: 'succeeded', visibleAfter: '3s' };
    const { id } = await tell('POST /flights', body);
    expect(flights()).toEqual([]);
    await clock.advance(3_000);
    expect(flights()).toMatchObject([{ id, status: 'succeeded', duration: 10 }]);

    const other = await tell('POST /flights', { bird: 'Nightly export', startDate: '-1m' });
    await tell(`POST /flights/${other.id}`, { status: 'succeeded', endedAt: '-5s', visibleAfter: '3s' });
    expect(flights()[1]).toMatchObject({ id: other.id, status: 'active' });
    await clock.advance(3_000);
    expect(flights()[1]).toMatchObject({ id: other.id, status: 'succeeded', duration: 55 });
    expect(world.truth().events).toMatchObject([
      { occurredAtUs: TEST_START_US, visibleAtUs: TEST_START_US + 3e6 },
      { occurredAtUs: TEST_START_US - 2e6, visibleAtUs: TEST_START_US + 6e6 },
    ]);
  });

  test('have a log that is told: their own steps write no more [long]', async () => {
    const { tell, flightLog, clock } = await controlled();
    const { id } = await tell('POST /flights', { bird: 'Nightly export', startDate: '-10m' });
    const written = () => flightLog(id).map(({ scope, message }) => scope ?? message);
    expect(written()).toEqual(['The Flight took off', 'Get entry', 'Convert document', 'Translate']);
    await tell(`POST /flights/${id}/logs`, { scope: 'Ask Ann', createdAt: '-2m' });
    await tell(`POST /flights/${id}/logs`, { scope: 'Publish', visibleAfter: '5s' });
    await clock.advance(3_600_000);
    expect(written()).toEqual([
      ...['The Flight took off', 'Get entry', 'Convert document', 'Translate', 'Ask Ann', 'Publish'],
    ]);
    expect(flightLog(id).slice(-2)).toMatchObject([
      { message: 'The step "Ask Ann" has finished', eventType: 4, createdAt: '2026-07-02T11:58:00.000000Z' },
      { createdAt: '2026-07-02T12:00:00.000000Z' },
    ]);
  });
});

describe('Birds', () => {
  test('have a log, late if asked, that leaves them as they are', async () => {
    const { tell, logs, bird, clock } = await controlled();
    const entry = { bird: 'Nightly export', eventType: 'Suspended', initiator: '<b>editor@example.com' };
    const { id } = await tell('POST /logs', { ...entry, createdAt: '-12m', visibleAfter: '2s' });
    expect(logs()).toEqual([]);
    await clock.advance(2_000);
    expect(logs()).toMatchObject([
      {
        id,
        eventType: 'Suspended',
        initiator: '<b>editor@example.com',
        createdAt: '2026-07-02T11:48:00.000000Z',
      },
    ]);
    expect(bird.status).toBe('active');
  });

  test('change, and write their log as the service does', async () => {
    const { tell, logs, bird, nest } = await controlled();
    for (const status of ['suspended', 'active', 'unpublished', 'active', 'active']) {
      await tell(`POST /birds/${bird.id}`, { status, initiator: 'ann@example.com' });
      expect(bird.status).toBe(status);
    }
    expect(logs().map(({ eventType, initiator }) => `${eventType} ${initiator}`)).toEqual([
      ...['Published ann@example.com', 'Activated ann@example.com', 'Suspended ann@example.com'],
    ]);
    const { id } = await tell('POST /nests', { name: 'Customer 4' });
    await tell(`POST /birds/${bird.id}`, { name: 'Export', nest: 'Customer 4', triggerType: 'event' });
    expect(bird).toMatchObject({ name: 'Export', nestId: id, triggerType: 'event' });
    await tell('DELETE /nests/Customer%204');
    expect(bird.deletedAtUs).toBeDefined();
    expect((await tell('GET /nests')) as unknown).toMatchObject([{ id: nest.id, members: [] }]);
  });

  test('of one name are told apart by id', async () => {
    const { tell, send, bird } = await controlled();
    const { id } = await tell('POST /birds', { nest: 'Customer 3', name: 'Nightly export' });
    const { status, text } = await send('POST /flights', '{"bird": "Nightly export"}');
    expect(status).toBe(400);
    expect(JSON.parse(text)).toEqual({
      error: `several have the name "Nightly export": give an id (${bird.id}, ${id})`,
    });
  });
});

test('members come and go, and are Users once', async () => {
  const { tell, nest, world } = await controlled();
  const ann = { email: 'ann@example.com' };
  await tell('POST /nests', { name: 'Other' });
  const { id } = await tell('POST /members', { nest: nest.id, ...ann });
  expect(await tell('POST /members', { nest: 'Other', ...ann })).toMatchObject({ id });
  expect(world.users.size).toBe(1);
  await tell(`DELETE /members/${nest.id}/ann@example.com`);
  expect((await tell('GET /nests')) as unknown).toMatchObject([{ members: [] }, { members: [{ id }] }]);
});

test('a connection is lost: retried first, then given up', async () => {
  const { send, tell, world } = await controlled();
  expect((await send('GET /')).text).toMatch(/^ {4}state +retrying, or lost \(given up\); required$/m);
  const { connection } = await tell('POST /connections', { name: 'Acme CMS', state: 'retrying' });
  await tell('POST /connections', { name: 'Acme CMS', id: connection, nest: 'Customer 3', state: 'lost' });
  const [lost, retrying] = ask(world, 'GET /notifications').items;
  expect(retrying).toMatchObject({ entityId: Number(connection), entityName: 'Acme CMS', workspaceId: null });
  expect(retrying!.message).toContain('Retrying');
  expect(lost).toMatchObject({
    entityId: Number(connection),
    workspaceId: Number(world.nests.keys().next().value),
  });
  expect(lost!.message).toContain('Please reconnect');
});

describe('the service', () => {
  test('is down as a whole or for one operation, and is limited', async () => {
    const { tell, world } = await controlled();
    const exchange = createExchange(world);
    const statusOf = (path: string) => {
      const reply = exchange({ method: 'GET', path: `/api-rest${path}`, headers: { authorization: TOKEN } });
      return reply.kind === 'answer' ? reply.response.status : reply.kind;
    };
    await tell('POST /outages', { answer: 403, operation: 'searchNests' });
    expect([statusOf('/nests'), statusOf('/notifications')]).toEqual([403, 200]);
    await tell('POST /outages', { answer: 503 });
    expect([statusOf('/nests'), statusOf('/notifications')]).toEqual([503, 503]);
    await tell('POST /outages', { answer: 'reset' });
    expect(statusOf('/notifications')).toBe('reset');
    await tell('DELETE /outages');
    expect([statusOf('/nests'), statusOf('/notifications')]).toEqual([200, 200]);

    await tell('POST /faults', { requests_per_second: 1 });
    expect([statusOf('/nests'), statusOf('/nests')]).toEqual([200, 429]);
    await tell('DELETE /faults');
    expect([statusOf('/nests'), statusOf('/nests')]).toEqual([200, 200]);
    const { total, byStatus } = (await tell('GET /requests')) as { total: number; byStatus: Json };
    expect({ total, byStatus }).toEqual({
      total: 11,
      byStatus: { 200: 6, 403: 1, 429: 1, 503: 2, reset: 1 },
    });
  });

  test('has a clock that moves, and with it what is due', async () => {
    const { tell, flights, world } = await controlled();
    await tell('POST /flights', { bird: 'Nightly export', status: 'succeeded', duration: '1h' });
    expect(await tell('POST /clock', { to: '2h' })).toEqual({ now: '2026-07-02T14:00:00.000000Z' });
    expect(flights()).toMatchObject([{ status: 'succeeded', duration: 3600 }]);
    await tell('POST /clock', { to: '2026-07-10T00:00:00Z' });
    expect(world.nowUs()).toBe(Date.UTC(2026, 6, 10) * 1000);
  });
});

describe('what cannot be done is refused with where and what', () => {
  const active = { bird: 'Nightly export' };
  async function expectRefused(
    target: string,
    body: object | string | undefined,
    status: number,
    message: string,
  ) {
    const { send, world } = await controlled();
    const answer = await send(target, typeof body === 'object' ? JSON.stringify(body) : body);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toEqual({ error: expect.stringContaining(message) });
    expect(answer.text).not.toContain('nvalid');
    expect([world.flights.size, world.nests.size, world.truth().events]).toEqual([0, 1, []]);
  }

  test.each<[object | string, string]>([
    [{}, 'bird: is missing'],
    [{ ...active, statu: 'failed' }, 'statu: unknown field; did you mean status? the fields are bird, '],
    [{ ...active, status: 'done' }, 'status: must be one of succeeded, failed, cancelled, active'],
    [{ ...active, startDate: 'noon' }, 'startDate: must be an instant such as 2026-'],
    [{ ...active, startDate: '5s' }, 'startDate: must not be in the future'],
    [{ ...active, duration: '5s' }, 'duration: needs a status'],
    [{ ...active, status: 'failed', duration: '-5s' }, 'duration: must be a duration such as 3s'],
    [{ ...active, errorType: 'Plugin' }, 'errorType: must be a number such as 3, or one of None, '],
    [{ ...active, errorType: 1.5 }, 'errorType: must be a number such as 3, or one of None, '],
    ['[]', 'the body: must be a map of keys and values'],
    [{ bird: ['Nightly export'] }, 'bird: must be one text, not a list'],
    [{ bird: 11 }, 'bird: must be text: put it in quotes'],
    ['{"bird":', 'the body is not JSON: Unexpected end of JSON input'],
  ])('a Flight of %j', (body, message) => expectRefused('POST /flights', body, 400, message));

  test.each<[string, object | undefined, number, string]>([
    ['POST /flights', { bird: 'exprot' }, 404, 'there is no Bird "exprot"'],
    ['POST /flights', { bird: 'Nightly exprot' }, 404, '; did you mean "Nightly export"?'],
    ['POST /flights/none', { status: 'failed' }, 404, 'there is no Flight none'],
    ['POST /logs', { ...active }, 400, 'eventType: is missing'],
    ['POST /nests', { name: '' }, 400, 'name: must not be empty'],
    ['DELETE /nests/Customer', undefined, 404, 'there is no Nest "Customer"'],
    ['POST /members', { nest: 'Customer 3' }, 400, 'email: is missing'],
    ['DELETE /members/Customer%203/ann@example.com', undefined, 404, 'there is no User "ann@example.com"'],
    ['POST /outages', { answer: 200 }, 400, 'answer: must be at least 400'],
    ['POST /connections', { name: 'Acme CMS' }, 400, 'state: must be one of retrying, lost'],
    ['POST /outages', { answer: 'down' }, 400, 'answer: must be a status from 400 to 599, "reset" or "html"'],
    ['POST /outages', { answer: 503, operation: 'fly' }, 400, 'operation: must be one of searchNests, '],
    ['POST /faults', { per_minute: 1 }, 400, 'body:1:2: unknown key "per_minute"; the keys are '],
    ['POST /faults', { latency_ms: 'slow' }, 400, 'body:1:15: latency_ms: must be a number'],
    ['POST /clock', { to: '-' }, 400, 'to: must be an instant'],
    ['PUT /flights', {}, 404, 'there is nothing under PUT /flights; GET / lists what there is'],
    ['GET /flight', undefined, 404, 'there is nothing under GET /flight; GET / lists what there is'],
  ])('%s %j', expectRefused);

  test('a Flight ends once, and not before its start', async () => {
    const { send, tell } = await controlled();
    const { id } = await tell('POST /flights', active);
    const early = await send(`POST /flights/${id}`, '{"status": "failed", "endedAt": "-1s"}');
    expect(JSON.parse(early.text)).toEqual({
      error: "endedAt: must not be before the Flight's start, 2026-07-02T12:00:00.000000Z",
    });
    await tell(`POST /flights/${id}`, { status: 'failed' });
    const again = await send(`POST /flights/${id}`, '{"status": "failed"}');
    expect([again.status, JSON.parse(again.text)]).toEqual([
      400,
      { error: `the Flight ${id} has ended already` },
    ]);
  });

  test('several mistakes are a line each', async () => {
    const { send } = await controlled();
    const { text } = await send('POST /flights', '{"bird": "Nightly export", "statu": 1, "duration": 5}');
    const [first, second, ...others] = JSON.parse(text).error.split('\n');
    expect([first, others]).toEqual(['duration: must be text: put it in quotes', []]);
    expect(second).toMatch(/^statu: unknown field; did you mean status\?/);
  });

  test('a body that is too large', async () => {
    const { send } = await controlled();
    const { status, text } = await send('POST /nests', JSON.stringify({ name: 'x'.repeat(70_000) }));
    expect([status, JSON.parse(text)]).toEqual([413, { error: 'the body is too large' }]);
  });
});

test('a page under a name that points here changes and reads nothing', async () => {
  const { url } = await controlled();
  const { hostname: host, port } = new URL(url);
  const status = await new Promise((resolve) => {
    const asked = request({ host, port, path: '/nests', headers: { host: 'evil.example' } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.end();
  });
  expect(status).toBe(421);
});

test.each<[string, Record<string, string>]>([
  ['of another site', { 'sec-fetch-site': 'cross-site' }],
  ['of another port of this machine', { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' }],
  ['whose browser names only its origin', { origin: 'https://evil.example' }],
  ['in a frame without origin', { origin: 'null', 'content-type': 'text/plain' }],
])('a page %s changes and reads nothing', async (_where, headers) => {
  const { send, world } = await controlled();
  for (const [target, body] of [['POST /nests', '{"name": "Customer 4"}'], ['GET /nests']] as const) {
    const answer = await send(target, body, headers);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([403, { error: expect.any(String) }]);
  }
  expect(world.nests.size).toBe(1);
});
