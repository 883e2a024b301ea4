import { once } from 'node:events';
import { connect } from 'node:net';
import { request } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openTransport, type Transport } from '../../../src/http/transport.ts';
import { emptyAnswer } from '../../../src/simulator/answers/simulated-answer.ts';
import {
  openServer,
  openSimulator,
  type SimulatorServer,
} from '../../../src/simulator/answers/simulator-server.ts';
import type { Behaviours } from '../../../src/simulator/world/behaviours.ts';
import { seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import { createWorld } from '../../../src/simulator/world/world.ts';
import { systemClock } from '../../../src/time/clock.ts';

const TOKEN = 'a#b$…ü';

async function served(behaviours: Partial<Behaviours> = {}, timeoutMs = 2000) {
  const random = seededRandom(1);
  const world = createWorld({ region: 'us', clock: systemClock(), random, token: TOKEN, behaviours });
  const server: SimulatorServer = await openSimulator({ world, host: '127.0.0.1', port: 0 });
  const transport: Transport = openTransport({ connections: 2, timeoutMs, maxBodyBytes: 1_000_000 });
  onTestFinished(() => server.close());
  onTestFinished(() => transport.close());
  const ask = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: string) =>
    transport.send({
      method,
      url: `${server.url}${path}`,
      headers: {
        authorization: TOKEN,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
  return { world, server, ask };
}

/** The first rejection that nobody handles, which ends a process; here it does not. */
function nextUnhandled(): Promise<unknown> {
  const before = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  onTestFinished(() => {
    process.removeAllListeners('unhandledRejection');
    for (const listener of before) process.on('unhandledRejection', listener);
  });
  return new Promise((resolve) => process.once('unhandledRejection', resolve));
}

describe('the server', () => {
  test('does not hide a bug in what it serves', async () => {
    const bug = new TypeError('no such field');
    const server = await openServer({
      exchange: () => {
        throw bug;
      },
      tooLarge: () => emptyAnswer(413),
      clock: systemClock(),
      ...{ host: '127.0.0.1', port: 0 },
    });
    onTestFinished(() => server.close());
    const unhandled = nextUnhandled();
    const asked = request(server.url).catch(() => 'not answered');
    expect(await Promise.race([unhandled, asked])).toBe(bug);
  });

  test('answers all 14 operations', async () => {
    const { world, server, ask } = await served();
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api-rest$/);
    const user = world.addUser();
    const nest = world.addNest({ name: 'Marketing' });
    const bird = world.addBird(nest.id, { name: 'Translate blog', triggerType: 'manual' });
    const nestPath = `/nests/${nest.id}`;
    const birdPath = `${nestPath}/birds/${bird.id}`;
    const statusOf = async (...args: Parameters<typeof ask>) => (await ask(...args)).status;

    expect(await statusOf('PUT', `${nestPath}/users`, JSON.stringify({ userId: user.id }))).toBe(200);
    expect(await statusOf('POST', birdPath)).toBe(200);
    const [flight] = JSON.parse((await ask('GET', `${birdPath}/flights`)).body) as { id: string }[];
    for (const path of [
      '/nests',
      nestPath,
      `${nestPath}/birds`,
      birdPath,
      `${birdPath}/logs?page=0&pageSize=100`,
      `${birdPath}/flights/${flight!.id}`,
      `${birdPath}/flights/${flight!.id}/logs`,
      '/notifications',
      '/users',
      `/users/${user.id}`,
    ]) {
      expect(await statusOf('GET', path), path).toBe(200);
    }
    expect(await statusOf('DELETE', `${nestPath}/users/${user.id}`)).toBe(200);
    expect(Object.keys(world.requests().byOperation)).toHaveLength(14);
    expect(world.requests().byStatus).toEqual({ 200: 14 });
  });

  test('sends the headers of its answers, and refuses another token', async () => {
    const { server, ask } = await served();
    const { headers } = await ask('GET', '/nests');
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(Math.abs(Date.parse(headers.date!) - systemClock().nowUs() / 1000)).toBeLessThan(5000);
    const refused = await request(`${server.url}/nests`, { headers: { authorization: 'other' } });
    expect([refused.statusCode, refused.headers['content-type']]).toEqual([
      401,
      'application/problem+json; charset=utf-8',
    ]);
    await refused.body.dump();
  });

  test.each([
    [{ reset: 1 }, { code: 'unreachable' }],
    [{ cut: 1 }, { code: 'not_json' }],
    [{ slow: 1, slowMs: 60_000 }, { code: 'timeout' }],
  ] as const)('breaks the connection: %j', async (behaviours, failure) => {
    const { ask } = await served(behaviours, 250);
    await expect(ask('GET', '/nests')).rejects.toMatchObject(failure);
  });

  test('sends JSON that ends early as a complete answer', async () => {
    const { world, ask } = await served({ truncated: 1 });
    world.addNest({ name: 'Marketing' });
    const { status, body } = await ask('GET', '/nests');
    expect(status).toBe(200);
    expect(() => JSON.parse(body)).toThrow(SyntaxError);
  });

  test('refuses a body that is larger than anything it takes', async () => {
    const { ask } = await served();
    expect((await ask('PUT', '/nests/1/users', JSON.stringify({ userId: 'x'.repeat(70_000) }))).status).toBe(
      413,
    );
  });

  test('goes on when a client disconnects halfway through its body', async () => {
    const { server, ask } = await served();
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write('PUT /api-rest/nests/1/users HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{');
    await once(socket, 'connect');
    await ask('GET', '/nests');
    socket.destroy();
    await once(socket, 'close');
    expect((await ask('GET', '/nests')).status).toBe(200);
  });

  test('reports that its port is taken', async () => {
    const { world, server } = await served();
    const port = Number(new URL(server.url).port);
    await expect(openSimulator({ world, host: '127.0.0.1', port })).rejects.toMatchObject({
      code: 'port_in_use',
      message: `Cannot listen on 127.0.0.1:${port}: another process listens there.`,
    });
  });
});
