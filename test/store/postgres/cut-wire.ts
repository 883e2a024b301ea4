/**
 * A connection to a server's socket that can be cut where a network cuts it: before a commit arrives, or before its
 * answer.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PostgresDatabase } from './postgres-server.ts';

const SOCKET = '.s.PGSQL.5432';

export interface Wire {
  /** The directory of its socket: the `host` of a connection through it. */
  readonly host: string;
  /**
   * Cuts the connection at the next commit: the request never arrives, or its answer is lost. With `stays`, until
   * `mend`.
   */
  cutAt(what: 'request' | 'answer', stays?: 'stays'): void;
  /** Whether no connection gets through. */
  isCut(): boolean;
  /** No connection gets through until `mend`. */
  cut(): void;
  /**
   * Nothing gets through on the present connections, and neither end notices, as if a machine were lost. The returned
   * function lets through what was sent meanwhile.
   */
  hush(): () => void;
  mend(): void;
  close(): Promise<void>;
}

export async function openWire(server: PostgresDatabase): Promise<Wire> {
  const host = mkdtempSync(join(tmpdir(), 'nestwatch-wire-'));
  const sockets = new Set<Socket>();
  let isCut = false;
  let cutting: 'request' | 'answer' | undefined;
  let isStaying = false;

  const wire = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = createConnection(join(server.host, SOCKET));
    let isLost = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        if (!isLost) upstream.destroy();
      });
    }
    client.on('data', (data) => {
      if (data.includes('; COMMIT')) {
        const what = cutting;
        cutting = undefined;
        if (what && isStaying) isCut = true;
        if (what === 'request') return void client.destroy();
        isLost = what === 'answer';
        if (isLost) upstream.once('data', () => client.destroy());
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => void (isLost || client.write(data)));
  });
  await new Promise<void>((resolve) => wire.listen(join(host, SOCKET), resolve));

  function cut(): void {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  }
  return {
    host,
    cutAt: (what, stays) => {
      cutting = what;
      isStaying = stays !== undefined;
    },
    isCut: () => isCut,
    cut,
    hush() {
      const hushed = [...sockets];
      for (const socket of hushed) socket.pause();
      return () => {
        for (const socket of hushed) socket.resume();
      };
    },
    mend: () => {
      isCut = false;
    },
    async close() {
      cut();
      await new Promise((resolve) => wire.close(resolve));
      rmSync(host, { recursive: true, force: true });
    },
  };
}
