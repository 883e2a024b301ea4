import pg from 'pg';
import { codeOf, type NestwatchError } from '../../errors.ts';
import type { Clock } from '../../time/clock.ts';
import { allTables, readRows } from '../copy/table-rows.ts';
import type { OwnershipView } from '../ownership-store.ts';
import type { Sql } from '../sql/sql.ts';
import { createOwnership } from '../sql/upkeep/duties.ts';
import type { StoreReport } from '../store.ts';
import { openPostgresSource } from './copy/postgres-rows.ts';
import { connectTo, type PostgresPlace } from './postgres-client.ts';
import { connectFailure } from './postgres-failure.ts';
import { refuseSharedBackend } from './settle-in.ts';

/** What can be seen of a store on a server without using it. */
interface ServerLook {
  /** The server's version, such as `15.14`. */
  readonly version: string;
  /** The version of the tables; 0 if there are none yet. */
  readonly schema: number;
  /** The size of the tables in bytes. */
  readonly bytes: number;
  readonly isEncrypted: boolean;
}

/**
 * Looks at a store, even while a daemon uses it. Throws `store_down` with the reason if it cannot be reached, and
 * `config_invalid`.
 */
export async function lookAtServer(place: PostgresPlace): Promise<ServerLook> {
  let client: pg.Client | undefined;
  try {
    client = await connectTo(place);
    const { rows } = await client.query<{
      version: string;
      known: boolean;
      bytes: number;
      encrypted: boolean;
      pid: number;
    }>(
      `SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
         to_regclass(quote_ident($1) || '.schema_step') IS NOT NULL AS known,
         coalesce((SELECT sum(pg_total_relation_size(oid)) FROM pg_class
           WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind = 'r'), 0)::bigint AS bytes,
         coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS encrypted,
         pg_backend_pid() AS pid`,
      [place.schema],
    );
    const { version, known, bytes, encrypted, pid } = rows[0]!;
    await refuseSharedBackend(client, place, pid, 'config_invalid');
    const steps = known
      ? await client.query<{ step: number }>(
          `SELECT max(step) AS step FROM ${pg.escapeIdentifier(place.schema)}.schema_step`,
        )
      : undefined;
    return { version, schema: steps?.rows[0]?.step ?? 0, bytes, isEncrypted: encrypted };
  } catch (error) {
    throw connectFailure(error, place);
  } finally {
    await client?.end().catch(() => {});
  }
}

/** The replicas and duties of an existing store, even while it is in use. */
export async function lookAtReplicas(place: PostgresPlace, clock: Clock): Promise<OwnershipView> {
  const source = await openPostgresSource({ place, clock, alone: false });
  try {
    return await createOwnership(source.sql).view();
  } finally {
    await source.close();
  }
}

/**
 * Reads every row of a snapshot of the store, even while daemons use it. Throws if the store cannot be read at all.
 * Indexes are not checked; `pg_amcheck` does that.
 */
export async function checkPostgresStore(place: PostgresPlace, clock: Clock): Promise<StoreReport> {
  const { bytes, schema } = await lookAtServer(place);
  const { sql, shown: path, close } = await openPostgresSource({ place, clock, alone: false });
  try {
    const damages = await firstUnreadable(sql);
    const count = async (what: string) =>
      damages.length > 0
        ? 0
        : (await sql.first<{ count: number }>(`SELECT count(*) AS count FROM ${what}`))!.count;
    return {
      ...{ path, bytes, schema, damages },
      events: await count('event'),
      firing: await count("alert WHERE state = 'firing'"),
      pending: await count(`delivery WHERE state IN ('pending', 'leased', 'retry', 'ambiguous')`),
    };
  } finally {
    await close();
  }
}

/** The first table whose rows cannot all be read. The failure ends the transaction, so the rest cannot be read. */
async function firstUnreadable(sql: Sql): Promise<string[]> {
  for (const table of allTables()) {
    try {
      for await (const _ of readRows(sql, table));
    } catch (error) {
      if (codeOf(error) !== 'store_corrupt') throw error;
      return [`${table.name}: ${(error as NestwatchError).message}`];
    }
  }
  return [];
}
