import { describe, expect, test } from 'vitest';
import { NestwatchError } from '../../../src/errors.ts';
import { createExchange } from '../../../src/simulator/answers/simulator-server.ts';
import {
  type Behaviours,
  DEFAULT_BEHAVIOURS,
  readBehaviours,
} from '../../../src/simulator/world/behaviours.ts';
import { createBirdTrial, createTrial, TOKEN } from '../ask.ts';
import { simulatorTransport } from '../simulator-transport.ts';

const REQUEST = { method: 'GET', path: '/api-rest/users', headers: { authorization: TOKEN } } as const;

function withDoor(behaviours: Partial<Behaviours> = {}) {
  const trial = createTrial(behaviours);
  return { ...trial, exchange: createExchange(trial.world) };
}

/** The results of this many requests: a status, a reset, or a body that is cut off or not JSON. */
function outcomes(behaviours: Partial<Behaviours>, requests = 4000): Record<string, number> {
  const { exchange, world } = withDoor(behaviours);
  world.addUser();
  const counts: Record<string, number> = {};
  for (let at = 0; at < requests; at += 1) {
    const reply = exchange(REQUEST);
    let name = reply.kind === 'answer' ? String(reply.response.status) : reply.kind;
    if (reply.kind === 'answer' && reply.response.headers['content-type']?.startsWith('text/html'))
      name += ' html';
    if (name === '200' && !isJson(reply)) name = 'truncated';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function isJson(reply: ReturnType<ReturnType<typeof createExchange>>): boolean {
  try {
    JSON.parse(reply.kind === 'reset' ? '' : reply.response.body);
    return true;
  } catch {
    return false;
  }
}

describe('faults', () => {
  test('none happen by default', () => {
    expect(outcomes({}, 200)).toEqual({ 200: 200 });
  });

  test.each([
    ['tooManyRequests', '429'],
    ['error500', '500'],
    ['error502', '502'],
    ['error503', '503'],
    ['error504', '504'],
    ['html', '502 html'],
    ['htmlOk', '200 html'],
    ['reset', 'reset'],
    ['cut', 'cut'],
    ['truncated', 'truncated'],
  ] as const)('%s happens at its rate [long]', (fault, outcome) => {
    const counts = outcomes({ [fault]: 0.1 });
    expect(Object.keys(counts).sort()).toEqual(['200', outcome].sort());
    expect(counts[outcome]! / 4000).toBeCloseTo(0.1, 1);
    expect(Math.abs(counts[outcome]! - 400)).toBeLessThan(80);
  });

  test('several share one draw: each keeps its rate', () => {
    const counts = outcomes({ reset: 0.3, error503: 0.3, tooManyRequests: 0.4 });
    expect(Object.keys(counts).sort()).toEqual(['429', '503', 'reset']);
    expect(Math.abs(counts.reset! - 1200)).toBeLessThan(140);
  });

  test('the same seed breaks the same requests', () => {
    expect(outcomes({ reset: 0.2, cut: 0.1 })).toEqual(outcomes({ reset: 0.2, cut: 0.1 }));
  });

  test('faults do not change what happens in the world', () => {
    const ids = (behaviours: Partial<Behaviours>) => {
      const { exchange, world } = withDoor(behaviours);
      for (let at = 0; at < 20; at += 1) exchange(REQUEST);
      return world.appendNotification().id;
    };
    expect(ids({ reset: 0.5 })).toBe(ids({}));
  });

  test.each([
    ['seconds', '3'],
    ['date', 'Thu, 02 Jul 2026 12:00:03 GMT'],
    ['garbled', 'in a while'],
    ['none', undefined],
  ] as const)('a 429 says when to come back: %s', (retryAfter, value) => {
    const { exchange } = withDoor({ tooManyRequests: 1, retryAfter, retryAfterMs: 2500 });
    const reply = exchange(REQUEST);
    expect(reply.kind === 'answer' && reply.response.headers['retry-after']).toBe(value);
  });

  test("the rate limit lets one second's worth through, and then as many as time allows", async () => {
    const { exchange, clock, world } = withDoor({ requestsPerSecond: 5 });
    const passed = () => {
      const before = world.requests().byStatus[200] ?? 0;
      for (let at = 0; at < 20; at += 1) exchange(REQUEST);
      return (world.requests().byStatus[200] ?? 0) - before;
    };
    expect(passed()).toBe(5);
    await clock.advance(600);
    expect(passed()).toBe(3);
    await clock.advance(60_000);
    expect(passed()).toBe(5);
    expect(world.requests()).toEqual({
      total: 60,
      byOperation: { searchUsers: 60 },
      byStatus: { 200: 13, 429: 47 },
    });
  });

  test('a region that is down does not answer until it comes up', () => {
    const { exchange, world } = withDoor();
    world.goDown();
    expect(exchange(REQUEST).kind).toBe('reset');
    world.goDown(503);
    expect(exchange(REQUEST)).toMatchObject({ kind: 'answer', response: { status: 503, body: '' } });
    world.goDown('html');
    expect(exchange(REQUEST)).toMatchObject({
      response: { status: 502, headers: { 'content-type': 'text/html' } },
    });
    world.goDown(403);
    expect(exchange(REQUEST)).toMatchObject({
      response: { body: expect.stringContaining('"title":"Forbidden"') },
    });
    world.comeUp();
    expect(exchange(REQUEST)).toMatchObject({ response: { status: 200 } });
    expect(world.requests().byStatus).toEqual({ reset: 1, 503: 1, 502: 1, 403: 1, 200: 1 });
  });

  test('a fault before the answer leaves nothing done, one within it does', () => {
    const flights = (behaviours: Partial<Behaviours>) => {
      const { world, path } = createBirdTrial('manual', behaviours);
      createExchange(world)({ ...REQUEST, method: 'POST', path: `/api-rest${path}` });
      return world.flights.size;
    };
    expect([flights({ reset: 1 }), flights({ error502: 1 }), flights({ htmlOk: 1 })]).toEqual([0, 0, 1]);
  });
});

describe('the transport within the process', () => {
  const url = 'https://eu.example/api-rest/users';
  const send = { method: 'GET', url, headers: { authorization: TOKEN } } as const;

  function opened(behaviours: Partial<Behaviours> = {}) {
    const trial = createTrial(behaviours);
    const transport = simulatorTransport(
      { 'https://eu.example/api-rest': trial.world },
      { timeoutMs: 10_000 },
    );
    return { ...trial, transport };
  }

  test('carries a request to its world and the answer back', async () => {
    const { transport } = opened();
    await expect(transport.send(send)).resolves.toMatchObject({ status: 200, body: '[]' });
  });

  test.each([
    [{ reset: 1 }, 'unreachable'],
    [{ cut: 1 }, 'not_json'],
  ] as const)('%j fails with %s', async (behaviours, code) => {
    const { transport } = opened(behaviours);
    const error = await transport.send(send).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(NestwatchError);
    expect(error).toMatchObject({ code });
  });

  test('does not know other addresses, and none after it was closed', async () => {
    const { transport } = opened();
    await expect(transport.send({ ...send, url: 'https://us.example/api-rest/users' })).rejects.toMatchObject(
      { code: 'unreachable' },
    );
    await transport.close();
    await expect(transport.send(send)).rejects.toMatchObject({ code: 'unreachable' });
  });

  test('takes its time by the clock, and gives up at the limit', async () => {
    const { transport, clock, world } = opened({ latencyMs: 50, slow: 1, slowMs: 4000 });
    let status = 0;
    const first = transport.send(send).then((response) => {
      status = response.status;
    });
    await clock.advance(4049);
    expect(status).toBe(0);
    await clock.advance(1);
    await first;
    expect(status).toBe(200);
    world.behaviours.slowMs = 60_000;
    const second = transport.send(send).catch((caught: unknown) => caught);
    await clock.advance(10_000);
    expect(await second).toMatchObject({ code: 'timeout' });
  });
});

describe('a file of behaviours', () => {
  test('sets what it names', () => {
    const text =
      'bounds: exclusive\nmax_page_size: 37\ncompared_precision: second\nlate_share: 0.2\nerror_503: 0.01\n';
    expect(readBehaviours(text, 'faults.yaml')).toEqual({
      bounds: 'exclusive',
      maxPageSize: 37,
      comparedPrecision: 'second',
      lateShare: 0.2,
      error503: 0.01,
    });
  });

  test('may be JSON, or empty', () => {
    expect(readBehaviours('{"reset": 0.5}', 'faults.json')).toEqual({ reset: 0.5 });
    expect(readBehaviours('# nothing\n', 'faults.yaml')).toEqual({});
  });

  test('names every mistake with its place, and which keys there are', () => {
    const text = 'bounds: open\nresets: 0.5\nreset: 1.5\nlatency_ms: [1]\nhtml:\n';
    const error = caught(() => readBehaviours(text, 'faults.yaml'));
    expect(error.code).toBe('usage');
    const lines = error.message.split('\n');
    expect(lines[0]).toMatch(/^faults\.yaml:1:9: bounds: .*inclusive.*exclusive/);
    expect(lines[1]).toMatch(
      /^faults\.yaml:2:1: unknown key "resets"; the keys are bounds, compared_precision, /,
    );
    expect(lines[2]).toMatch(/^faults\.yaml:3:8: reset: /);
    expect(lines[3]).toMatch(/^faults\.yaml:4:1: latency_ms: must be a single value$/);
    expect(lines[4]).toMatch(/^faults\.yaml:5:6: html: /);
    expect(lines).toHaveLength(5);
  });

  test.each(['- reset', '"reset"', 'reset: 1\nreset: 0', '{reset: '])('refuses %j', (text) => {
    expect(caught(() => readBehaviours(text, 'f.yaml')).message).toMatch(/^f\.yaml:\d+:\d+: /);
  });

  test('knows every behaviour', () => {
    const text = Object.entries(DEFAULT_BEHAVIOURS)
      .map(([key, value]) => `${key.replace(/[A-Z]|\d+/g, (part) => `_${part.toLowerCase()}`)}: ${value}`)
      .join('\n');
    expect(readBehaviours(text, 'all.yaml')).toEqual(DEFAULT_BEHAVIOURS);
  });
});

function caught(action: () => unknown): NestwatchError {
  try {
    action();
  } catch (error) {
    if (error instanceof NestwatchError) return error;
  }
  throw new Error('it did not fail as it should');
}
