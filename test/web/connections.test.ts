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

/** Sends these bytes; resolves to all that comes back until the connection is closed. */
async function answerTo(url: string, sent: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.end(sent);
  let answer = '';
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
  return answer;
}

test.each([
  [-1, '200 OK'],
  [0, '200 OK'],
  [1, '431 Request Header Fields Too Large'],
])(
  'the head of a request has a bound, address and headers together: %i bytes beside it',
  async (more, status) => {
    const { web, reported } = await serve();
    const host = new URL(web.url).host;
    // The parser counts names and values, and not what stands between them.
    const padding =
      LIMITS.request_head_bytes.most + more - '/-/healthy?'.length - 'Host'.length - host.length;
    for (const [query, header] of [
      ['x'.repeat(padding), ''],
      ['', `X: ${'x'.repeat(padding - 1)}\r\n`],
    ]) {
      const head = `GET /-/healthy?${query} HTTP/1.1\r\nHost: ${host}\r\n${header}`;
      const answer = await answerTo(web.url, `${head}\r\n`);
      expect(answer.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`);
      if (more > 0)
        expect(answer).toContain('\r\n\r\nThe address and the headers of a request have 16384 bytes');
    }
    const reached = { what: 'limit_reached', limit: 'request_head_bytes' };
    expect(reported).toEqual(more <= 0 ? [] : [reached, reached]);
  },
);

test('what is no request is answered with a sentence', async () => {
  const { web } = await serve();
  expect(await answerTo(web.url, 'hello\r\n\r\n')).toMatch(
    /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*\r\n\r\nThis is no request of HTTP\.\n$/,
  );
});
