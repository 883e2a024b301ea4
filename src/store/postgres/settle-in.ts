/** Configures a new connection, and checks that its server can hold a store. */
import pg from 'pg';
import { NestwatchError } from '../../errors.ts';
import type { PostgresPlace } from './postgres-client.ts';
import { standby } from './postgres-failure.ts';

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
