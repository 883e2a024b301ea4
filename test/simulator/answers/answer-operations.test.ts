import { describe, expect, test } from 'vitest';
import { handle } from '../../../src/simulator/answers/answer-operations.ts';
import { ask, createTrial, type Json, TOKEN } from '../ask.ts';

const NOBODY = '00000000-0000-4000-8000-000000000000';

function furnished() {
  const trial = createTrial();
  const { world } = trial;
  const anna = world.addUser({ firstName: 'Anna', lastName: 'Kowalska', email: 'anna@example.com' });
  const bram = world.addUser({ firstName: 'Bram', isActive: false });
  const marketing = world.addNest({ name: 'Marketing', members: [anna.id] });
  const sandbox = world.addNest({ name: 'Sandbox' });
  const manual = world.addBird(marketing.id, {
    name: 'Translate blog',
    triggerType: 'manual',
    flightDurationMs: 5000,
  });
  const event = world.addBird(marketing.id, { name: 'Sync CMS → TMS', triggerType: 'event' });
  const timed = world.addBird(sandbox.id, { name: 'Timed', triggerType: 'scheduled' });
  const draft = world.addBird(marketing.id, { name: 'Draft', triggerType: 'manual', status: 'unpublished' });
  const paused = world.addBird(marketing.id, { name: 'Paused', triggerType: 'manual', status: 'suspended' });
  return {
    ...trial,
    timed,
    anna,
    bram,
    marketing,
    sandbox,
    manual,
    event,
    draft,
    paused,
    nest: `/nests/${marketing.id}`,
  };
}

function names(list: readonly Json[]): unknown[] {
  return list.map(({ name }) => name);
}

describe('Nests and Users', () => {
  test('searchNests lists every Nest with its members as Users', () => {
    const { world, marketing, sandbox, anna } = furnished();
    const { status, type, list } = ask(world, 'GET /nests');
    expect(status).toBe(200);
    expect(type).toBe('application/json; charset=utf-8');
    expect(list).toEqual([
      {
        id: marketing.id,
        name: 'Marketing',
        members: [
          { id: anna.id, firstName: 'Anna', lastName: 'Kowalska', email: 'anna@example.com', isActive: true },
        ],
      },
      { id: sandbox.id, name: 'Sandbox', members: [] },
    ]);
    expect(marketing.id).toMatch(/^\d+$/);
  });

  test('getNest gives one Nest, and 404 with an error object for another', () => {
    const { world, sandbox } = furnished();
    expect(ask(world, `GET /nests/${sandbox.id}`).json).toEqual({
      id: sandbox.id,
      name: 'Sandbox',
      members: [],
    });
    const missing = ask(world, 'GET /nests/999999');
    expect(missing.status).toBe(404);
    expect(missing.type).toBe('application/problem+json; charset=utf-8');
    expect(missing.json).toEqual({
      type: 'https://tools.ietf.org/html/rfc9110#section-15.5.5',
      title: 'Not Found',
      status: 404,
      detail: 'There is no Nest 999999.',
      instance: '/api-rest/nests/999999',
      traceId: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
    });
  });

  test('searchUsers lists all Users, getUser gives one, and 404 for nobody', () => {
    const { world, anna, bram } = furnished();
    expect(ask(world, 'GET /users').list.map(({ id, isActive }) => [id, isActive])).toEqual([
      [anna.id, true],
      [bram.id, false],
    ]);
    expect(ask(world, `GET /users/${bram.id}`).json.firstName).toBe('Bram');
    expect(ask(world, `GET /users/${NOBODY}`).status).toBe(404);
  });

  test('addUserToNest adds a member once, however often it is called, with an empty body', () => {
    const { world, nest, bram } = furnished();
    for (let time = 0; time < 2; time += 1) {
      const { status, body } = ask(world, `PUT ${nest}/users`, { userId: bram.id });
      expect([status, body]).toEqual([200, '']);
    }
    expect(ask(world, `GET ${nest}`).json.members).toHaveLength(2);
  });

  test.each([
    [
      'another field beside it',
      { userId: NOBODY, role: 'admin' },
      { role: ['The field role is not accepted.'] },
    ],
    ['no field', {}, { userId: ['The userId field is required.'] }],
    ['null', { userId: null }, { userId: ['The userId field is required.'] }],
    ['a number', { userId: 7 }, { userId: ['The userId field is required.'] }],
    ['a list', [NOBODY], { $: ['The body must be an object.'] }],
  ])('addUserToNest refuses %s', (_, body, errors) => {
    const { world, nest } = furnished();
    const answer = ask(world, `PUT ${nest}/users`, body);
    expect([answer.status, answer.json.errors]).toEqual([400, errors]);
  });

  test('addUserToNest does not find an unknown User or Nest', () => {
    const { world, nest, bram } = furnished();
    expect(ask(world, `PUT ${nest}/users`, { userId: NOBODY }).status).toBe(404);
    expect(ask(world, 'PUT /nests/999999/users', { userId: bram.id }).status).toBe(404);
  });

  test.each([
    ['application/json; charset=utf-8', 200],
    ['text/json', 200],
    ['application/merge-patch+json', 200],
    ['text/plain', 415],
    ['', 415],
  ])('addUserToNest answers the content type "%s" with %i', (type, status) => {
    const { world, nest, bram } = furnished();
    const headers = { authorization: TOKEN, 'Content-Type': type };
    const body = JSON.stringify({ userId: bram.id });
    expect(handle(world, { method: 'PUT', path: `/api-rest${nest}/users`, headers, body }).status).toBe(
      status,
    );
  });

  test('addUserToNest refuses a body that is not JSON', () => {
    const { world, nest } = furnished();
    const headers = { authorization: TOKEN, 'content-type': 'application/json' };
    const request = { method: 'PUT', path: `/api-rest${nest}/users`, headers, body: '{"userId":' };
    expect(handle(world, request).status).toBe(400);
  });

  test('removeUserFromNest removes a member, and does not find a non-member', () => {
    const { world, nest, anna } = furnished();
    const first = ask(world, `DELETE ${nest}/users/${anna.id}`);
    expect([first.status, first.body]).toEqual([200, '']);
    expect(ask(world, `GET ${nest}`).json.members).toEqual([]);
    expect(ask(world, `DELETE ${nest}/users/${anna.id}`).status).toBe(404);
  });
});

