/** What the daemon's own HTTP takes of connections, so that the watch keeps sockets, files and memory for itself. */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LIMITS, type LimitName } from '../limits.ts';

/** When the server closes connections by itself, and how much of a request it reads before it knows what is asked. */
export const CONNECTION_BOUNDS = {
  // Node refuses what reaches its bound.
  maxHeaderSize: LIMITS.request_head_bytes.most + 1,
  /** From the connection, or the request before, until the head of a request is there, and until all of it is. */
  headersTimeout: 30_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
};

/** Where the system does not say how many files a process may open: the usual bound of a login shell. */
const USUAL_OPEN_FILES = 1024;

/** How a request is refused that is none, by the parser's or the server's code. */
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

/** Nothing moved on a connection for so long: its other end is gone, or does not read what it asked for. */
const STILL_MS = 60_000;

/** Bounds what `server` takes; `reached` is called for each connection, and each head of a request, beyond. */
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
 * Closes a connection for each one beyond `most`: the one that has been without a request for longest, or else the one
 * whose answer takes longest. Were the new one refused, whoever holds `most` of them open would make the daemon look
 * dead, and what looks after containers would end it again and again.
 */
function takeAtMost(server: Server, most: number, reached: () => void): void {
  // By their other ends, since with TLS a request has another socket than its connection. The longest there are first.
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

/** Counts the bytes of answers that `server` has written and nobody has read yet. */
export function countUnread(server: Server): () => number {
  // A request that comes before the answer to the one before is read waits in the same connection.
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

/** Answers what never became a request, and closes its connection. */
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

/** A quarter of the files that may be open, and at least one connection. */
export function mostConnections(openFiles: number): number {
  return Math.max(1, Math.min(LIMITS.web_connections.most, Math.floor(openFiles / 4)));
}

/** How many files the process may have open at once. */
export function openFilesAllowed(): number {
  // It would look up the names of all machines that the process is connected with.
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as
    | { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } }
    | undefined;
  const soft = report?.userLimits?.open_files?.soft;
  if (soft === 'unlimited') return Number.POSITIVE_INFINITY;
  return typeof soft === 'number' || typeof soft === 'string' ? Number(soft) : USUAL_OPEN_FILES;
}
