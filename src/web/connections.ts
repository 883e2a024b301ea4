/** Limits the connections to the daemon's HTTP interface, so that sockets, files and memory remain for the watch. */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LIMITS, type LimitName } from '../limits.ts';

/** When the server closes connections by itself, and how large the head of a request may be. */
export const CONNECTION_BOUNDS = {
  // Node refuses a size equal to its limit.
  maxHeaderSize: LIMITS.request_head_bytes.most + 1,
  /**
   * The time until the head of a request has arrived, and until all of it has. It runs from the connection or the
   * previous request.
   */
  headersTimeout: 30_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  // A request without `Host` is answered like any other, not by Node itself (see `request-turns.ts`).
  requireHostHeader: false,
};

/** Used if the system does not say how many files a process may open: the usual limit of a login shell. */
const USUAL_OPEN_FILES = 1024;

/** How malformed requests are answered, by the error code of the parser or server. */
const REFUSALS: ReadonlyMap<string, readonly [status: string, sentence: string]> = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    [
      '431 Request Header Fields Too Large',
      `The address and the headers of a request have ${LIMITS.request_head_bytes.most} bytes together at the most.`,
    ],
  ],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['408 Request Timeout', 'The request did not come in time.']],
]);

/** If nothing moves on a connection for this long, the other end is gone or does not read the answer. */
const STILL_MS = 60_000;

/**
 * Limits what `server` accepts. `reached` is called for each connection, and each head of a request, beyond the
 * limit.
 */
export function boundConnections(
  server: Server,
  openFiles: number,
  reached: (limit: Extract<LimitName, 'web_connections' | 'request_head_bytes'>) => void,
  stillMs = STILL_MS,
): void {
  takeAtMost(server, mostConnections(openFiles), () => reached('web_connections'));
  server.setTimeout(stillMs);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'HPE_HEADER_OVERFLOW') reached('request_head_bytes');
    refuse(error.code, socket);
  });
}

/**
 * Closes one connection for each beyond `most`: the one that has been without a request longest, or else the one
 * whose answer takes longest. If the new one were refused instead, anybody who holds `most` connections open would
 * make the daemon look dead, and its supervisor would restart it again and again.
 */
function takeAtMost(server: Server, most: number, reached: () => void): void {
  // By the address of the other end, since with TLS a request has a different socket than its connection. Longest
  // first.
  const idle = new Map<string, Socket>();
  const asking = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const end = otherEnd(socket);
    idle.set(end, socket);
    socket.once('close', () => {
      for (const some of [idle, asking]) if (some.get(end) === socket) some.delete(end);
    });
    if (idle.size + asking.size <= most) return;
    reached();
    for (const [longest, other] of idle.size > 1 ? idle : asking) {
      idle.delete(longest);
      asking.delete(longest);
      other.destroy();
      break;
    }
  });
  server.on('request', (request, answer) => {
    const end = otherEnd(request.socket);
    const socket = idle.get(end);
    if (!socket) return;
    idle.delete(end);
    asking.set(end, socket);
    answer.once('close', () => {
      if (asking.get(end) !== socket) return;
      asking.delete(end);
      idle.set(end, socket);
    });
  });
}

function otherEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Returns a function that counts the bytes of answers that `server` has written and no client has read yet. */
export function countUnread(server: Server): () => number {
  // Pipelined requests wait in the same connection until earlier answers were read.
  const answers = new Map<Duplex, Set<ServerResponse>>();
  server.on('request', ({ socket }, answer) => {
    const known = answers.get(socket);
    const own = known ?? new Set();
    if (!known) {
      answers.set(socket, own);
      socket.once('close', () => answers.delete(socket));
    }
    own.add(answer);
    answer.once('finish', () => own.delete(answer));
  });
  return () => {
    let bytes = 0;
    for (const own of answers.values()) for (const answer of own) bytes += answer.writableLength;
    return bytes;
  };
}

/** Answers data that never became a request, and closes its connection. */
function refuse(code: string | undefined, socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const [status, sentence] = REFUSALS.get(code ?? '') ?? ['400 Bad Request', 'This is no request of HTTP.'];
  const head = `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=UTF-8\r\nconnection: close\r\n`;
  const body = `${sentence}\n`;
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, () => socket.destroy());
}

/** A quarter of the files that may be open, but at least one connection. */
export function mostConnections(openFiles: number): number {
  return Math.max(1, Math.min(LIMITS.web_connections.most, Math.floor(openFiles / 4)));
}

/** How many files the process may have open at the same time. */
export function openFilesAllowed(): number {
  // Without this the report would look up the names of all connected machines.
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as
    | { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } }
    | undefined;
  const soft = report?.userLimits?.open_files?.soft;
  if (soft === 'unlimited') return Number.POSITIVE_INFINITY;
  return typeof soft === 'number' || typeof soft === 'string' ? Number(soft) : USUAL_OPEN_FILES;
}