describe('Birds', () => {
  test('searchBirds filters by trigger type and status, in any case', () => {
    const { world, nest } = furnished();
    expect(names(ask(world, `GET ${nest}/birds`).list)).toEqual([
      'Translate blog',
      'Sync CMS → TMS',
      'Draft',
      'Paused',
    ]);
    expect(names(ask(world, `GET ${nest}/birds?TriggerType=event`).list)).toEqual(['Sync CMS → TMS']);
    expect(names(ask(world, `GET ${nest}/birds?status=Suspended`).list)).toEqual(['Paused']);
    expect(names(ask(world, `GET ${nest}/birds?TriggerType=manual&Status=active`).list)).toEqual([
      'Translate blog',
    ]);
    expect(ask(world, `GET ${nest}/birds?TriggerType=scheduled`).list).toEqual([]);
  });

  test('searchBirds refuses unknown values, before it looks for the Nest', () => {
    const { world } = furnished();
    const { status, json } = ask(world, 'GET /nests/999999/birds?TriggerType=timer&Status=broken');
    expect(status).toBe(400);
    expect(json.errors).toEqual({
      TriggerType: ["The value 'timer' is not valid for TriggerType."],
      Status: ["The value 'broken' is not valid for Status."],
    });
    expect(ask(world, 'GET /nests/999999/birds').status).toBe(404);
  });

  test('getBird returns exactly the fields of a Bird, and only below its own Nest', () => {
    const { world, nest, sandbox, manual, draft, marketing } = furnished();
    expect(ask(world, `GET ${nest}/birds/${manual.id}`).json).toEqual({
      id: manual.id,
      nestId: marketing.id,
      name: 'Translate blog',
      status: 'active',
      triggerType: 'manual',
      isPublished: true,
    });
    expect(ask(world, `GET ${nest}/birds/${draft.id}`).json.isPublished).toBe(false);
    expect(ask(world, `GET /nests/${sandbox.id}/birds/${manual.id}`).status).toBe(404);
  });

  test('a Bird that moved is found below its new Nest only; one that was deleted nowhere', () => {
    const { world, nest, sandbox, manual } = furnished();
    world.moveBird(manual.id, sandbox.id);
    expect(ask(world, `GET ${nest}/birds/${manual.id}`).status).toBe(404);
    expect(ask(world, `GET /nests/${sandbox.id}/birds/${manual.id}`).json.nestId).toBe(sandbox.id);
    world.deleteNest(sandbox.id);
    expect(ask(world, `GET /nests/${sandbox.id}/birds/${manual.id}`).status).toBe(404);
    expect(world.truth().birds.find(({ birdId }) => birdId === manual.id)?.deletedAtUs).toBe(world.nowUs());
  });

  test('flyBird starts a Flight of a manual, active Bird, which succeeds after its usual time', async () => {
    const { world, clock, nest, manual } = furnished();
    const answer = ask(world, `POST ${nest}/birds/${manual.id}`);
    expect([answer.status, answer.body]).toEqual([200, '']);
    const flights = `GET ${nest}/birds/${manual.id}/flights`;
    expect(ask(world, flights).list).toMatchObject([{ status: 'active', birdId: manual.id }]);
    await clock.advance(5000);
    expect(ask(world, flights).list).toMatchObject([{ status: 'succeeded', duration: 5 }]);
  });

  test.each(['event', 'timed', 'draft', 'paused'] as const)(
    'flyBird refuses the %s Bird with an error object',
    (which) => {
      const { world, ...birds } = furnished();
      const { id, nestId } = birds[which];
      const { status, type, json } = ask(world, `POST /nests/${nestId}/birds/${id}`);
      expect(status).toBe(400);
      expect(type).toBe('application/problem+json; charset=utf-8');
      expect(json).toMatchObject({
        title: 'Bad Request',
        status: 400,
        detail: expect.stringContaining('can be flown'),
      });
      expect(world.flights.size).toBe(0);
    },
  );

  test('getBirdLogs returns entries with numbers as ids, and omits what does not apply', () => {
    const { world, nest, event, marketing } = furnished();
    world.save(event.id);
    world.eventError(event.id, { message: 'no subscription' });
    const { json, items } = ask(world, `GET ${nest}/birds/${event.id}/logs?ascending=true`);
    expect({ ...json, items: items.length }).toEqual({ items: 2, totalCount: 2, page: 0, pageSize: 20 });
    const common = {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      createdAt: '2026-07-02T12:00:00.000000Z',
      workspaceId: Number(marketing.id),
      workflowId: Number(event.id),
    };
    expect(items).toEqual([
      { ...common, eventType: 'Saved', initiator: 'anna@example.com' },
      {
        ...common,
        eventType: 'EventError',
        message: 'no subscription',
        eventFailedBy: 'Subscription',
        errorType: 'PluginUnhandled',
      },
    ]);
  });

  test('getBirdLogs does not find an unknown Bird', () => {
    const { world, nest } = furnished();
    expect(ask(world, `GET ${nest}/birds/999999/logs`).status).toBe(404);
  });
});

