import { describe, expect, test } from 'vitest';
import { type ErrorCode, NestwatchError } from '../../src/errors.ts';
import { LIMITS } from '../../src/limits.ts';
import { secret, secretFrom } from '../../src/secret.ts';
import { OPERATIONS } from '../../src/service/operations.ts';
import { TEST_START_US } from '../virtual-clock.ts';
import { atFirst, json, openRegion, type Reply, unreachable } from './region.ts';

const AT = '2026-07-02T11:59:34.590833Z';
const AT_US = TEST_START_US - 25_409_167;
const QUERY = { page: 2, pageSize: 50, ascending: true };
const failsWith = (code: ErrorCode, facts = {}) =>
  expect.objectContaining({ name: 'NestwatchError', code, facts: expect.objectContaining(facts) });

describe('requests', () => {
  test.each([
    ['searchNests', '/nests', (client) => client.searchNests()],
    ['getNest', '/nests/682', (client) => client.getNest('682')],
    ['searchBirds', '/nests/682/birds', (client) => client.searchBirds('682')],
    [
      'searchBirds',
      '/nests/682/birds?TriggerType=event&Status=active',
      (client) => client.searchBirds('682', { status: 'active', triggerType: 'event' }),
    ],
    ['getBird', '/nests/682/birds/1', (client) => client.getBird('682', '1')],
    ['searchUsers', '/users', (client) => client.searchUsers()],
    ['getUser', '/users/7', (client) => client.getUser('7')],
    ['searchFlights', '/nests/682/birds/1/flights', (client) => client.searchFlights('682', '1')],
    [
      'searchFlights',
      '/nests/682/birds/1/flights?MinStartDate=2026-07-02T11%3A59%3A34.590833Z&MaxStartDate=2026-07-02T12%3A00%3A00.000000Z&Status=failed',
      (client) =>
        client.searchFlights('682', '1', { minStartUs: AT_US, maxStartUs: TEST_START_US, status: 'failed' }),
    ],
    ['getFlight', '/nests/682/birds/1/flights/ab-cd', (client) => client.getFlight('682', '1', 'ab-cd')],
    [
      'getNotifications',
      '/notifications?page=2&pageSize=50&ascending=true',
      (client) => client.getNotifications(QUERY),
    ],
    [
      'getBirdLogs',
      '/nests/682/birds/1/logs?page=2&pageSize=50&ascending=true&from=2026-07-02T11%3A59%3A34.590833Z',
      (client) => client.getBirdLogs('682', '1', { ...QUERY, fromUs: AT_US }),
    ],
    [
      'getFlightLogs',
      '/nests/682/birds/1/flights/ab-cd/logs?page=2&pageSize=50&ascending=true&to=2026-07-02T12%3A00%3A00.000000Z',
      (client) => client.getFlightLogs('682', '1', 'ab-cd', { ...QUERY, toUs: TEST_START_US }),
    ],
  ] satisfies [string, string, (client: ReturnType<typeof openRegion>['client']) => Promise<unknown>][])(
    '%s asks for %s',
    async (operation, target, ask) => {
      const { client, sent, happened, ends } = openRegion(() => ({ body: '[]' }));
      await ends<unknown>(ask(client).catch(() => {}));
      expect(sent[0]).toEqual({
        method: 'GET',
        url: `https://eu.example/api-rest${target}`,
        headers: { accept: 'application/json', 'user-agent': 'nestwatch', authorization: 't0ken' },
        // Nests, Birds and Users are listed as a whole.
        maxBodyBytes: (/^search(Nests|Birds|Users)$/.test(operation) ? 16 : 8) * 2 ** 20,
      });
      expect(happened.at(-1)).toMatchObject({ what: 'request', region: 'eu', operation });
    },
  );

  test.each(OPERATIONS.map((operation) => [operation.id, operation] as const))(
    '%s can be called by its id',
    async (id, operation) => {
      const { client, sent, ends } = openRegion(() => ({ body: '{"a":1}' }));
      const parameters = operation.parameters.filter(({ place }) => place === 'path');
      const given = Object.fromEntries(parameters.map(({ name }) => [name, 'x']));
      const answer = await ends(client.call(id, given, operation.hasBody ? '{"userId":"7"}' : undefined));
      expect(answer).toEqual({ status: 200, body: '{"a":1}', json: { a: 1 } });
      expect(sent[0]).toMatchObject({
        method: operation.method,
        url: `https://eu.example/api-rest${operation.path.replace(/\{\w+\}/g, 'x')}`,
      });
      expect(sent[0]?.headers['content-type']).toBe(operation.hasBody ? 'application/json' : undefined);
      expect(sent[0]?.body).toBe(operation.hasBody ? '{"userId":"7"}' : undefined);
    },
  );

  test('invalid calls send nothing and say why', async () => {
    const { client, sent } = openRegion(() => ({}));
    await expect(client.call('flyBrid', {})).rejects.toEqual(failsWith('usage'));
    await expect(client.call('getUser', {})).rejects.toThrow('userId is missing');
    await expect(client.call('getUser', { userId: '7' }, '{}')).rejects.toThrow('getUser takes no body');
    await expect(client.call('addUserToNest', { nestId: '1' })).rejects.toThrow('needs a body of JSON');
    await expect(client.call('addUserToNest', { nestId: '1' }, 'Ann')).rejects.toEqual(failsWith('usage'));
    expect(sent).toEqual([]);
  });
});

