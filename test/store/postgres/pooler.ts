/**
 * A pooler in front of a server that gives its one server connection to whoever begins the next transaction, or with
 * `statement`, as PgBouncer does, to whoever sends the next statement: then it refuses to begin transactions.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PostgresDatabase } from './postgres-server.ts';

const SOCKET = '.s.PGSQL.5432';
const STARTUP = '\0\x03\0\0user\0nestwatch\0database\0postgres\0\0';
const REFUSAL = 'SERROR\0VERROR\0C08P01\0Mtransaction blocks not allowed in statement pooling mode\0\0';
const NO_TRANSACTIONS = Buffer.concat([
  Buffer.from('E\0\0\0'),
  Buffer.from([4 + REFUSAL.length]),
  Buffer.from(REFUSAL),
]);
const [KEY = 0, READY = 0, END = 0] = Buffer.from('KZX');
const [IDLE = 0] = Buffer.from('I');

export interface Pooler {
  /** The directory of its socket. */
  readonly host: string;
  close(): Promise<void>;
}

interface Client {
  readonly socket: Socket;
  /** What the client has sent and the server has not received yet. */
  waiting: Buffer[];
}

/** The complete messages, and the rest. */
function split(data: Buffer): { readonly messages: Buffer[]; readonly rest: Buffer } {
  const messages: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = data.length - at < 5 ? Number.POSITIVE_INFINITY : at + 1 + data.readUInt32BE(at + 1);
    if (end > data.length) return { messages, rest: data.subarray(at) };
    messages.push(data.subarray(at, end));
    at = end;
  }
}

export async function openPooler(
  server: PostgresDatabase,
  mode: 'transaction' | 'statement' = 'transaction',
): Promise<Pooler> {
  const host = mkdtempSync(join(tmpdir(), 'nestwatch-pooler-'));
  const upstream = createConnection(join(server.host, SOCKET));
  const clients: Client[] = [];
  const greeting: Buffer[] = [];
  const greeted = Promise.withResolvers<void>();
  let isGreeted = false;
  let served: Client | undefined;
  let unread: Buffer = Buffer.alloc(0);

  function serveNext(): void {
    served ??= clients.find(({ waiting }) => waiting.length > 0);
    for (const data of served?.waiting.splice(0) ?? []) upstream.write(data);
  }

  upstream.on('data', (data: Buffer) => {
    const { messages, rest } = split(Buffer.concat([unread, data]));
    unread = rest;
    for (const message of messages) {
      const isIdle = message[0] === READY && message[5] === IDLE;
      // The server connection is the pooler's own: its clients get other process ids.
      if (!isGreeted)
        greeting.push(message[0] === KEY ? Buffer.from('K\0\0\0\x0c\0\0\0\x01\0\0\0\x01') : message);
      else served?.socket.write(message);
      if (!isIdle) continue;
      isGreeted = true;
      greeted.resolve();
      served = undefined;
      serveNext();
    }
  });
  const length = Buffer.alloc(4);
  length.writeUInt32BE(4 + STARTUP.length);
  upstream.write(Buffer.concat([length, Buffer.from(STARTUP)]));

  const pooler = createServer((socket) => {
    const client: Client = { socket, waiting: [] };
    socket.on('error', () => {});
    socket.once('data', () => {
      clients.push(client);
      socket.write(Buffer.concat(greeting));
      socket.on('data', (data: Buffer) => {
        if (data[0] === END) return void socket.end();
        if (mode === 'statement' && data.includes('BEGIN')) return void socket.end(NO_TRANSACTIONS);
        client.waiting.push(data);
        if (!served || served === client) serveNext();
      });
    });
  });
  pooler.listen(join(host, SOCKET));
  await Promise.all([once(pooler, 'listening'), greeted.promise]);
  return {
    host,
    async close() {
      for (const { socket } of clients) socket.destroy();
      upstream.destroy();
      await new Promise((resolve) => pooler.close(resolve));
      rmSync(host, { recursive: true, force: true });
    },
  };
}
