import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { takeTurns } from '../../src/web/take-turns.ts';
import { serve } from './served.ts';

const isUrgent = ({ url }: IncomingMessage) => url === '/urgent';

/** Connects to a server that takes turns. */
async function connected(answer: RequestListener) {
  let reached = 0;
  const server = createServer(
    takeTurns(answer, isUrgent, () => {
      reached += 1;
    }),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { socket, reached: () => reached };
}

const request = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

/** Resolves when it is closed, whether in order or not. */
const closing = (socket: Socket) => new Promise((resolve) => void socket.resume().on('close', resolve));

/** A request on a connection of its own, without a server. */
function alone(url: string, socket = new Socket()) {
  const incoming = Object.assign(new IncomingMessage(socket), { url });
  return [incoming, new ServerResponse(incoming)] as const;
}

test('on each connection one request is in progress, and answers come in order', async () => {
  let running = 0;
  let most = 0;
  const { socket } = await connected(async ({ url }, response) => {
    running += 1;
    most = Math.max(most, running);
    for (let turns = 0; turns < 3; turns += 1) await turnOfEventLoop();
    running -= 1;
    response.end(`answer ${url}`);
  });
  const paths = Array.from({ length: LIMITS.pipelined_requests.most }, (_, at) => `/${at}`);
  socket.write(paths.map((path) => request(path)).join('') + request('/last', 'Connection: close\r\n'));
  const answers = [...(await text(socket)).matchAll(/answer (\S+?)(?=HTTP|$)/g)].map(([, path]) => path);
  expect(answers).toEqual([...paths, '/last']);
  expect(most).toBe(1);
});

test('a connection on which too many requests wait is closed, and this is counted once', async () => {
  const begun: string[] = [];
  const { socket, reached } = await connected(({ url }) => void begun.push(url!));
  socket.write(request('/x').repeat(LIMITS.pipelined_requests.most + 2_000));
  await closing(socket);
  expect(reached()).toBe(1);
  expect(begun.length).toBeLessThanOrEqual(1);
});

test('in each turn of the event loop one urgent request begins and one other', async () => {
  const begun: string[] = [];
  const turns = takeTurns(
    ({ url }) => void begun.push(url!),
    isUrgent,
    () => {},
  );
  for (const url of ['/1', '/2', '/3', '/urgent', '/urgent']) turns(...alone(url));
  const byTurn: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    await turnOfEventLoop();
    byTurn.push(begun.splice(0).join(' '));
  }
  expect(byTurn).toEqual(['/urgent /1', '/urgent /2', '/3', '']);
});

test('what a client asked for that has left is not begun', async () => {
  const begun: string[] = [];
  const turns = takeTurns(
    ({ url }) => void begun.push(url!),
    isUrgent,
    () => {},
  );
  const socket = new Socket();
  const [incoming, response] = alone('/left', socket);
  turns(incoming, response);
  turns(...alone('/behind', socket));
  socket.destroy();
  response.destroy();
  turns(...alone('/later', socket));
  turns(...alone('/other'));
  for (let turn = 0; turn < 6; turn += 1) await turnOfEventLoop();
  expect(begun).toEqual(['/other']);
});

test('thousands of health checks in one packet read health once, and the page is answered', async () => {
  let read = 0;
  const { web, ask } = await serve({
    health: () => {
      read += 1;
      return { healthy: true, working: true, ready: true, reasons: [] };
    },
  });
  const { hostname, port, host } = new URL(web.url);
  const closed = Array.from({ length: 10 }, () => {
    const socket = connect(Number(port), hostname).on('error', () => {});
    socket.write(`GET /-/healthy HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(1_400));
    return closing(socket);
  });
  expect((await ask('/')).status).toBe(200);
  expect((await ask('/-/healthy')).status).toBe(200);
  await Promise.all(closed);
  expect(read).toBe(1);
});
