/** Servers for tests that require something of their clients: over HTTP, over TLS, proxies. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A request as it arrived. */
export interface Arrived {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The subject of the client's certificate. */
  readonly client: string | undefined;
}

type Answer = (request: Arrived) => {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
};

export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly arrived: Arrived[];
  close(): Promise<void>;
}

/** The path of a temporary folder, which is deleted when the test ends. */
export function tempFolder(): string {
  const { path, close } = openFolder();
  onTestFinished(close);
  return path;
}

/** A port that nobody uses now. */
export async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Lets a server listen on a free port of this machine until the test ends. */
export async function listenInTest(server: Server | TcpServer): Promise<{ url: string; port: number }> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port };
}

/** A temporary folder, which `close` deletes. */
export function openFolder(): { readonly path: string; close(): Promise<void> } {
  const path = mkdtempSync(join(tmpdir(), 'nestwatch-http-'));
  return { path, close: async () => rmSync(path, { recursive: true, force: true }) };
}

export async function serveHttp(answer: Answer): Promise<TestServer> {
  return listening('http', answer, (listener) => createHttpServer(listener));
}

/**
 * Over TLS, with `name`.pem and `name`.key of the folder; with `clientCa`, only clients with a certificate of it get
 * in.
 */
export async function serveTls(
  folder: string,
  name: string,
  answer: Answer,
  clientCa?: string,
): Promise<TestServer> {
  const file = (end: string) => readFileSync(join(folder, end));
  return listening('https', answer, (listener) =>
    createHttpsServer(
      {
        cert: file(`${name}.pem`),
        key: file(`${name}.key`),
        ...(clientCa && { ca: file(`${clientCa}.pem`), requestCert: true, rejectUnauthorized: true }),
      },
      listener,
    ),
  );
}

async function listening(
  scheme: 'http' | 'https',
  answer: Answer,
  create: (listener: (request: IncomingMessage, response: ServerResponse) => void) => Server,
): Promise<TestServer> {
  const arrived: Arrived[] = [];
  const server = create(async (request, response) => {
    const { method = '', url = '', headers, socket } = request;
    const body = Buffer.concat(await request.toArray()).toString();
    const peer =
      'getPeerCertificate' in socket
        ? (socket as { getPeerCertificate(): { subject?: { CN?: string } } }).getPeerCertificate()
        : {};
    const one: Arrived = { method, url, headers, body, client: peer.subject?.CN };
    arrived.push(one);
    const { status, body: text = '', headers: own = {} } = answer(one);
    response.writeHead(status, own).end(text);
  });
  const port = await listen(server);
  return { url: `${scheme}://localhost:${port}`, port, arrived, close: () => closed(server) };
}

/** A proxy for HTTP: tunnels CONNECT requests and passes on the rest; requires `credentials` if they are given. */
export async function serveProxy(credentials?: string): Promise<TestServer & { readonly targets: string[] }> {
  const targets: string[] = [];
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const isRefused = ({ headers }: IncomingMessage) => expected && headers['proxy-authorization'] !== expected;
  const server = createHttpServer((request, response) => {
    if (isRefused(request)) return void response.writeHead(407).end();
    targets.push(`${request.method} ${request.url}`);
    const { 'proxy-authorization': _own, ...headers } = request.headers;
    const passed = httpRequest(request.url!, { method: request.method!, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.writeHead(502).end());
    request.pipe(passed);
  });
  server.on('connect', (request, socket) => {
    if (isRefused(request)) return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    targets.push(`CONNECT ${request.url}`);
    const [host, port] = request.url!.split(':');
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  const port = await listen(server);
  return { url: `http://localhost:${port}`, port, arrived: [], targets, close: () => closed(server) };
}

/** A proxy for SOCKS 5 (RFC 1928); requires a user and password (RFC 1929) if they are given. */
export async function serveSocks(credentials?: string): Promise<TestServer & { readonly targets: string[] }> {
  const targets: string[] = [];
  const server = createTcpServer(async (socket) => {
    socket.on('error', () => socket.destroy());
    const next = async () =>
      (await once(socket, 'data', { signal: AbortSignal.timeout(10_000) }))[0] as Buffer;
    const methods = [...(await next()).subarray(2)];
    const method = credentials === undefined ? 0 : 2;
    if (!methods.includes(method)) return void socket.end(Buffer.of(5, 255));
    socket.write(Buffer.of(5, method));
    if (credentials !== undefined) {
      const given = await next();
      const user = given.subarray(2, 2 + given[1]!);
      const password = given.subarray(3 + user.length);
      const isRight = `${user}:${password}` === credentials;
      socket.write(Buffer.of(1, isRight ? 0 : 1));
      if (!isRight) return void socket.end();
    }
    const asked = await next();
    // A name; clients send no addresses here.
    const host = asked.subarray(5, 5 + asked[4]!).toString();
    const port = asked.readUInt16BE(asked.length - 2);
    targets.push(`${host}:${port}`);
    const onward = connect(port, host.endsWith('.invalid') ? 'localhost' : host, () => {
      socket.write(Buffer.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `socks5://localhost:${port}`,
    port,
    arrived: [],
    targets,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, 'localhost');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
