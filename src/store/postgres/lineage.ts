/**
 * Checks that the server still has everything it confirmed. A server may lack the last commits if it took over from
 * another by replication, was restored from a backup, or crashed while told not to wait for its disk. What it holds
 * is consistent, as of an earlier moment: cursors, events and deliveries belong to the same commit. So whoever starts
 * from the store's content simply reads on from there, as after restoring a file from a backup. But work that was
 * based on later content must stop:
 *
 * - A process with its own store remembers cursors beyond the stored ones. It finds that the server has fewer of its
 *   commits than were confirmed, fails with `store_failed`, and ends.
 * - If several processes share the store, all leases end and all replicas are removed, so that each starts its work
 *   again. Numbers of replicas and epochs of leases continue far beyond any that may have been lost, so that none is
 *   used twice. This is done by a process whose commits are missing, and by the first one that meets a server with
 *   another identity or timeline, since processes whose commits are missing may come back later.
 */
import { isServerError } from './postgres-failure.ts';

/** A connection outside any transaction of the store. */
interface Connection {
  query<Row extends object>(
    sql: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Row[]; readonly rowCount: number | null }>;
}

/** Far more leases and replicas than the lost commits could have created. */
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
 * Call this on each new connection before anything else. `confirmed` is the number of this process's last confirmed
 * commit. Returns whether that commit is missing; if the store is shared, all leases have then been ended.
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

/** The server's identity and timeline; empty if it does not reveal them. */
async function identityOf(client: Connection): Promise<string> {
  try {
    return (await client.query<{ identity: string }>(IDENTITY)).rows[0]!.identity;
  } catch (error) {
    // A managed server may hide it; then only the numbers of the commits are compared.
    if (isServerError(error)) return '';
    throw error;
  }
}
