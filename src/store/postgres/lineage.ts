/**
 * Whether the server still has all that it confirmed. One that took over from another by replication, was restored from a
 * backup, or crashed while it was told not to wait for its disk, may lack the last commits. What it holds is whole, of a
 * moment before: cursors, events and deliveries are those of one commit, so that whoever begins from what the store knows
 * reads on from there, as after a backup of a file. What must not go on is what was begun from more than that:
 *
 * - A process that has the store to itself remembers cursors beyond those that are kept. It finds that the server has
 *   fewer of its commits than were confirmed to it, fails with `store_failed`, and ends.
 * - Where several share the store, all leases end and all replicas are removed: each begins its work anew. Numbers of
 *   replicas and epochs of leases go on far beyond those that may have been lost, so that none is ever given twice. A
 *   process does this whose commits are missing, and also the first one that meets a server of another identity or
 *   timeline: those whose commits are missing may come back later.
 */
import { isServerError } from './postgres-failure.ts';

/** A connection, outside of any transaction of the store. */
interface Connection {
  query<Row extends object>(
    sql: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Row[]; readonly rowCount: number | null }>;
}

/** Far more leases and replicas than commits that are lost together could have made. */
const BEYOND = 1_000_000;

const IDENTITY = `SELECT system_identifier || ' ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS identity
  FROM pg_control_system()`;

const ADOPT = 'INSERT INTO server (one, identity) VALUES (true, $1) ON CONFLICT DO NOTHING';
const FOLLOW = 'UPDATE server SET identity = $1 WHERE identity <> $1';

const BEGIN_ANEW = `UPDATE server SET epochs = ${BEYOND} + greatest(epochs, (SELECT max(epoch) FROM duty));
  UPDATE duty SET owner = 0, epoch = (SELECT epochs FROM server);
  DELETE FROM replica;
  SELECT setval(sequence, nextval(sequence) + ${BEYOND})
  FROM (SELECT pg_get_serial_sequence('replica', 'replica')::regclass AS sequence) AS numbers`;

/**
 * To be called on each new connection, before anything else is done there. `confirmed` is the number of the last commit
 * of this life that was confirmed. Returns whether that is missing; where others share the store, leases have ended then.
 */
export async function followServer(client: Connection, life: string, confirmed: number): Promise<boolean> {
  const identity = await identityOf(client);
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  await client.query(ADOPT, [identity]);
  const isOther = ((await client.query(FOLLOW, [identity])).rowCount ?? 0) > 0;
  const { rows } = await client.query<{ commits: number }>('SELECT commits FROM writer WHERE life = $1', [
    life,
  ]);
  const isMissing = (rows[0]?.commits ?? 0) < confirmed;
  if (isOther || isMissing) await client.query(BEGIN_ANEW);
  await client.query('COMMIT');
  return isMissing;
}

/** The server's own name for itself, and its timeline; empty where it does not say. */
async function identityOf(client: Connection): Promise<string> {
  try {
    return (await client.query<{ identity: string }>(IDENTITY)).rows[0]!.identity;
  } catch (error) {
    // A server that somebody else runs may keep it to itself; then the numbers of the commits have to do.
    if (isServerError(error)) return '';
    throw error;
  }
}