describe('answers', () => {
  test('lists, pages and single resources are returned in our own shapes, readable or not', async () => {
    const { client, ends } = openRegion(({ url }) =>
      url.includes('/logs')
        ? json({
            items: [{ id: 'e', createdAt: AT, workflowId: null }, {}],
            totalCount: 2,
            page: 0,
            pageSize: 20,
          })
        : url.endsWith('/birds')
          ? json([{ id: 1 }, 'odd'])
          : json({ id: 'AB' }),
    );
    const { value: birds } = await ends(client.searchBirds('682'));
    expect(birds.map((one) => (one.ok ? one.entry.nestId : one.reason))).toEqual(['682', 'not an object']);
    const { value: page } = await ends(client.getBirdLogs('682', '1', QUERY));
    expect(page.items[0]).toMatchObject({ ok: true, entry: { nestId: '682', birdId: '1' } });
    expect(page.items[1]).toMatchObject({ ok: false, reason: 'no usable id' });
    const { value: flight } = await ends(client.getFlight('682', '1', 'AB'));
    expect(flight).toMatchObject({ ok: true, entry: { id: 'AB', birdId: '1', nestId: '682' } });
  });

  test.each([
    ['Thu, 02 Jul 2026 12:00:05 GMT', TEST_START_US + 5_000_000],
    ['soon', null],
    [undefined, null],
  ])("the service's clock is %s", async (date, us) => {
    const { asks } = openRegion(() => ({ body: '[]', headers: date === undefined ? {} : { date } }));
    expect((await asks()).serverTimeUs).toBe(us);
  });

  test.each<[Reply, ErrorCode]>([
    [{ status: 301, headers: { location: '/login' } }, 'redirected'],
    [json({ title: 'Bad' }, 400), 'bad_request'],
    [{ status: 401 }, 'unauthorized'],
    [{ status: 403 }, 'forbidden'],
    [json({ title: 'Not Found' }, 404), 'not_found'],
    [{ status: 408 }, 'timeout'],
    [{ status: 418 }, 'bad_request'],
    [{ status: 429 }, 'rate_limited'],
    [{ status: 500 }, 'unavailable'],
    [{ status: 502, body: '<h1>Bad Gateway</h1>' }, 'unavailable'],
    [{ status: 503 }, 'unavailable'],
    [{ status: 200, body: '<html>Please wait</html>' }, 'not_json'],
    [{ status: 200, body: '[{"id":"1"' }, 'not_json'],
    [{ status: 204, body: '' }, 'not_json'],
    [{ status: 200, body: '{"items":[]}' }, 'unexpected_shape'],
    [{ status: 200, body: 'null' }, 'unexpected_shape'],
    [unreachable(), 'unreachable'],
  ])('%j is %s', async (reply, code) => {
    const { outcomes, fails } = openRegion(() => reply);
    expect(await fails()).toEqual(failsWith(code));
    expect(new Set(outcomes())).toEqual(new Set([code]));
  });

  test('a resource must be an object', async () => {
    const { client, ends } = openRegion(() => json([]));
    await expect(ends(client.getUser('7'))).rejects.toEqual(failsWith('unexpected_shape'));
  });

  test.each([
    [
      'https://user:pw@eu-2.example/api-rest/nests?token=x',
      ', a redirect to https://eu-2.example/api-rest/nests',
    ],
    ['/login?next=%2Fnests', ', a redirect to /login'],
    [`https://eu-2.example/${'a'.repeat(300)}`, `, a redirect to https://eu-2.example/${'a'.repeat(178)}…`],
    ['', ''],
  ])('a redirect to %s says where it leads, without possible secrets', async (location, words) => {
    const { fails } = openRegion(() => ({ status: 308, headers: { location } }));
    expect((await fails())?.message).toBe(`searchNests of eu: the service answered 308${words}`);
  });

  test('an encoding that cannot be decoded is named', async () => {
    const reply = { body: '\ufffd', headers: { 'content-encoding': 'compress' } };
    const { asks } = openRegion(() => reply);
    await expect(asks()).rejects.toThrow(
      'the service answered 200 with a body that is not JSON, in the encoding "compress"',
    );
  });

  test('the problem detail of an error is kept in full, with the status', async () => {
    const problem = { type: 'about:blank', title: 'Not manual', status: 400, traceId: '00-1', extra: [1] };
    const { client, ends } = openRegion(() => json(problem, 400));
    const failure = failsWith('bad_request', { status: 400, problem });
    await expect(ends(client.call('flyBird', { nestId: '1', birdId: '2' }))).rejects.toEqual(failure);
  });

  test('a bug in the transport is not taken for a failure of the service', async () => {
    const { client, outcomes, sent, asks } = openRegion(() => {
      throw new RangeError('a bug');
    });
    await expect(asks()).rejects.toThrow(new RangeError('a bug'));
    expect(outcomes()).toEqual(['bug']);
    expect(sent).toHaveLength(1);
    expect(client.health().health).toBe('up');
  });

  test('a write has happened, whatever the body of its answer', async () => {
    const bodies = ['', 'OK', '{"a":1}'];
    const { client, ends } = openRegion((_request, number) => ({ body: bodies[number - 1]! }));
    const fly = () => ends(client.call('flyBird', { nestId: '1', birdId: '2' }));
    expect([await fly(), await fly(), await fly()]).toEqual([
      { status: 200, body: '', json: null },
      { status: 200, body: 'OK', json: null },
      { status: 200, body: '{"a":1}', json: { a: 1 } },
    ]);
  });
});

