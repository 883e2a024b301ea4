/** Serves a simulated world over real HTTP. Connection faults happen at the socket, as on a network. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpResponse } from '../../http/transport.ts';
import { formatHostPort, listenError } from '../../http/web-address.ts';
import { type Clock, sleep } from '../../time/clock.ts';
import type { World } from '../world/world.ts';
import { createExchange, type Exchange, type Reply } from './faults.ts';
import { API_PREFIX } from './routing.ts';
import { problemAnswer } from './simulated-answer.ts';

/** Ample: no body that is accepted holds more than a few fields. */
const MAX_BODY_BYTES = 65_536;

export interface SimulatorServer {
  /** The base URL for clients; that of a simulated service ends in `/api-rest`. */
  readonly url: string;
  /** Closes every connection. */
  close(): Promise<void>;
}

/** Serves one world. Port 0 takes a free port. Throws `port_in_use` if it cannot listen there. */
export async function openSimulator(options: {
  readonly world: World;
  readonly host: string;
  readonly port: number;
}): Promise<SimulatorServer> {
  const { world, ...place } = options;
  const tooLarge = (path: string) => problemAnswer(413, path, 'The body is too large.');
  const server = await openServer({
    ...place,
    exchange: createExchange(world),
    tooLarge,
    clock: world.clock,
  });
  return { ...server, url: `${server.url}${API_PREFIX}` };
}

/** The same for any exchange. */
export async function openServer(options: {
  readonly exchange: Exchange;
  /** The answer to a body that is not read. */
  readonly tooLarge: (path: string) => HttpResponse;
  readonly clock: Clock;
  readonly host: string;
  readonly port: number;
}): Promise<SimulatorServer> {
  const { exchange, tooLarge, clock, host, port } = options;
  const closing = new AbortController();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    const body = await readBody(request);
    if (body === undefined) {
      write(response, { kind: 'answer', delayMs: 0, response: tooLarge(path) });
      return;
    }
    const reply = exchange({ method: request.method ?? 'GET', path, headers: headersOf(request), body });
    if (reply.delayMs > 0) await sleep(clock, reply.delayMs, closing.signal);
    write(response, reply);
  }

  const server = createServer((request, response) => {
    // A client that disconnects halfway is not a failure of the service.
    answer(request, response).catch(() => response.destroy());
  });
  // Longer than clients keep idle connections, so that none is closed while a request is on its way.
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError({ host, port }, error)));
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${formatHostPort({ host, port: bound })}`,
    close: () =>
      new Promise((resolve) => {
        closing.abort();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function write(response: ServerResponse, reply: Reply): void {
  if (reply.kind === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  const { status, headers, body } = reply.response satisfies HttpResponse;
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, 'content-length': bytes.length });
  if (reply.kind === 'answer') {
    response.end(bytes);
    return;
  }
  response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.socket?.destroy());
}

/** Undefined when the body is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return size <= MAX_BODY_BYTES ? Buffer.concat(chunks).toString('utf8') : undefined;
}

/** Node decodes header values as Latin-1; a token with non-ASCII characters arrives as UTF-8 bytes in that encoding. */
function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      const text = Array.isArray(value) ? value.join(', ') : value;
      return text === undefined ? [] : [[name, Buffer.from(text, 'latin1').toString('utf8')]];
    }),
  );
}