describe('Flights', () => {
  test('searchFlights returns the newest first, filtered by start and status, both bounds inclusive', async () => {
    const { world, clock, nest, manual } = furnished();
    const failing = world.startFlight(manual.id, {
      fliesForMs: 1500,
      endsAs: 'failed',
      errorMessages: 'it broke',
    });
    await clock.advance(60_000);
    const flying = world.startFlight(manual.id);
    await clock.advance(1000);
    const flights = `GET ${nest}/birds/${manual.id}/flights`;
    const ids = (query: string) => ask(world, `${flights}${query}`).list.map(({ id }) => id);
    expect(ids('')).toEqual([flying.id, failing.id]);
    expect(ids('?MinStartDate=2026-07-02T12:01:00Z')).toEqual([flying.id]);
    expect(ids('?MaxStartDate=2026-07-02T12:00:00Z')).toEqual([failing.id]);
    expect(ids('?MinStartDate=2026-07-02T12:00:01Z&MaxStartDate=2026-07-02T12:00:59Z')).toEqual([]);
    expect(ids('?Status=active')).toEqual([flying.id]);
    expect(ids('?Status=active&MaxStartDate=2026-07-02T12:00:30Z')).toEqual([]);
    expect(ids('?Status=failed')).toEqual([failing.id]);
    expect(ask(world, flights).list).toEqual([
      {
        id: flying.id,
        birdId: manual.id,
        nestId: manual.nestId,
        status: 'active',
        startDate: '2026-07-02T12:01:00.000000Z',
        duration: 1,
      },
      {
        id: failing.id,
        birdId: manual.id,
        nestId: manual.nestId,
        status: 'failed',
        errorMessages: 'it broke',
        startDate: '2026-07-02T12:00:00.000000Z',
        duration: 1,
      },
    ]);
    expect(ask(world, `${flights}?Status=flying&MinStartDate=noon`).json.errors).toEqual({
      MinStartDate: ["The value 'noon' is not valid for MinStartDate."],
      Status: ["The value 'flying' is not valid for Status."],
    });
  });

  test('getFlight finds a Flight by its id in any case, below its own Bird only', () => {
    const { world, nest, manual, event } = furnished();
    const flight = world.startFlight(manual.id);
    const path = `GET ${nest}/birds/${manual.id}/flights/${flight.id.toUpperCase()}`;
    expect(ask(world, path).json).toMatchObject({ id: flight.id, status: 'active' });
    expect(ask(world, `GET ${nest}/birds/${event.id}/flights/${flight.id}`).status).toBe(404);
    expect(ask(world, `GET ${nest}/birds/${manual.id}/flights/${NOBODY}`).status).toBe(404);
  });

  test('the log of a failed Flight has its start, steps, retries, the error that was not skipped, and the stop', async () => {
    const { world, clock, nest, manual } = furnished();
    const flight = world.startFlight(manual.id);
    await clock.advance(3000);
    world.endFlight(flight.id, 'failed', {
      errorMessages: 'quota',
      failedStep: { stepId: '7', scope: 'Translate', errorType: 2 },
      retriedErrors: 1,
    });
    const logs = ask(world, `GET ${nest}/birds/${manual.id}/flights/${flight.id}/logs?ascending=true`);
    expect(
      logs.items.map(({ eventType, isRetried, isSkipped }) => [eventType, isRetried, isSkipped]),
    ).toEqual([
      [1, undefined, undefined],
      [4, undefined, undefined],
      [4, undefined, undefined],
      [5, true, false],
      [5, false, false],
      [3, false, false],
    ]);
    expect(logs.items[4]).toEqual({
      id: expect.any(String),
      createdAt: '2026-07-02T12:00:02.800000Z',
      workspaceId: Number(manual.nestId),
      flowInstanceId: flight.id,
      message: 'quota',
      eventType: 5,
      eventFailedBy: 'EventInvocation',
      isSkipped: false,
      isRetried: false,
      stepId: '7',
      scope: 'Translate',
      errorType: 2,
    });
    expect(logs.items[2]).toMatchObject({
      sdkLogType: 'Information',
      stepId: '2',
      scope: 'Convert document',
    });
  });

  test('a Flight that succeeds may have skipped errors; its log ends with the duration', async () => {
    const { world, clock, nest, manual } = furnished();
    const flight = world.startFlight(manual.id, {
      fliesForMs: 90_500,
      endsAs: 'succeeded',
      skippedErrors: 1,
    });
    const logs = () => ask(world, `GET ${nest}/birds/${manual.id}/flights/${flight.id}/logs`).items;
    expect(logs().map(({ eventType }) => eventType)).toEqual([1]);
    const before = logs()[0];
    await clock.advance(91_000);
    expect(logs()[0]).toMatchObject({
      eventType: 2,
      durationInSeconds: 90,
      createdAt: '2026-07-02T12:01:30.500000Z',
    });
    expect(logs()[1]).toMatchObject({ eventType: 5, isSkipped: true, isRetried: false });
    expect(logs().at(-1)).toEqual(before);
    expect(
      ask(world, `GET ${nest}/birds/${manual.id}/flights/${flight.id}/logs?pageSize=2&page=1`).json,
    ).toMatchObject({
      totalCount: 6,
      page: 1,
      pageSize: 2,
      items: [{ eventType: 4 }, { eventType: 4 }],
    });
    expect(ask(world, `GET ${nest}/birds/${manual.id}/flights/${NOBODY}/logs`).status).toBe(404);
  });
});