describe('attempts', () => {
  test('a read is retried after waits that grow with jitter, and succeeds', async () => {
    const { asks, sentAtMs: at, outcomes } = openRegion(atFirst(unreachable(), 3));
    expect((await asks()).value).toEqual([]);
    expect(at.slice(1).map((ms, index) => Math.round((ms - at[index]!) / 10) * 10)).toEqual([250, 500, 1000]);
    expect(outcomes()).toEqual(['unreachable', 'unreachable', 'unreachable', 'ok']);
  });

  test('a read that fails four times ends with its own failure', async () => {
    const { sent, fails } = openRegion(() => ({ status: 502 }));
    expect(await fails()).toEqual(failsWith('unavailable', { status: 502 }));
    expect(sent).toHaveLength(4);
  });

  test.each(['not_found', 'bad_request', 'redirected', 'unexpected_shape'] as const)(
    '%s is not retried',
    async (code) => {
      const status = { not_found: 404, bad_request: 400, redirected: 302, unexpected_shape: 200 }[code];
      const { sent, fails } = openRegion(() => ({ status, body: '{}' }));
      expect(await fails()).toEqual(failsWith(code));
      expect(sent).toHaveLength(1);
    },
  );

  test.each(OPERATIONS.filter(({ writes }) => writes).map(({ id, hasBody }) => [id, hasBody] as const))(
    '%s is sent once, whatever happens',
    async (id, hasBody) => {
      for (const reply of [unreachable(), { status: 503 }, { status: 429 }]) {
        const { client, sent, ends } = openRegion(() => reply);
        const given = { flyBird: { birdId: '2' }, removeUserFromNest: { userId: '7' } };
        const parameters = { nestId: '1', ...given[id as keyof typeof given] };
        await expect(ends(client.call(id, parameters, hasBody ? '{}' : undefined))).rejects.toThrow();
        expect(sent).toHaveLength(1);
      }
    },
  );

  test('a log that its caller can do without is requested once', async () => {
    const { client, sent, ends } = openRegion(() => ({ status: 429 }));
    await expect(ends(client.getFlightLogs('1', '2', 'ab', QUERY, true))).rejects.toThrow('429');
    expect(sent).toHaveLength(1);
  });

  test('retries end when the budget does', async () => {
    const { sent, fails } = openRegion((_request, number) => (number % 3 ? { status: 404 } : unreachable()));
    const calls = 100;
    for (let call = 0; call < calls; call += 1) await fails();
    // Ten are saved up at first, and each request adds a tenth.
    expect(sent.length - calls).toBeLessThanOrEqual(10 + sent.length / 10);
    expect(sent.length - calls).toBeGreaterThan(10);
  });

  test('the first failure is reported, not the open breaker that it led to', async () => {
    const { client, ends, fails } = openRegion(() => unreachable());
    const calls = Array.from({ length: 3 }, () => client.searchNests().catch((error: unknown) => error));
    const failures = await ends(Promise.all(calls));
    expect(failures).toEqual([failsWith('unreachable'), failsWith('unreachable'), failsWith('unreachable')]);
    expect(await fails()).toEqual(failsWith('circuit_open'));
  });
});

