/**
 * A replica that is suspended, or whose machine is lost, while the server sends it more than the network can buffer.
 */
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { alert } from '../contract/sample-records.ts';
import { findServer, type PostgresServer, placeAt, startServer } from './postgres-server.ts';

const bin = findServer()!;
/** More than both ends of a connection buffer. */
const MEGABYTES = 24;
const LEASE_MS = 10_000;

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('a replica that receives nothing any more', () => {
  let server: PostgresServer;
  let wire: Server;
  let admin: pg.Client;
  let place: string;
  const sockets: Socket[] = [];
  /** Stops passing on what the server sends. */
  let stop = () => {};

  beforeAll(async () => {
    const free = createServer();
    const port = await listening(free);
    free.close();
    await once(free, 'close');
    server = await startServer(bin, ['listen_addresses=127.0.0.1', `port=${port}`]);
    admin = new pg.Client({ host: server.host, port, user: 'nestwatch', database: 'postgres' });
    await admin.connect();
    wire = createServer((client) => {
      const upstream = createConnection(port, '127.0.0.1');
      for (const socket of [client, upstream]) sockets.push(socket.on('error', () => {}));
      client.pipe(upstream);
      upstream.pipe(client);
      const before = stop;
      stop = () => {
        before();
        upstream.unpipe().pause();
      };
    });
    place = `postgres://nestwatch@127.0.0.1:${await listening(wire)}/postgres?sslmode=disable`;
  }, 60_000);
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    wire?.close();
    await admin?.end();
    await server?.remove();
  });

  test('keeps its duties no longer than another one that is stopped, whatever the server sends it', async () => {
    const clock = createVirtualClock();
    const { store } = await openPostgresStore({ place: placeAt(place, {}), clock, isShared: true });
    const summary = 'x'.repeat(1_000_000);
    for (let index = 0; index < MEGABYTES; index += 1)
      await store.transaction((tx) => tx.alerts.put([alert(`a${index}`, { annotations: { summary } })]));
    const lease = await store.transaction(async ({ ownership }) =>
      ownership.take('region eu', await ownership.join('a', '1', LEASE_MS)),
    );
    const reading = store.transaction(async (tx) => {
      await tx.ownership.check(lease!);
      stop();
      return tx.alerts.page({ order: 'newest', nowUs: 0, limit: 1000 }).then((one) => one.alerts);
    });
    reading.catch(() => {});
    const others = async () =>
      (await admin.query('SELECT 1 FROM nestwatch.duty FOR UPDATE SKIP LOCKED')).rowCount;
    await expect.poll(others, { interval: 100 }).toBe(0);
    await expect.poll(others, { interval: 100, timeout: 2 * LEASE_MS }).toBe(1);
    for (const socket of sockets) socket.destroy();
    await expect(reading).rejects.toMatchObject({ code: 'store_down' });
    await store.close();
  });
});
