import { codeOf, type NestwatchError } from '../../../errors.ts';
import type { StoreReport } from '../../upkeep-store.ts';
import { rowsOf, tablesOf } from '../copy/postgres-row-source.ts';
import { openSnapshot, type SnapshotOptions, shownPlace } from '../copy/postgres-snapshot.ts';
import { lookAtServer } from '../look-at-server.ts';
import type { Statements } from '../statements.ts';

/**
 * Reads every row of a snapshot of the store, even while daemons use it. Throws if
 * the store cannot be read at all. Indexes are not checked; `pg_amcheck` does that.
 */
export async function checkPostgresStore(options: Omit<SnapshotOptions, 'alone'>): Promise<StoreReport> {
  const { place } = options;
  const { bytes, schema } = await lookAtServer(place);
  const { session } = await openSnapshot({ ...options, alone: false });
  try {
    const damages = await unreadableTables(session, place.schema);
    // An unreadable row ends the transaction.
    if (damages.length > 0) {
      return { path: shownPlace(place), bytes, schema, events: 0, firing: 0, pending: 0, damages };
    }
    return {
      path: shownPlace(place),
      bytes,
      schema,
      events: await count(session, 'event'),
      firing: await count(session, "alert WHERE state = 'firing'"),
      pending: await count(session, `delivery WHERE state IN ('pending', 'leased', 'retry', 'ambiguous')`),
      damages,
    };
  } finally {
    await session.close();
  }
}

/** The first table whose rows cannot all be read. */
async function unreadableTables(statements: Statements, schema: string): Promise<string[]> {
  for (const table of await tablesOf(statements, schema)) {
    try {
      for await (const _ of rowsOf(statements).read(
        table,
        table.columns.map(({ name }) => name),
      ));
    } catch (error) {
      if (codeOf(error) !== 'store_corrupt') throw error;
      return [`${table.name}: ${(error as NestwatchError).message}`];
    }
  }
  return [];
}

async function count(statements: Statements, what: string): Promise<number> {
  return (await statements.first<{ count: number }>(`SELECT count(*) AS count FROM ${what}`))!.count;
}