describe('rate limits', () => {
  test.each([
    ['7', 7000],
    ['0.5', 1000],
    ['Thu, 02 Jul 2026 12:00:09 GMT', 9000],
    ['Thu, 02 Jul 2026 11:00:00 GMT', 1000],
    ['in a while', 1000],
    ['-5', 1000],
    // After five minutes one request asks whether it still holds.
    ['99999999999', 300_000],
    [undefined, 1000],
  ])('Retry-After %s is a pause of at least %d ms', async (retryAfter, leastMs) => {
    const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
    const { client, clock, ends, sentAtMs } = openRegion(atFirst({ status: 429, headers }));
    const call = client.searchNests();
    await clock.advance(4_000_000);
    await ends(call);
    const pauseMs = sentAtMs[1]! - sentAtMs[0]!;
    expect(pauseMs).toBeGreaterThanOrEqual(leastMs);
    expect(pauseMs).toBeLessThan(leastMs * 1.1 + 500);
  });

  test.each([429, 503])(
    'the pause that a %i asks for applies even if its body was cut off',
    async (status) => {
      const facts = { status, headers: { 'retry-after': '7' } };
      const cut = new NestwatchError('not_json', 'eu.example cut its answer short', { facts });
      const { asks, sentAtMs, outcomes } = openRegion(atFirst(cut));
      await asks();
      expect(sentAtMs[1]! - sentAtMs[0]!).toBeGreaterThanOrEqual(7_000);
      expect(outcomes()).toEqual([status === 429 ? 'rate_limited' : 'unavailable', 'ok']);
    },
  );

  test('a date is read by the service’s clock', async () => {
    const retryAfter = 'Thu, 02 Jul 2026 15:00:20 GMT';
    const headers = { date: 'Thu, 02 Jul 2026 15:00:00 GMT', 'retry-after': retryAfter };
    const { asks, sentAtMs } = openRegion(atFirst({ status: 429, headers }));
    await asks();
    expect(sentAtMs[1]! - sentAtMs[0]!).toBeGreaterThanOrEqual(20_000);
    expect(sentAtMs[1]! - sentAtMs[0]!).toBeLessThan(23_000);
  });

  test('a 403 with a Retry-After is a limit, not a refusal of the token', async () => {
    const { client, asks } = openRegion(atFirst({ status: 403, headers: { 'retry-after': '1' } }, 2));
    await asks();
    expect(client.health().health).toBe('up');
  });

  test('a 403 about a Nest may be a limit: if the same request is answered a little later, the rate falls', async () => {
    const { client, asks, ends, sentAtMs } = openRegion((_request, number) =>
      number === 2 ? { status: 403 } : { body: '[]' },
    );
    await asks();
    const rate = client.rate();
    await ends(client.searchBirds('682'));
    expect(sentAtMs[2]! - sentAtMs[1]!).toBeGreaterThanOrEqual(2_000);
    expect(client.rate()).toBeLessThan(rate * 0.8);
  });

  test('such a limit lowers the rate once for all that was sent before the rate was lowered', async () => {
    const { client, clock, ends } = openRegion(async (_request, number) => {
      if (number > 2) return json([]);
      await new Promise<void>((resolve) => clock.setTimer(number === 1 ? 200 : 50, resolve));
      return { status: number === 1 ? 403 : 429 };
    });
    const calls = Promise.all([client.searchBirds('682'), client.searchNests()]);
    await clock.advance(100);
    const rate = client.rate();
    expect(rate).toBeLessThan(100);
    await ends(calls);
    expect(client.rate()).toBeGreaterThanOrEqual(rate);
  });

  test('a 403 about a Nest that comes again with the last retry is no limit either', async () => {
    const statuses = [502, 502, 403];
    const { client, sent, ends } = openRegion(({ url }) =>
      url.includes('/682/') ? { status: statuses.shift() ?? 403 } : json([]),
    );
    for (let times = 0; times < 50; times += 1) await ends(client.searchBirds('683'));
    await expect(ends(client.searchBirds('682'))).rejects.toEqual(failsWith('forbidden'));
    expect(sent).toHaveLength(54);
    await expect(ends(client.searchBirds('682'))).rejects.toEqual(failsWith('forbidden'));
    expect(sent).toHaveLength(55);
  });

  test('a 403 about a Nest that comes again is no limit, and is not sent twice from then on', async () => {
    const isClosed = (url: string) => url.includes('/682/');
    const { client, sent, ends } = openRegion(({ url }) =>
      isClosed(url) ? { status: 403 } : { body: '[]' },
    );
    const rate = client.rate();
    for (let times = 0; times < 5; times += 1) {
      await expect(ends(client.searchBirds('682'))).rejects.toEqual(failsWith('forbidden'));
      await ends(client.searchBirds('683'));
    }
    expect(sent.filter(({ url }) => isClosed(url))).toHaveLength(6);
    expect(client.rate()).toBeGreaterThanOrEqual(rate);
  });
});

