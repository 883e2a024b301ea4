/** Takes the advisory locks of a session, which end with its connection. */
import pg from 'pg';
import { NestwatchError } from '../../errors.ts';
import type { PostgresPlace } from './postgres-client.ts';

/** The number of an advisory lock, computed from its name. */
const LOCK_KEY = 'hashtextextended($1, 0)';
/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const LOCK_NOT_AVAILABLE = '55P03';
/** With more processes than this, some share a slot. */
const MAX_SLOTS = 64;

/** Waits for the lock on a schema's tables, which is held while they are created or migrated. */
export async function lockTables(
  client: pg.Client,
  { schema }: PostgresPlace,
  within: { readonly query_timeout: number },
): Promise<void> {
  const text = `SELECT pg_advisory_lock(${LOCK_KEY})`;
  await client.query({ text, values: [`nestwatch tables ${schema}`], ...within });
}

export async function unlockTables(client: pg.Client, { schema }: PostgresPlace): Promise<void> {
  await client.query(`SELECT pg_advisory_unlock(${LOCK_KEY})`, [`nestwatch tables ${schema}`]);
}

/**
 * Waits for the lock on this run of the process: whoever has it knows that the earlier session of this run has ended.
 */
export async function lockLife(client: pg.Client, life: string): Promise<void> {
  await client.query(`SELECT pg_advisory_lock(${LOCK_KEY})`, [`nestwatch life ${life}`]);
}

/** Whether the run of this `life`, a column, has ended: nobody holds its lock. Ask this in a transaction of its own. */
export const HAS_ENDED = `pg_try_advisory_xact_lock(hashtextextended('nestwatch life ' || life, 0))`;

/** Takes the lock on the schema, alone or shared. Throws `refusal` and says who holds it if another process does. */
export async function lockSchema(
  client: pg.Client,
  place: PostgresPlace,
  how: 'alone' | 'shared',
  refusal: 'store_down' | 'store_locked',
): Promise<void> {
  const name = schemaLock(place);
  try {
    await client.query(`SELECT pg_advisory_lock${how === 'shared' ? '_shared' : ''}(${LOCK_KEY})`, [name]);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error;
    const holder = await holderOf(client, name);
    const message = `Another nestwatch uses the schema ${place.schema} of the store ${place.shown}${holder}.`;
    throw new NestwatchError(refusal, message, { cause: error });
  }
}

/** Releases the lock on the schema that was taken alone. */
export async function unlockSchema(client: pg.Client, place: PostgresPlace): Promise<void> {
  await client.query(`SELECT pg_advisory_unlock(${LOCK_KEY})`, [schemaLock(place)]);
}

/** Takes the smallest free slot: a number from 1 to 64. */
export async function takeSlot(client: pg.Client, place: PostgresPlace): Promise<number> {
  const { rows } = await client.query<{ slot: number }>(
    `SELECT slot FROM generate_series(1, ${MAX_SLOTS - 1}) AS slot
     WHERE pg_try_advisory_lock(hashtextextended($1 || ' slot ' || slot, 0)) LIMIT 1`,
    [schemaLock(place)],
  );
  return rows[0]?.slot ?? MAX_SLOTS;
}

function schemaLock({ schema }: PostgresPlace): string {
  return `nestwatch ${schema}`;
}

/** Who holds the lock with this name, for people. */
async function holderOf(client: pg.Client, name: string): Promise<string> {
  const { rows } = await client.query<{ who: string }>(
    `SELECT concat_ws(' ', application_name, 'at', coalesce(client_addr::text, 'a socket of the server'), 'since',
       date_trunc('second', backend_start)::text) AS who
     FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid() AND ((classid::bigint << 32) | objid::bigint) = ${LOCK_KEY}`,
    [name],
  );
  return rows[0] ? `: ${rows[0].who}` : '';
}
