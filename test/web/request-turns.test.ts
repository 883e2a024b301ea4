import { createServer, IncomingMessage, type RequestListener, Server, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { CONNECTION_BOUNDS } from '../../src/web/connections.ts';
import { takeTurns } from '../../src/web/request-turns.ts';
import { listenInTest } from '../http/servers.ts';
import { serve } from './served.ts';

const isUrgent = ({ url }: IncomingMessage) => url === '/urgent';

/** Connects to a server that takes turns. */
async function connected(answer: RequestListener) {
  const server = createServer(CONNECTION_BOUNDS);
  takeTurns(server, answer, isUrgent);
  let parsed = 0;
  server.on('request', () => {
    parsed += 1;
  });
  const { port } = await listenInTest(server);
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  return { socket, parsed: () => parsed };
}

const LAST = 'Connection: close\r\n';
const request = (path: string, more = '', body = '') =>
  `${body ? 'POST' : 'GET'} ${path} HTTP/1.1\r\nHost: x\r\n${more}${body && `Content-Length: ${body.length}\r\n`}\r\n${body}`;

/** A request on a connection of its own, without a connection. */
function alone(url: string, socket = new Socket()) {
  const incoming = Object.assign(new IncomingMessage(socket), { url });
  return [incoming, new ServerResponse(incoming)] as const;
}

test.each([0, 10_000])(
  'on each connection one request is in progress, and answers of %d bytes come in order [long]',
  async (bytes) => {
    let running = 0;
    let most = 0;
    const { socket, parsed } = await connected(async ({ url }, response) => {
      running += 1;
      most = Math.max(most, running);
      for (let turns = 0; turns < 3; turns += 1) await turnOfEventLoop();
      running -= 1;
      response.end(`${'.'.repeat(bytes)}answer ${url}!`);
    });
    const paths = Array.from({ length: 1_400 }, (_, at) => `/${at}`);
    socket.write(paths.map((path) => request(path)).join('') + request('/last', LAST));
    while (parsed() === 0) await turnOfEventLoop();
    expect(parsed()).toBeLessThan(50);
    const answers = [...(await text(socket)).matchAll(/answer (\S+?)!/g)].map(([, path]) => path);
    expect(answers).toEqual([...paths, '/last']);
    expect(most).toBe(1);
  },
);

test.each([
  ['an expectation that nobody knows', 'Host: x\r\nExpect: cake\r\n'],
  ['no host', ''],
])('requests with %s take turns as well [long]', async (_, head) => {
  let running = 0;
  let most = 0;
  const { socket } = await connected(async (_request, response) => {
    running += 1;
    most = Math.max(most, running);
    await turnOfEventLoop();
    running -= 1;
    response.end('done');
  });
  socket.write(`GET / HTTP/1.1\r\n${head}\r\n`.repeat(1_400) + request('/last', LAST));
  expect((await text(socket)).match(/done/g)).toHaveLength(1_401);
  expect(most).toBe(1);
});

test('bodies arrive whole, in front of other requests, too', async () => {
  const { socket } = await connected(async (incoming, response) => {
    response.end(`got ${(await text(incoming)).length}!`);
  });
  const sizes = [1, 1_000, 200_000, 3, 65_536, 1_024];
  const sent = sizes.map((size) => request('/', '', 'x'.repeat(size)));
  socket.write(sent.join('') + request('/', LAST));
  expect([...(await text(socket)).matchAll(/got (\d+)!/g)].map(([, size]) => Number(size))).toEqual([
    ...sizes,
    0,
  ]);
});

test('in each turn of the event loop one urgent request begins and one other', async () => {
  const begun: string[] = [];
  const server = new Server();
  takeTurns(server, ({ url }) => void begun.push(url!), isUrgent);
  for (const url of ['/1', '/2', '/3', '/urgent', '/urgent']) server.emit('request', ...alone(url));
  const byTurn: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    byTurn.push(begun.splice(0).join(' '));
    await turnOfEventLoop();
  }
  expect(byTurn).toEqual(['/1', '/urgent /2', '/urgent /3', '']);
});

test('what a client asked for that has left is not begun', async () => {
  const begun: string[] = [];
  const server = new Server();
  takeTurns(server, ({ url }) => void begun.push(url!), isUrgent);
  server.emit('request', ...alone('/first'));
  const socket = new Socket();
  const [incoming, response] = alone('/left', socket);
  server.emit('request', incoming, response);
  server.emit('request', ...alone('/behind', socket));
  socket.destroy();
  response.destroy();
  server.emit('request', ...alone('/other'));
  for (let turn = 0; turn < 6; turn += 1) await turnOfEventLoop();
  expect(begun).toEqual(['/first', '/other']);
});

test('thousands of health checks in one packet read health once, and the page is answered [long]', async () => {
  let read = 0;
  const { web, ask } = await serve({
    health: () => {
      read += 1;
      return { healthy: true, working: true, ready: true, reasons: [] };
    },
  });
  const { hostname, port, host } = new URL(web.url);
  for (let at = 0; at < 10; at += 1) {
    const socket = connect(Number(port), hostname).on('error', () => {});
    onTestFinished(() => void socket.destroy());
    socket.resume().write(`GET /-/healthy HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(1_400));
  }
  expect((await ask('/')).status).toBe(200);
  expect((await ask('/-/healthy')).status).toBe(200);
  expect(read).toBe(1);
});