test('an operation that is refused while others are answered is paused, and the others are not', async () => {
  const { client, sent, ends, clock, outcomes, asks } = openRegion(({ url, method }) =>
    method === 'GET' && url.includes('/flights') ? { status: 503, headers: {} } : json([]),
  );
  for (let round = 0; round < 9; round += 1) {
    await ends(client.getFlight('n1', 'b1', 'f1').catch(() => {}));
    await asks();
    await clock.advance(10_000);
  }
  const before = sent.length;
  const failure = await ends(client.getFlight('n1', 'b1', 'f1').catch((error: NestwatchError) => error));
  expect(failure).toMatchObject({ code: 'unavailable', facts: { status: 503, isAlone: true } });
  expect(sent.length).toBe(before);
  await asks();
  expect(outcomes().at(-1)).toBe('ok');
  expect(client.health().health).toBe('up');
});

describe('the region', () => {
  test('goes down with failures, reports it, and comes back with a probe', async () => {
    let isDown = true;
    const { client, clock, ends, asks, fails } = openRegion(() =>
      isDown ? { status: 500 } : { body: '[]' },
    );
    const changes: string[] = [];
    client.onHealthChange(({ health, reason }) => changes.push(`${health}: ${reason}`));
    await fails();
    await fails();
    expect(client.health()).toMatchObject({ health: 'down' });
    expect(client.slack()).toBe(false);
    isDown = false;
    await ends(client.ready());
    await asks();
    expect(changes).toEqual(['down: searchNests of eu: the service answered 500', 'up: the service answers']);
    expect(client.health().sinceUs).toBe(clock.nowUs());
    expect(client.rate()).toBe(2);
  });

  test('comes back with a probe about a Nest that it refuses: that is an answer', async () => {
    let reply: Reply = { status: 500 };
    const { client, clock, ends, fails } = openRegion(() => reply);
    for (let call = 0; call < 2; call += 1) await fails();
    expect(client.health()).toMatchObject({ health: 'down' });
    reply = { status: 403 };
    await clock.advance(2_000);
    await expect(ends(client.searchBirds('682'))).rejects.toEqual(failsWith('forbidden'));
    expect(client.health()).toMatchObject({ health: 'up' });
  });

  test('is not down because something in it does not exist', async () => {
    const { client, ends } = openRegion(() => ({ status: 404 }));
    for (let time = 0; time < 30; time += 1) await ends(client.getNest('1').catch(() => {}));
    expect(client.health().health).toBe('up');
  });

  test('reports each attempt and each change of the rate', async () => {
    const { clock, happened, asks } = openRegion(async () => {
      await new Promise<void>((resolve) => clock.setTimer(120, resolve));
      return { body: '[]' };
    });
    await asks();
    expect(happened).toEqual([
      { what: 'rate_limit', region: 'eu', requestsPerSecond: 100 },
      { what: 'request', region: 'eu', operation: 'searchNests', durationMs: 120 },
    ]);
  });
});