describe('notifications', () => {
  test('getNotifications returns exactly the fields of a Notification, newest first, ten by default', async () => {
    const { world, clock, marketing } = furnished();
    world.disconnectConnection({ entityId: '17', entityName: 'DeepL', exhausted: false, wording: 'old' });
    await clock.advance(81_000);
    world.disconnectConnection({
      nestId: marketing.id,
      entityId: '17',
      entityName: 'DeepL',
      exhausted: true,
      wording: 'new',
    });
    const { json, items } = ask(world, 'GET /notifications');
    expect({ ...json, items: [] }).toEqual({ items: [], totalCount: 2, page: 0, pageSize: 10 });
    const common = {
      id: expect.any(String),
      entityId: 17,
      entityName: 'DeepL',
      entityType: 'Connection',
      eventType: 'ConnectionDisconnected',
      isSeen: false,
    };
    expect(items).toEqual([
      {
        ...common,
        createdAt: '2026-07-02T12:01:21.000000Z',
        workspaceId: Number(marketing.id),
        message:
          'We noticed a disconnection while periodically checking. All retries exceeded. Please reconnect.',
      },
      {
        ...common,
        createdAt: '2026-07-02T12:00:00.000000Z',
        workspaceId: null,
        message: 'Connection check failed. Retrying connection, please wait.',
      },
    ]);
    await clock.advance(3_600_001);
    expect(ask(world, 'GET /notifications').items.map(({ isSeen }) => isSeen)).toEqual([true, true]);
  });

  test('the id of an entry is a UUIDv7 of its millisecond', () => {
    const { world } = furnished();
    const createdAtUs = Date.UTC(2026, 6, 2, 13, 59, 34, 590) * 1000 + 833;
    const { id } = world.appendNotification({ createdAtUs });
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(createdAtUs / 1000 - 0.833);
    expect(ask(world, 'GET /notifications').items[0]!.createdAt).toBe('2026-07-02T13:59:34.590833Z');
  });
});

