import { codeOf, type NestwatchError } from '../../../errors.ts';
import type { Clock } from '../../../time/clock.ts';
import { allTables, readRows } from '../../copy/table-rows.ts';
import type { Sql } from '../../sql/sql.ts';
import type { StoreReport } from '../../upkeep-store.ts';
import { openPostgresSource } from '../copy/postgres-rows.ts';
import { lookAtServer } from '../look-at-server.ts';
import type { PostgresPlace } from '../postgres-client.ts';

/**
 * Reads every row of a snapshot of the store, even while daemons use it. Throws if the store cannot be read at all.
 * Indexes are not checked; `pg_amcheck` does that.
 */
export async function checkPostgresStore(place: PostgresPlace, clock: Clock): Promise<StoreReport> {
  const { bytes, schema } = await lookAtServer(place);
  const { sql, shown: path, close } = await openPostgresSource({ place, clock, alone: false });
  try {
    const damages = await unreadableTables(sql);
    // An unreadable row ends the transaction.
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

/** The first table whose rows cannot all be read. */
async function unreadableTables(sql: Sql): Promise<string[]> {
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
