/** What must hold of a connection and its server before anything is asked there. */
import pg from 'pg';
import { NestwatchError } from '../../errors.ts';
import type { PostgresPlace } from './postgres-client.ts';

/**
 * The server ends a transaction in which nothing happens for so long, and a connection that takes nothing of an answer for
 * so long: a process that is stopped, or whose machine is lost, must not hold its locks.
 */
const SILENCE_MS = 10_000;

/**
 * Where others share the store. A process that is stopped in a transaction keeps its locks until the server ends that;
 * whoever waits for them must not lose their own lease by it (`LEASE_MS`), nor give up before.
 */
export const SHARED_LIMITS = {
  silenceMs: 4_000,
  lockMs: 6_000,
  /** At the most; less where `store.statement_timeout` says so. */
  statementMs: 8_000,
} as const;

const OLDEST_SERVER = 150_000;

/** What one statement may take. */
export function longestStatementMs({ statementTimeoutMs }: PostgresPlace, isShared: boolean): number {
  return isShared ? Math.min(statementTimeoutMs, SHARED_LIMITS.statementMs) : statementTimeoutMs;
}

/** Sets it for a connection. */
export function limitStatements(place: PostgresPlace, isShared: boolean): string {
  return `SET statement_timeout = ${longestStatementMs(place, isShared)}`;
}

/**
 * Gives a connection its settings; resolves to the server's process that serves it. Throws `config_invalid` for a server
 * that cannot hold a store, and `store_down` for a standby. Statements are planned once, some while
 * their tables are still empty: whoever plans to walk over all rows then does so over a million later. So no table is
 * walked over that has an index for it, which also keeps transactions of several processes out of each other's way.
 */
export async function settleIn(client: pg.Client, place: PostgresPlace, isShared: boolean): Promise<number> {
  const silenceMs = isShared ? SHARED_LIMITS.silenceMs : SILENCE_MS;
  await client.query(`
    SET search_path = ${pg.escapeIdentifier(place.schema)};
    ${limitStatements(place, isShared)};
    SET idle_in_transaction_session_timeout = ${silenceMs};
    SET tcp_user_timeout = ${silenceMs};
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
    SET client_min_messages = warning;
    SET jit = off;
    SET enable_seqscan = off`);
  const { rows } = await client.query<{ version: number; encoding: string; standby: boolean; pid: number }>(
    `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() AS standby, pg_backend_pid() AS pid`,
  );
  const { version, encoding, standby, pid } = rows[0]!;
  if (version < OLDEST_SERVER) {
    throw new NestwatchError('config_invalid', `The server of ${place.shown} is older than PostgreSQL 15.`);
  }
  if (encoding !== 'UTF8') {
    throw new NestwatchError(
      'config_invalid',
      `The database of ${place.shown} has the encoding ${encoding}: create one with UTF8.`,
    );
  }
  if (standby) {
    throw new NestwatchError(
      'store_down',
      `The server of ${place.shown} is a standby, which takes no writes.`,
    );
  }
  return pid;
}
