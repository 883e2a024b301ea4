import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ErrorCode } from '../../src/errors.ts';
import { retryAfterMs, serverTimeUs } from '../../src/http/server-time.ts';
import { type HttpRequest, openTransport, type Transport } from '../../src/http/transport.ts';
import { freePort, listenInTest } from './servers.ts';

async function serve(listener: RequestListener): Promise<string> {
  return (await listenInTest(createServer(listener))).url;
}

function open(options: { timeoutMs?: number; maxBodyBytes?: number; connections?: number } = {}): Transport {
  const transport = openTransport({ connections: 2, timeoutMs: 5_000, maxBodyBytes: 100_000, ...options });
  onTestFinished(() => transport.close());
  return transport;
}

const get = (url: string): HttpRequest => ({ method: 'GET', url, headers: {} });
const failsWith = (code: ErrorCode) => expect.objectContaining({ name: 'NestwatchError', code });

describe('an exchange', () => {
  test('sends method, path, query, headers and body, and returns status, headers and text', async () => {
    const seen: unknown[] = [];
    const url = await serve(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      seen.push({ method: request.method, url: request.url, token: request.headers.authorization, body });
      response.writeHead(201, { 'X-Twice': ['a', 'b'], 'Content-Type': 'text/plain' }).end('grüß');
    });
    const answer = await open().send({
      method: 'PUT',
      url: `${url}/api-rest/x?y=%20z`,
      headers: { authorization: 'a#b$[c' },
      body: '{"userId":"7"}',
    });
    expect(seen).toEqual([
      { method: 'PUT', url: '/api-rest/x?y=%20z', token: 'a#b$[c', body: '{"userId":"7"}' },
    ]);
    expect(answer).toMatchObject({ status: 201, body: 'grüß', headers: { 'x-twice': 'a, b' } });
  });

  test('waits as a server asks, and reads its clock, also if a gateway repeats these headers', async () => {
    const date = 'Thu, 02 Jul 2026 15:00:00 GMT';
    const url = await serve((_, response) => {
      response.sendDate = false;
      response.writeHead(503, ['retry-after', '7', 'retry-after', '9', 'date', date, 'date', date]).end();
    });
    const answer = await open().send(get(url));
    expect(retryAfterMs(answer, 0)).toBe(7_000);
    expect(serverTimeUs(answer)).toBe(Date.parse(date) * 1000);
  });

  test('sends non-ASCII header text as its UTF-8 bytes', async () => {
    let token = '';
    const url = await serve((request, response) => {
      token = Buffer.from(request.headers.authorization ?? '', 'latin1').toString('utf8');
      response.end();
    });
    await open().send({ ...get(url), headers: { authorization: 'key…é' } });
    expect(token).toBe('key…é');
  });

  test('follows no redirect and offers no encoding', async () => {
    const asked: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      asked.push(request.url, request.headers['accept-encoding']);
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect((await open().send(get(`${url}/here`))).status).toBe(302);
    expect(asked).toEqual(['/here', undefined]);
  });

  test('errors of the service are answers, HTML too', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
    });
    expect(await open().send(get(url))).toMatchObject({ status: 502, body: '<h1>Bad gateway</h1>' });
  });

  test.each([
    ['gzip', gzipSync],
    ['X-GZIP', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ])('reads what a gateway compressed without being asked, as %s', async (encoding, compress) => {
    const url = await serve((_request, response) => {
      response
        .writeHead(429, { 'content-encoding': encoding, 'retry-after': '7' })
        .end(compress('{"a":"grüß"}'));
    });
    const { status, headers, body } = await open().send(get(url));
    expect([status, body, headers['retry-after'], headers['content-encoding']]).toEqual([
      429,
      '{"a":"grüß"}',
      '7',
      undefined,
    ]);
  });

  test.each([
    ['compress', '{}'],
    ['utf-8', '{}'],
    ['gzip', '{}'],
    ['gzip, br', '{}'],
    ['gzip', ''],
  ])('what is not compressed as %s says is unchanged: %j', async (encoding, body) => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(body);
    });
    expect(await open().send(get(url))).toMatchObject({
      status: 200,
      body,
      headers: { 'content-encoding': encoding },
    });
  });

  test('uses as many connections as allowed, and no more', async () => {
    const sockets = new Set<unknown>();
    const held: ServerResponse[] = [];
    const url = await serve((request, response) => {
      sockets.add(request.socket);
      held.push(response);
      // With only one connection this would wait forever.
      if (held.length === 2) for (const one of held.splice(0)) one.end();
    });
    const transport = open({ connections: 2 });
    await Promise.all(Array.from({ length: 10 }, () => transport.send(get(url))));
    expect(sockets.size).toBe(2);
  });
});

