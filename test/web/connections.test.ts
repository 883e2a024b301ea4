import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import type { Store } from '../../src/store/store.ts';
import { createGate } from '../../src/web/bounded-work.ts';
import { boundConnections, mostConnections, openFilesAllowed } from '../../src/web/connections.ts';
import { makeAuthority, makeCertificate } from '../http/certificates.ts';
import { listenInTest, tempFolder } from '../http/servers.ts';
import { anEvent } from './sample.ts';
import { putBirds } from './sample-birds.ts';
import { serve } from './served.ts';

test.each([
  [1024, 256],
  [1020, 255],
  [256, 64],
  [4, 1],
  [0, 1],
  [1_000_000, LIMITS.web_connections.most],
  [Number.POSITIVE_INFINITY, LIMITS.web_connections.most],
])('of %d open files, %d may be connections of clients', (openFiles, most) => {
  expect(mostConnections(openFiles)).toBe(most);
});

test('the system reports how many files may be open', () => {
  expect(openFilesAllowed()).toBeGreaterThanOrEqual(256);
});

describe.each(['HTTP', 'HTTPS'])('beyond the limit of connections over %s', (scheme) => {
  /** A server with room for four connections, which does not answer when it is asked to hang. */
  async function crowded() {
    const folder = tempFolder();
    makeAuthority(folder, 'authority');
    makeCertificate(folder, 'authority', 'server');
    const [key, cert] = ['key', 'pem'].map((ending) => readFileSync(join(folder, `server.${ending}`)));
    const server = scheme === 'HTTPS' ? createHttpsServer({ key, cert }) : createServer();
    server.on('request', ({ url }, answer) => url !== '/hang' && answer.end('answered'));
    let reached = 0;
    boundConnections(server, 16, () => {
      reached += 1;
    });
    const { port } = await listenInTest(server);
    const to = { port, host: '127.0.0.1' };
    async function open(): Promise<Socket> {
      const isSecure = scheme === 'HTTPS';
      const socket = isSecure ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to);
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => {});
      await once(socket, isSecure ? 'secureConnect' : 'connect');
      return socket;
    }
    const ask = (socket: Socket, path = '/') => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    async function isAnswered(socket: Socket): Promise<boolean> {
      ask(socket);
      const [answer] = await once(socket, 'data');
      return String(answer).endsWith('answered');
    }
    return { open, ask, isAnswered, reached: () => reached };
  }

  test('the connection that was idle longest is closed, and this is counted', async () => {
    const { open, ask, isAnswered, reached } = await crowded();
    const [hanging, asked, silent] = [await open(), await open(), await open()];
    expect(await isAnswered(asked)).toBe(true);
    ask(hanging, '/hang');
    const asking = await open();
    expect(await isAnswered(asking)).toBe(true);
    const closed = [silent, asked, asking].map((socket) => once(socket.resume(), 'close'));
    const later: Socket[] = [];
    for (const gone of closed) {
      expect(reached()).toBe(later.length);
      later.push(await open());
      await gone;
    }
    expect([hanging, ...later].map((socket) => socket.closed)).toEqual([false, false, false, false]);
  });

  test('a request is answered although all other connections wait for an answer', async () => {
    const { open, ask, isAnswered, reached } = await crowded();
    for (let hanging = 0; hanging < 8; hanging += 1) ask(await open(), '/hang');
    const asking = await open();
    expect(await isAnswered(asking)).toBe(true);
    expect(reached()).toBe(5);
  });
});

