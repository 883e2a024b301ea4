import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { mostConnections, openFilesAllowed } from '../../src/web/connections.ts';
import { serve } from './served.ts';

test.each([
  [1024, 256],
  [1020, 255],
  [256, 64],
  [4, 1],
  [0, 1],
  [1_000_000, LIMITS.web_connections.most],
  [Number.POSITIVE_INFINITY, LIMITS.web_connections.most],
])('of %d open files, %d may be connections of others', (openFiles, most) => {
  expect(mostConnections(openFiles)).toBe(most);
});

test('the system says how many files may be open', () => {
  expect(openFilesAllowed()).toBeGreaterThanOrEqual(256);
});

test('connections up to the bound are taken, those beyond are closed and counted', async () => {
  const { web, ask, reported } = await serve({ openFiles: 16 });
  const { hostname, port } = new URL(web.url);
  async function open(): Promise<Socket> {
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }
  const taken = [await open(), await open(), await open(), await open()];
  const beyond = await open();
  await once(beyond.resume(), 'close');
  expect(reported).toEqual([{ what: 'limit_reached', limit: 'web_connections' }]);
  expect(taken.map((socket) => socket.closed)).toEqual([false, false, false, false]);
  taken[0]!.destroy();
  await expect.poll(async () => (await ask('/-/healthy').catch(() => undefined))?.status).toBe(200);
});
