/**
 * Poolers in front of a server. One that gives a connection of the server to several clients in turn (PgBouncer with
 * `pool_mode = transaction`) takes from them what a store rests on: locks that end with the connection are had by whoever
 * comes next as well, so that two processes each take the store for their own, and settings and notifications go astray.
 */
import pg from 'pg';
import { NestwatchError } from '../../errors.ts';
import { clientConfig, destroy, type PostgresPlace } from './postgres-client.ts';

/**
 * Throws `refusal` where the connection, which `pid` of the server serves now and no transaction is open on, is not kept
 * for this client. What stands in between shows by its own name for the connection, and is asked for a second one then.
 */
export async function refuseSharedBackend(
  client: pg.Client,
  place: PostgresPlace,
  pid: number,
  refusal: 'config_invalid' | 'store_down',
): Promise<void> {
  const { processID } = client as { readonly processID?: number | null };
  if (processID === pid || !(await isShared(client, place, pid))) return;
  throw new NestwatchError(
    refusal,
    `A pooler at ${place.shown} gives one connection of the server to several in turn: name the server itself, or have a connection kept for each session (PgBouncer: pool_mode = session).`,
  );
}

async function isShared(client: pg.Client, place: PostgresPlace, pid: number): Promise<boolean> {
  const other = new pg.Client(clientConfig(place));
  other.on('error', () => {});
  try {
    await other.connect();
    await other.query('BEGIN');
    // The other keeps what it was given until its transaction ends: the first may get something else meanwhile.
    const isGiven = (await pidOf(other)) === pid || (await pidOf(client)) !== pid;
    await other.query('ROLLBACK');
    return isGiven;
  } finally {
    destroy(other);
  }
}

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]!.pid;
}