describe('a client that does not read', () => {
  /** Answers of 8 MB wait here, and health is requested meanwhile. */
  async function large() {
    const served = await serve();
    const nowUs = served.clock.nowUs();
    await served.store.transaction(async (tx) => {
      const { stream } = await tx.streams.open('eu', 'notification', '');
      const message = 'x'.repeat(32_000);
      const events = Array.from({ length: 300 }, (_, at) => {
        const occurredAtUs = nowUs + at;
        return anEvent({ id: `n${at}`, occurredAtUs, message });
      });
      await tx.events.insert(stream, events);
    });
    const { hostname, port } = new URL(served.web.url);
    const hang = () => {
      const socket = connect(Number(port), hostname).on('error', () => {});
      onTestFinished(() => void socket.destroy());
      socket.pause().write(`GET /api/v1/events?limit=1000 HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
      return socket;
    };
    return { ...served, hang };
  }

  test('uses memory up to the limit; health is still answered, and everything is once it has gone [long]', async () => {
    const { hang, ask, reported } = await large();
    const hanging = Array.from({ length: 16 }, hang);
    const status = async (path: string) => (await ask(path)).status;
    await expect.poll(() => status('/')).toBe(503);
    expect(await status('/-/healthy')).toBe(200);
    expect(reported).toContainEqual({ what: 'limit_reached', limit: 'unread_bytes' });
    for (const socket of hanging) socket.destroy();
    await expect.poll(() => status('/')).toBe(200);
  });

  test('is disconnected when nothing moves for long [long]', async () => {
    const server = createServer((_, answer) => answer.end('x'.repeat(2 ** 25)));
    boundConnections(server, 1024, () => {}, 100);
    const { port } = await listenInTest(server);
    const taken = once(server, 'connection');
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.pause().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await taken;
    const connections = () =>
      new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
    await expect.poll(connections).toBe(0);
    socket.destroy();
  });
});

describe('thousands of requests', () => {
  test('let the watch have its turn in between: at most two at once wait for the store [long]', async () => {
    const { store: inner } = await serve();
    let queued = 0;
    const store: Store = {
      transaction: (work) => {
        queued += 1;
        return inner.transaction(work);
      },
      space: () => inner.space(),
      close: async () => {},
    };
    const { ask } = await serve({ store, openFiles: 4096 });
    const opened = Promise.withResolvers<void>();
    const held = inner.transaction(() => opened.promise);
    onTestFinished(() => opened.resolve());
    const asked = Array.from({ length: 200 }, () => ask('/api/v1/events'));
    for (let turns = 0; turns < 20; turns += 1) await ask('/-/healthy');
    expect(queued).toBe(2);
    // A scrape does not wait for pages.
    expect((await ask('/metrics')).status).toBe(200);
    opened.resolve();
    await held;
    expect((await Promise.all(asked)).filter(({ status }) => status === 200)).toHaveLength(200);
  });

  test('do not delay health and badges, which are kept for a second [long]', async () => {
    let asked = 0;
    const opened = Promise.withResolvers<void>();
    const found = { impairments: [], space: { used: 1, free: 2, whole: 3 } };
    const { ask, store } = await serve({
      web: { publicStatus: { nests: ['*'], hasNames: false } },
      impairments: async () => {
        asked += 1;
        if (asked > 1) await opened.promise;
        return found;
      },
    });
    onTestFinished(() => opened.resolve());
    await putBirds(store);
    const open = async () => {
      const badge = await ask('/public/eu/682/badge.svg');
      const ready = await ask('/-/ready', { accept: 'application/json' });
      return [badge.status, ready.status];
    };
    expect(await open()).toEqual([200, 200]);
    const pages = Array.from({ length: 20 }, () => ask('/'));
    expect(await open()).toEqual([200, 200]);
    opened.resolve();
    expect((await Promise.all(pages)).map(({ status }) => status)).toEqual(pages.map(() => 200));
  });

  test('are refused if too many wait [long]', async () => {
    const { most } = LIMITS.waiting_requests;
    let reached = 0;
    const gate = createGate(() => {
      reached += 1;
    });
    const opened = Promise.withResolvers<void>();
    const asked = Array.from({ length: most + 5 }, () => gate(() => opened.promise));
    opened.resolve();
    const refused = (await Promise.allSettled(asked)).flatMap((one) =>
      one.status === 'rejected' ? [one.reason] : [],
    );
    expect([refused.length, reached]).toEqual([3, 3]);

    const { store } = await serve();
    const { ask } = await serve({
      store: { ...store, transaction: () => gate(() => Promise.reject(refused[0])) },
    });
    expect((await ask('/api/v1/events')).status).toBe(503);
  });
});

/**
 * Sends these bytes, and then ends or may send more; resolves to everything that comes back until the connection is
 * closed.
 */
async function answerTo(url: string, sent: string, isMore = false): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  if (isMore) socket.write(sent);
  else socket.end(sent);
  let answer = '';
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
  return answer;
}

test.each([
  [-1, '200 OK'],
  [0, '200 OK'],
  [1, '431 Request Header Fields Too Large'],
])(
  'the head of a request has a limit, address and headers together: %i bytes beside it',
  async (more, status) => {
    const { web, reported } = await serve();
    const host = new URL(web.url).host;
    // The parser counts names and values, but not what is between them.
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

test('what is not a request is answered with a sentence', async () => {
  const { web } = await serve();
  expect(await answerTo(web.url, 'hello\r\n\r\n')).toMatch(
    /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*\r\n\r\nThis is no request of HTTP\.\n$/,
  );
});
