/** Serves a simulated world over real HTTP. Connection faults happen at the socket, as on a network. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpResponse } from '../../http/transport.ts';
import { formatHostPort, listenError } from '../../http/web-address.ts';
import { type Clock, sleep } from '../../time/clock.ts';
import type { World } from '../world/world.ts';
import { type ApiRequest, dated, handle, operationOf } from './answer-operations.ts';
import { API_PREFIX } from './routing.ts';
import { emptyAnswer, gatewayAnswer, problemAnswer } from './simulated-answer.ts';

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

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    body: string | undefined,
  ): Promise<void> {
    const path = request.url ?? '/';
    if (body === undefined) {
      write(response, { kind: 'answer', delayMs: 0, response: tooLarge(path) });
      return;
    }
    const reply = exchange({ method: request.method ?? 'GET', path, headers: headersOf(request), body });
    if (reply.delayMs > 0) await sleep(clock, reply.delayMs, closing.signal);
    write(response, reply);
  }

  const server = createServer((request, response) => {
    // A client that disconnects halfway is not a failure of the service. What an answer throws is a bug: nothing handles
    // it, so that it ends the process and is shown.
    readBody(request).then(
      (body) => answer(request, response, body),
      () => response.destroy(),
    );
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

// Simulates one exchange on the wire: outages, the rate limit and faults come first, then the service's own answer.

/** What a client gets after `delayMs`: a whole answer, one whose connection breaks within the body, or none. */
type Reply =
  | { readonly kind: 'answer' | 'cut'; readonly delayMs: number; readonly response: HttpResponse }
  | { readonly kind: 'reset'; readonly delayMs: number };

/** The order in which one random draw is divided among the faults. */
const FAULTS = [
  'tooManyRequests',
  'error500',
  'error502',
  'error503',
  'error504',
  'html',
  'reset',
  'htmlOk',
  'cut',
  'truncated',
] as const;

type Fault = (typeof FAULTS)[number];

/** Faults that only spoil the answer: the service has already carried out the request. */
const AFTER_THE_ANSWER: ReadonlySet<Fault> = new Set(['htmlOk', 'cut', 'truncated']);

export type Exchange = (request: ApiRequest) => Reply;

/** Creates the exchange of one world. All requests made through it share one rate limit. */
export function createExchange(world: World): Exchange {
  const mayPass = createBucket(world);

  return (request) => {
    world.settle();
    const { behaviours, faultRandom } = world;
    const isSlow = faultRandom() < behaviours.slow;
    const delayMs = behaviours.latencyMs + (isSlow ? behaviours.slowMs : 0);
    const fault = drawn(world);
    const outage = world.outage(operationOf(request));
    const path = request.path.split('?')[0]!;

    const instead = (response: HttpResponse): Reply => {
      world.count(operationOf(request), response.status);
      return { kind: 'answer', delayMs, response: dated(world, response) };
    };
    const reset = (): Reply => {
      world.count(operationOf(request), 'reset');
      return { kind: 'reset', delayMs };
    };

    if (outage === 'reset') return reset();
    if (outage === 'html') return instead(gatewayAnswer(502, '502 Bad Gateway'));
    if (outage !== undefined) return instead(outageAnswer(world, path, outage));
    if (!mayPass()) return instead(tooManyRequests(world, path));
    if (fault && !AFTER_THE_ANSWER.has(fault)) {
      switch (fault) {
        case 'tooManyRequests':
          return instead(tooManyRequests(world, path));
        case 'reset':
          return reset();
        case 'html':
          return instead(gatewayAnswer(502, '502 Bad Gateway'));
        case 'error500':
          return instead(problemAnswer(500, path, 'An unexpected error happened.'));
        default:
          return instead(emptyAnswer(Number(fault.slice('error'.length))));
      }
    }
    const response = handle(world, request);
    if (!fault) return { kind: 'answer', delayMs, response };
    if (fault === 'htmlOk') {
      return { kind: 'answer', delayMs, response: dated(world, gatewayAnswer(200, 'Please wait')) };
    }
    const body = response.body.slice(0, Math.floor(response.body.length / 2));
    return fault === 'cut'
      ? { kind: 'cut', delayMs, response }
      : { kind: 'answer', delayMs, response: { ...response, body } };
  };
}

/** Draws at most one fault for a request. Each share is of all requests, not of those that earlier faults left over. */
function drawn({ behaviours, faultRandom }: World): Fault | undefined {
  let chance = faultRandom();
  for (const fault of FAULTS) {
    chance -= behaviours[fault];
    if (chance < 0) return fault;
  }
  return undefined;
}

function outageAnswer(world: World, path: string, status: number): HttpResponse {
  if (status === 429) return tooManyRequests(world, path);
  return status > 500 ? emptyAnswer(status) : problemAnswer(status, path, 'An outage was asked for.');
}

function tooManyRequests(world: World, path: string): HttpResponse {
  const { retryAfter, retryAfterMs } = world.behaviours;
  const problem = problemAnswer(429, path, 'The rate limit is exceeded.');
  const untilMs = world.nowUs() / 1000 + retryAfterMs;
  const value = {
    seconds: String(Math.ceil(retryAfterMs / 1000)),
    date: new Date(Math.ceil(untilMs / 1000) * 1000).toUTCString(),
    garbled: 'in a while',
    none: undefined,
  }[retryAfter];
  return value === undefined
    ? problem
    : { ...problem, headers: { ...problem.headers, 'retry-after': value } };
}

/** A token bucket that holds one second's worth of requests and starts full. */
function createBucket({ clock, behaviours }: World): () => boolean {
  let tokens = Number.POSITIVE_INFINITY;
  let filledAtMs = clock.monotonicMs();
  return () => {
    const rate = behaviours.requestsPerSecond;
    const nowMs = clock.monotonicMs();
    tokens = Math.min(Math.max(1, rate), tokens + ((nowMs - filledAtMs) / 1000) * rate);
    filledAtMs = nowMs;
    if (rate === 0) return true;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}