describe('what every operation refuses', () => {
  const targets = [
    'GET /nests',
    'GET /nests/1',
    'PUT /nests/1/users',
    'DELETE /nests/1/users/2',
    'GET /nests/1/birds',
    'GET /nests/1/birds/2',
    'POST /nests/1/birds/2',
    'GET /nests/1/birds/2/logs',
    'GET /nests/1/birds/2/flights',
    'GET /nests/1/birds/2/flights/3',
    'GET /nests/1/birds/2/flights/3/logs',
    'GET /notifications',
    'GET /users',
    'GET /users/1',
  ];

  test.each(targets)('%s without, or with another token', (target) => {
    const { world } = furnished();
    const [method = '', path = ''] = target.split(' ');
    for (const headers of [{}, { authorization: `Bearer ${TOKEN}` }]) {
      const answer = handle(world, { method, path: `/api-rest${path}`, headers });
      expect([answer.status, JSON.parse(answer.body).status]).toEqual([401, 401]);
    }
    expect(world.requests()).toMatchObject({ total: 2, byStatus: { 401: 2 } });
    expect(Object.keys(world.requests().byOperation)).not.toContain('unknown');
  });

  test('a token that the service refuses by now', () => {
    const { world } = furnished();
    world.refuseToken();
    expect(ask(world, 'GET /nests').status).toBe(401);
    world.acceptToken();
    expect(ask(world, 'GET /nests').status).toBe(200);
  });

  test.each([
    'GET /',
    'GET /birds',
    'GET /nests/',
    'GET /nests/1/birds/2/flights/3/logs/4',
    'GET /nests/%E0%A4%A',
  ])('%s, which is not a path', (target) => {
    const { world } = furnished();
    expect(ask(world, target).status).toBe(404);
    expect(world.requests().byOperation).toEqual({ unknown: 1 });
  });

  test('a path without the prefix', () => {
    const { world } = furnished();
    expect(handle(world, { method: 'GET', path: '/nests', headers: { authorization: TOKEN } }).status).toBe(
      404,
    );
  });

  test('a method that the path does not support, with those that it does', () => {
    const { world } = furnished();
    const answer = handle(world, {
      method: 'PATCH',
      path: '/api-rest/nests/1/birds/2',
      headers: { Authorization: TOKEN },
    });
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, POST']);
  });

  test.each(['GET /notifications', 'GET /nests/1/birds/2/logs', 'GET /nests/1/birds/2/flights/3/logs'])(
    '%s with invalid parameters, each named',
    (target) => {
      const { world } = furnished();
      const { status, json } = ask(
        world,
        `${target}?page=-1&pageSize=0&ascending=maybe&from=yesterday&to=2026-02-30T00:00:00Z`,
      );
      expect(status).toBe(400);
      expect(json).toMatchObject({ title: 'One or more validation errors occurred.', status: 400 });
      expect(json.errors).toEqual({
        page: ["The value '-1' is not valid for page."],
        pageSize: ["The value '0' is not valid for pageSize."],
        ascending: ["The value 'maybe' is not valid for ascending."],
        from: ["The value 'yesterday' is not valid for from."],
        to: ["The value '2026-02-30T00:00:00Z' is not valid for to."],
      });
    },
  );

  test("answers carry the service's own time", () => {
    const { world } = furnished();
    const answer = handle(world, {
      method: 'GET',
      path: '/api-rest/nests',
      headers: { authorization: TOKEN },
    });
    expect(answer.headers.date).toBe('Thu, 02 Jul 2026 12:00:00 GMT');
  });
});