describe('the token', () => {
  /** It is refused, and so are the first three probes. */
  async function isRefused({ client, ends, fails }: ReturnType<typeof openRegion>): Promise<void> {
    await fails();
    for (let probe = 0; probe < 3; probe += 1) {
      await ends(client.ready());
      await fails();
    }
  }

  test.each([
    ['is empty', ''],
    ['holds a control character', 'a\nb'],
    ['holds a control character', 'a\u0000b'],
  ])('that %s is not sent', async (fault, text) => {
    const { client, sent, asks } = openRegion(() => ({ body: '[]' }), { token: secretFrom(() => text) });
    await expect(asks()).rejects.toThrow(`the token of eu ${fault}`);
    expect(sent).toEqual([]);
    expect(client.health()).toMatchObject({ health: 'unauthorized' });
  });

  test('is sent unchanged, and is read again for each request', async () => {
    const tokens = ['a#b$[c]…', 'second'];
    const token = secretFrom(() => tokens.shift()!);
    const { sent, asks } = openRegion(() => ({ body: '[]' }), { token });
    await asks();
    await asks();
    expect(sent.map(({ headers }) => headers.authorization)).toEqual(['a#b$[c]…', 'second']);
  });

  test('when refused once is read again and sent again at once: a single 401 of a gateway is not reported', async () => {
    const tokens = ['first', 'second'];
    const token = secretFrom(() => (tokens.length > 1 ? tokens.shift()! : tokens[0]!));
    const { client, asks, sentAtMs } = openRegion(atFirst({ status: 401 }), { token });
    const seen: string[] = [];
    client.onHealthChange(({ health }) => seen.push(health));
    await asks();
    expect(sentAtMs).toHaveLength(2);
    expect(sentAtMs[1]! - sentAtMs[0]!).toBeLessThan(1_000);
    expect(seen).toEqual([]);
    expect(client.health().health).toBe('up');
  });

  test('when refused again is probed after 5, 15 and 60 s, then every five minutes', async () => {
    const { client, clock, sent, ends, fails } = openRegion(() => ({ status: 401 }));
    for (let call = 0; call < 2; call += 1) expect(await fails()).toEqual(failsWith('unauthorized'));
    expect(sent).toHaveLength(2);
    const waits = [];
    for (let probe = 0; probe < 5; probe += 1) {
      const beganMs = clock.monotonicMs();
      await ends(client.ready());
      waits.push((clock.monotonicMs() - beganMs) / 1000);
      await fails();
    }
    // The random value is 0.5 here, so each is a little earlier.
    expect(waits.map((seconds) => seconds / 0.9)).toEqual(
      [5, 15, 60, 300, 300].map((s) => expect.closeTo(s)),
    );
    expect(sent).toHaveLength(7);
    expect(client.health().health).toBe('unauthorized');
  });

  test('when refused is tried at once if a person asks for it', async () => {
    const region = openRegion(atFirst({ status: 401 }, 5));
    const { client, clock, asks } = region;
    await isRefused(region);
    const beganMs = clock.monotonicMs();
    client.probeNow();
    await asks();
    expect(clock.monotonicMs() - beganMs).toBeLessThan(1_000);
    expect(client.health().health).toBe('up');
  });

  test('when replaced during a request is simply used', async () => {
    let token = 'old';
    const { client, sent, asks } = openRegion(
      ({ headers }) => {
        token = 'new';
        return headers.authorization === 'new' ? { body: '[]' } : { status: 401 };
      },
      { token: secretFrom(() => token) },
    );
    await asks();
    expect(sent.map(({ headers }) => headers.authorization)).toEqual(['old', 'new']);
    expect(client.health().health).toBe('up');
  });

  test('when replaced later is tried within half a minute, even after its file could not be read', async () => {
    let read = () => 'old';
    const region = openRegion(
      ({ headers }) => (headers.authorization === 'new' ? { body: '[]' } : { status: 401 }),
      { token: secretFrom(() => read()) },
    );
    const { client, clock, asks } = region;
    await isRefused(region);
    let isReady = false;
    client.ready().then(() => {
      isReady = true;
    });
    read = () => {
      throw new Error('no such file');
    };
    await clock.advance(45_000);
    expect(isReady).toBe(false);
    read = () => 'new';
    await clock.advance(30_000);
    expect(isReady).toBe(true);
    await asks();
    expect(client.health().health).toBe('up');
    await clock.advance(60_000);
    expect(clock.pending()).toBe(0);
  });

  test('appears in no failure and no report', async () => {
    const token = secretFrom(() => 'canary');
    const { client, happened, fails } = openRegion(() => json({ title: 'no' }, 401), { token });
    const failure = await fails();
    expect(JSON.stringify([failure, String(failure), happened, client.health()])).not.toContain('canary');
  });
});