describe('failures', () => {
  test('a refused connection is unreachable, and the message contains no path', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const failure = await open()
      .send(get(`${url}/secret-path?key=secret`))
      .catch((error: unknown) => error);
    expect(failure).toEqual(failsWith('unreachable'));
    expect(String(failure)).toBe(
      `NestwatchError: no answer from ${new URL(url).host}: it refused the connection`,
    );
  });

  test('a connection that is reset before an answer is unreachable', async () => {
    const url = await serve((request) => request.socket.resetAndDestroy());
    await expect(open().send(get(url))).rejects.toEqual(failsWith('unreachable'));
  });

  test('an answer that is not HTTP is unreachable', async () => {
    const server = createTcpServer((socket) => {
      socket.end('SSH-2.0-OpenSSH\r\n');
      onTestFinished(() => void socket.destroy());
    });
    const { url } = await listenInTest(server);
    await expect(open().send(get(url))).rejects.toEqual(failsWith('unreachable'));
  });

  test.each([
    ['by its length', { 'content-length': '1000' }],
    ['by its chunks', { 'transfer-encoding': 'chunked' }],
  ])('a body cut off, known %s, is not_json', async (_how, headers) => {
    const url = await serve((request, response) => {
      response.writeHead(200, headers);
      response.write('{"items":[', () => request.socket.destroy());
    });
    await expect(open().send(get(url))).rejects.toEqual(failsWith('not_json'));
  });

  test('a refusal that was cut off still shows how long to wait', async () => {
    const url = await serve((request, response) => {
      const date = 'Thu, 02 Jul 2026 15:00:00 GMT';
      response.writeHead(429, { date, 'content-length': '1000', 'retry-after': '30', 'x-canary': 'c' });
      response.write('slow', () => request.socket.destroy());
    });
    const headers = { date: 'Thu, 02 Jul 2026 15:00:00 GMT', 'retry-after': '30' };
    await expect(open().send(get(url))).rejects.toMatchObject({
      code: 'not_json',
      facts: { status: 429, headers },
    });
    await expect(open().send(get(url))).rejects.not.toHaveProperty('facts.headers.x-canary');
  });

  test('a body over the limit is too_large and its connection is closed', async () => {
    const closed = Promise.withResolvers<void>();
    const url = await serve((request, response) => {
      request.socket.on('close', () => closed.resolve());
      const pour = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', pour);
      pour();
    });
    await expect(open({ maxBodyBytes: 50_000 }).send(get(url))).rejects.toEqual(failsWith('too_large'));
    await closed.promise;
  });

  test('a small body that decompresses to more than the limit is too_large', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(50_001)));
    });
    await expect(open({ maxBodyBytes: 50_000 }).send(get(url))).rejects.toEqual(failsWith('too_large'));
    expect((await open({ maxBodyBytes: 50_001 }).send(get(url))).body).toHaveLength(50_001);
  });

  test('no answer, and a body that trickles forever, end with timeout', async () => {
    const url = await serve((request, response) => {
      if (request.url === '/silent') return;
      response.writeHead(200);
      const trickle = setInterval(() => response.write(' '), 5);
      response.on('close', () => clearInterval(trickle));
    });
    const transport = open({ timeoutMs: 60 });
    const both = await Promise.allSettled([
      transport.send(get(`${url}/silent`)),
      transport.send(get(`${url}/trickle`)),
    ]);
    expect(both.map((one) => one.status === 'rejected' && one.reason)).toEqual([
      failsWith('timeout'),
      failsWith('timeout'),
    ]);
  });

  test('what cannot be sent at all is unreachable', async () => {
    const transport = open();
    await expect(transport.send(get('not a URL'))).rejects.toEqual(failsWith('unreachable'));
    await expect(transport.send(get('ftp://example.com/'))).rejects.toEqual(failsWith('unreachable'));
    const url = await serve((_request, response) => response.end());
    const bad = { ...get(url), headers: { authorization: 'a\nb' } };
    await expect(transport.send(bad)).rejects.toEqual(failsWith('unreachable'));
  });

  test('closing ends requests in flight and refuses later ones', async () => {
    const arrived = Promise.withResolvers<void>();
    const url = await serve(() => arrived.resolve());
    const transport = open();
    const hanging = transport.send(get(url));
    const ended = expect(hanging).rejects.toEqual(failsWith('unreachable'));
    await arrived.promise;
    await transport.close();
    await ended;
    await expect(transport.send(get(url))).rejects.toEqual(failsWith('unreachable'));
  });
});
