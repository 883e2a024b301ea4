/**
 * Detects connection poolers in front of a server. A pooler that gives a server connection to several clients in turn
 * (PgBouncer with `pool_mode = transaction`, or even `statement`) breaks what a store relies on: locks that belong to the connection pass
 * to the next client, so that two processes may each think the store is their own, and settings and notifications get
 * lost.
 */
import type pg from 'pg';
import { NestwatchError } from '../../errors.ts';
import { clientBeside, destroy, type PostgresPlace } from './postgres-client.ts';
import { isServerError } from './postgres-failure.ts';

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const PROTOCOL_VIOLATION = '08P01';

/**
 * Throws `refusal` if the connection is not reserved for this client. `pid` is the server's process behind it; no
 * transaction may be open on it. A pooler reports a process id of its own; then a second connection is opened as a
 * test.
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
  const other = clientBeside(client, place);
  try {
    await other.connect();
    await other.query('BEGIN');
    // The other client keeps its server process until its transaction ends; the first may get a different one
    // meanwhile.
    const isGiven = (await pidOf(other)) === pid || (await pidOf(client)) !== pid;
    await other.query('ROLLBACK');
    return isGiven;
  } catch (error) {
    // With `pool_mode = statement` PgBouncer refuses to begin a transaction.
    if (isServerError(error) && error.code === PROTOCOL_VIOLATION) return true;
    throw error;
  } finally {
    destroy(other);
  }
}

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]!.pid;
}