describe('closing', () => {
  test('ends calls that wait, lets running ones finish, and leaves no timer', async () => {
    const held = Promise.withResolvers<Reply>();
    const answer = (_: unknown, number: number) => (number === 1 ? held.promise : unreachable());
    const { client, clock } = openRegion(answer, { concurrency: 2 });
    await clock.advance(1000);
    const ended: string[] = [];
    const watch = (name: string, call: Promise<unknown>) =>
      call.then(
        () => ended.push(name),
        (error: { code: string }) => ended.push(`${name}: ${error.code}`),
      );
    watch('under way', client.searchNests());
    watch('between tries', client.searchNests());
    watch('waiting', client.searchNests());
    await clock.advance(0);
    watch('closed', client.close());
    await clock.advance(0);
    expect(ended.sort()).toEqual(['between tries: cancelled', 'waiting: cancelled']);
    await expect(client.searchNests()).rejects.toEqual(failsWith('cancelled'));
    await client.ready();
    held.resolve({ body: '[]' });
    await clock.advance(0);
    expect(ended.slice(2).sort()).toEqual(['closed', 'under way']);
    expect(clock.pending()).toBe(0);
  });

  test('leaves no timer behind while the token is refused', async () => {
    const { client, clock, fails } = openRegion(() => ({ status: 401 }));
    await fails();
    expect(clock.pending()).toBe(1);
    await client.close();
    expect(clock.pending()).toBe(0);
  });
});

