/** Configures a new connection, and checks that its server can hold a store. */
import pg from 'pg';
import { NestwatchError } from '../../errors.ts';
import { clientBeside, destroy, type PostgresPlace } from './postgres-client.ts';
import { isServerError, standby } from './postgres-failure.ts';

/**
 * The server ends a transaction in which nothing happens for this long, and a connection that reads nothing of an
 * answer for this long, so that a process that is suspended, or whose machine is lost, does not keep its locks.
 */
const SILENCE_MS = 10_000;

/**
 * Limits if the store is shared. A process that is suspended in a transaction keeps its locks until the server ends
 * it. Others that wait for those locks must neither lose their own lease meanwhile (`LEASE_MS`) nor give up earlier.
 */
export const SHARED_LIMITS = {
  silenceMs: 4_000,
  lockMs: 6_000,
  /** At most; `store.statement_timeout` may set less. */
  statementMs: 8_000,
} as const;

const OLDEST_SERVER = 150_000;

/** How long one statement may take. */
export function longestStatementMs({ statementTimeoutMs }: PostgresPlace, isShared: boolean): number {
  return isShared ? Math.min(statementTimeoutMs, SHARED_LIMITS.statementMs) : statementTimeoutMs;
}

/** The statement that sets this limit for a connection. */
export function limitStatements(place: PostgresPlace, isShared: boolean): string {
  return `SET statement_timeout = ${longestStatementMs(place, isShared)}`;
}

/**
 * Configures a connection; resolves to the server's process behind it. Commits wait for the server's disk, and for its
 * synchronous standbys, whatever the settings of the role or database: what is confirmed to people is kept. Throws `config_invalid` for a server that
 * cannot hold a store, and `store_down` for a standby. Statements are planned once, some while their tables are still
 * empty; a plan with a sequential scan would then scan a million rows later. So sequential scans are disabled where
 * there is an index, which also reduces conflicts between transactions of several processes.
 */
export async function settleIn(client: pg.Client, place: PostgresPlace, isShared: boolean): Promise<number> {
  const silenceMs = isShared ? SHARED_LIMITS.silenceMs : SILENCE_MS;
  await client.query(`
    SET search_path = ${pg.escapeIdentifier(place.schema)};
    ${limitStatements(place, isShared)};
    SET idle_in_transaction_session_timeout = ${silenceMs};
    SET tcp_user_timeout = ${silenceMs};
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
    SET synchronous_commit = on;
    SET client_min_messages = warning;
    SET jit = off;
    SET enable_seqscan = off`);
  const { rows } = await client.query<{ version: number; encoding: string; isStandby: boolean; pid: number }>(
    `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() AS "isStandby", pg_backend_pid() AS pid`,
  );
  const { version, encoding, isStandby, pid } = rows[0]!;
  if (version < OLDEST_SERVER) {
    throw new NestwatchError('config_invalid', `The server of ${place.shown} is older than PostgreSQL 15.`);
  }
  if (encoding !== 'UTF8') {
    throw new NestwatchError(
      'config_invalid',
      `The database of ${place.shown} has the encoding ${encoding}: create one with UTF8.`,
    );
  }
  if (isStandby) {
    throw standby(place.shown);
  }
  return pid;
}

// Detects connection poolers in front of a server. A pooler that gives a server connection to several clients in turn
// (PgBouncer with `pool_mode = transaction`, or even `statement`) breaks what a store relies on: locks that belong to the connection pass
// to the next client, so that two processes may each think the store is their own, and settings and notifications get
// lost.

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