describe('an answer that repeats the token', () => {
  const token = 'cAnArY-"7f3';
  const forms = [token, Buffer.from(token).toString('base64'), encodeURIComponent(token)];

  test('is read without it, in entries as well as in problems and headers of errors', async () => {
    const entry = { id: 'x', createdAt: '2026-07-02T12:00:00Z', message: forms.join(' '), eventType: token };
    const { client, ends } = openRegion(
      (_, number) =>
        number === 1
          ? json({ items: [entry], totalCount: 1 })
          : json({ title: token, detail: forms.join(' ') }, 400),
      { token: secret(token) },
    );
    const query = { page: 0, pageSize: 10, ascending: true };
    const { value } = await ends(client.getNotifications(query));
    expect(value.items[0]).toMatchObject({
      ok: true,
      entry: { message: '[secret] [secret] [secret]', eventType: '[secret]' },
    });
    const error = await ends(client.getNotifications(query)).catch((one: unknown) => one);
    expect(error).toMatchObject({ code: 'bad_request', facts: { problem: { title: '[secret]' } } });
    expect(JSON.stringify(error) + JSON.stringify((error as NestwatchError).facts)).not.toContain('cAnArY');
  });

  test('is left as it is if the token is short or a number', async () => {
    for (const short of ['test', '1234567890']) {
      const { asks } = openRegion(() => json([{ id: '1', name: `a ${short}` }]), { token: secret(short) });
      const { value } = await asks();
      expect(value[0]).toMatchObject({ entry: { name: `a ${short}` } });
    }
  });
});

test.each([
  [-1, true],
  [0, true],
  [1, false],
])('the words of an error are kept up to their limit: %i beyond', async (more, isTaken) => {
  const padding = 'x'.repeat(LIMITS.problem_characters.most + more - '{"title":""}'.length);
  const { fails } = openRegion(() => json({ title: padding }, 400));
  const error = await fails();
  expect(error).toMatchObject({ code: 'bad_request' });
  expect(error!.facts.problem !== undefined).toBe(isTaken);
});

test.each([
  ['name_characters', 'entityName'],
  ['word_characters', 'eventType'],
  ['message_characters', 'message'],
  ['id_characters', 'id'],
] as const)(
  'a text is kept up to its limit, and a cut is counted once per answer: %s',
  async (limit, field) => {
    const { most } = LIMITS[limit];
    for (const length of [most - 1, most, most + 1]) {
      const entry = { id: 'a', createdAt: AT, [field]: 'x'.repeat(length) };
      const page = { items: [entry, { ...entry, id: `b${entry.id}` }], totalCount: 2 };
      const { client, ends, happened } = openRegion(() => json(page));
      const { value } = await ends(client.getNotifications(QUERY));
      expect(value.items.map(({ ok }) => ok)).toEqual([true, true]);
      const reached = happened.filter(({ what }) => what === 'limit_reached');
      const isBeyond = limit === 'id_characters' ? length >= most : length > most;
      expect(reached).toEqual(isBeyond ? [{ what: 'limit_reached', region: 'eu', limit }] : []);
    }
  },
);
