import { NestwatchError } from '../../../errors.ts';
import {
  ALERTING,
  type ConfigInForce,
  type Lease,
  type OwnershipView,
  type Renewal,
  type ReplicaRecord,
  type Showing,
  type ShownDuty,
} from '../../ownership-store.ts';
import { NOW_US, type RowStatement, type Sql } from '../sql.ts';

const SHOWN_FOR_US = 86_400_000_000;

/** A replica asks these every few seconds, or holds locks with them: the texts of an engine. */
function textsOf(engine: Sql['engine']) {
  const now = NOW_US[engine];
  /** Everything in one round trip. Each row is a replica, a duty, or the clock. */
  const viewOn = (replicas: string) =>
    `SELECT ${now} AS now_us, replica.*, duty.duty, duty.owner, duty.epoch, duty.since_us
     FROM ${replicas} AS replica FULL JOIN duty ON false RIGHT JOIN (SELECT 1) AS clock ON true
     ORDER BY replica.replica, duty.duty`;
  const renewed = `UPDATE replica SET expires_us = ${now} + $2::bigint, leaving = $3, clock_ahead_us = $4,
    mistakes = $5, first_mistake = $6, refused_us = $7, config = $8, config_us = $9, config_regions = $10, turn_ms = $11
    WHERE replica = $1 RETURNING *`;
  return {
    now,
    view: viewOn('replica'),
    renewed,
    /**
     * Renews and returns the view in one statement, without the reported states, which are large; no row if the replica
     * was removed. A statement does not see its own changes to a table, hence `living`.
     */
    renewedView: `WITH renewed AS (${renewed}),
      living AS (SELECT * FROM renewed UNION ALL SELECT * FROM replica WHERE replica <> $1)
      SELECT view.* FROM renewed, (${viewOn('living')}) AS view ORDER BY view.replica, view.duty`,
    free: `UPDATE duty SET owner = 0, epoch = epoch + 1, since_us = ${now}
      WHERE owner <> 0 AND owner NOT IN (SELECT replica FROM replica)`,
    take: `UPDATE duty SET owner = $2, epoch = ${LAST_EPOCH[engine]} + 1, since_us = ${now}
      WHERE duty = $1 AND owner = 0 AND EXISTS (SELECT 1 FROM replica WHERE replica = $2) RETURNING duty, epoch`,
    /** The lock on the row keeps the duty's owner until the transaction ends. */
    check: `SELECT 1 FROM duty WHERE duty = $1 AND epoch = $2 AND owner <> 0 ${engine === 'postgres' ? 'FOR SHARE' : ''}`,
    removeExpired: REMOVE_EXPIRED[engine],
    shown: `SELECT duty, shown_us AS "shownUs", shown FROM duty
      WHERE shown <> '' AND shown_us > ${now} - ${SHOWN_FOR_US} ORDER BY duty`,
    show: {
      columns: 'name text, epoch bigint, shown text',
      text: (given) => `UPDATE duty SET shown = given.shown, shown_us = ${now}
        FROM ${given} WHERE duty.duty = given.name AND duty.epoch = given.epoch AND duty.owner <> 0`,
    } satisfies RowStatement,
  };
}

/** A server may have lost later epochs (`followServer` in `../../postgres/session.ts`). */
const LAST_EPOCH = { sqlite: 'epoch', postgres: 'greatest(epoch, (SELECT epochs FROM server))' };

/**
 * Skips a replica that is just renewing, or whose lease is shown in a current transaction: whoever waited for it
 * might be late to renew themselves.
 */
const REMOVE_EXPIRED = {
  sqlite: `DELETE FROM replica WHERE expires_us <= ${NOW_US.sqlite}`,
  postgres: `WITH expired AS (
      SELECT replica FROM replica WHERE expires_us <= ${NOW_US.postgres} FOR UPDATE SKIP LOCKED),
    taken AS (
      SELECT duty FROM duty WHERE owner IN (SELECT replica FROM expired) FOR UPDATE SKIP LOCKED)
    DELETE FROM replica USING expired
    WHERE replica.replica = expired.replica AND NOT EXISTS (
      SELECT 1 FROM duty WHERE duty.owner = expired.replica AND duty.duty NOT IN (SELECT duty FROM taken))`,
};

/** The columns of the other two kinds are null. */
interface ViewRow {
  readonly now_us: number;
  readonly replica: number | null;
  readonly name: string;
  readonly version: string;
  readonly started_us: number;
  readonly expires_us: number;
  readonly leaving: number;
  readonly clock_ahead_us: number;
  readonly mistakes: number;
  readonly first_mistake: string;
  readonly refused_us: number;
  readonly config: string;
  readonly config_us: number;
  readonly config_regions: string;
  readonly relieved_us: number;
  readonly turn_ms: number;
  readonly duty: string | null;
  readonly owner: number;
  readonly epoch: number;
  readonly since_us: number;
}

interface ClockRow {
  readonly clock_us: number;
  readonly former_us?: number;
}

/** On SQLite only one process uses the file, so several replicas on it occur only in tests. */
export function createOwnership(sql: Sql) {
  const texts = textsOf(sql.engine);
  const view = async () => viewOf(await sql.rows<ViewRow>(texts.view));

  return {
    /** Adds a replica that is a member for `forMs`; returns its number. */
    async join(name: string, version: string, forMs: number): Promise<number> {
      const row = await sql.first<{ replica: number }>(
        `INSERT INTO replica (name, version, started_us, expires_us, leaving)
         SELECT $1, $2, now_us, now_us + $3::bigint, 0 FROM (SELECT ${texts.now} AS now_us) AS clock RETURNING replica`,
        name,
        version,
        Math.round(forMs * 1000),
      );
      return row!.replica;
    },
    /** Renews the replica and returns the state of all. Undefined if it was removed: others may now own its duties. */
    async renew(
      replica: number,
      { forMs, isLeaving, clockAheadUs, refused, config, turnMs }: Renewal,
    ): Promise<OwnershipView | undefined> {
      const values = [
        ...[replica, Math.round(forMs * 1000), Number(isLeaving), clockAheadUs],
        ...[refused?.mistakes ?? 0, refused?.first ?? '', refused?.sinceUs ?? 0],
        ...[config.digest, config.sinceUs, regionsText(config), Math.round(turnMs)],
      ];
      if (sql.engine === 'sqlite') return (await sql.first(texts.renewed, ...values)) ? view() : undefined;
      // Run on its own, this is also a transaction.
      const rows = await sql.rows<ViewRow>(texts.renewedView, ...values);
      return rows.length > 0 ? viewOf(rows) : undefined;
    },
    /** Whether the replica was not removed. */
    isMember: async (replica: number): Promise<boolean> =>
      (await sql.first('SELECT 1 FROM replica WHERE replica = $1', replica)) !== undefined,
    /** Removes a replica that ends; its duties become unowned. */
    async leave(replica: number): Promise<void> {
      await sql.run('DELETE FROM replica WHERE replica = $1', replica);
      await sql.run(texts.free);
    },
    /** Removes the replicas that did not renew in time; returns how many. */
    async removeExpired(): Promise<number> {
      const removed = await sql.run(texts.removeExpired);
      if (removed > 0) await sql.run(texts.free);
      return removed;
    },
    view,
    /** Takes an unowned duty for a replica that was not removed; undefined if another replica owns it. */
    async take(duty: string, replica: number): Promise<Lease | undefined> {
      await sql.run('INSERT INTO duty (duty) VALUES ($1) ON CONFLICT DO NOTHING', duty);
      return sql.first<Lease>(texts.take, duty, replica);
    },
    /** Records that a region is taken over from this replica, which cannot reach it. */
    async relieve(replica: number): Promise<void> {
      await sql.run(`UPDATE replica SET relieved_us = ${texts.now} WHERE replica = $1`, replica);
    },
    /** Gives a duty back. A lease that has ended changes nothing. */
    async release({ duty, epoch }: Lease): Promise<void> {
      await sql.run(
        `UPDATE duty SET owner = 0, epoch = epoch + 1, since_us = ${texts.now}
         WHERE duty = $1 AND epoch = $2 AND owner <> 0`,
        duty,
        epoch,
      );
    },
    /**
     * Throws `lease_lost` if the lease has ended. Otherwise it cannot end before the transaction does, so that
     * everything the transaction writes is the owner's.
     */
    async check({ duty, epoch }: Lease): Promise<void> {
      if (await sql.first(texts.check, duty, epoch)) return;
      throw new NestwatchError('lease_lost', `Another replica has taken over: ${duty}.`);
    },
    /**
     * Records the store's clock, and resolves to how far it is behind its last record, or 0. That is a lower bound of
     * how much it was set back, perhaps because the store moved to another server. Some replica must own alerting.
     */
    async noteClock(): Promise<number> {
      const read = 'SELECT clock_us FROM duty WHERE duty = $1';
      const note = `UPDATE duty SET clock_us = ${texts.now} WHERE duty = $1 RETURNING clock_us`;
      // A server does both in one round trip, since each transaction that alerts begins with it.
      const both = `WITH former AS (${read}) ${note}, (SELECT clock_us FROM former) AS former_us`;
      const formerUs =
        sql.engine === 'sqlite' ? (await sql.first<ClockRow>(read, ALERTING))?.clock_us : undefined;
      const row = await sql.first<ClockRow>(sql.engine === 'sqlite' ? note : both, ALERTING);
      return row ? Math.max(0, (row.former_us ?? formerUs ?? 0) - row.clock_us) : 0;
    },
    /** Reports the states of duties to all replicas; ignores those whose lease has ended. */
    async show(showings: readonly Showing[]): Promise<void> {
      await sql.write(
        texts.show,
        showings.map(({ lease, shown }) => [lease.duty, lease.epoch, shown]),
      );
    },
    /** The last state of each duty that was reported within a day: nobody reports one that was removed. */
    shown: (): Promise<ShownDuty[]> => sql.rows<ShownDuty>(texts.shown),
  };
}

function viewOf(rows: readonly ViewRow[]): OwnershipView {
  return {
    nowUs: rows[0]!.now_us,
    replicas: withUniqueNames(
      rows.flatMap((row) => (row.replica === null ? [] : [replicaOf(row, row.replica)])),
    ),
    duties: rows.flatMap(({ duty, owner, epoch, since_us: sinceUs }) =>
      duty === null ? [] : [{ duty, owner, epoch, sinceUs }],
    ),
  };
}

function replicaOf(row: ViewRow, replica: number): ReplicaRecord {
  const { name, version, mistakes } = row;
  return {
    ...{ replica, name, version },
    startedUs: row.started_us,
    expiresUs: row.expires_us,
    isLeaving: row.leaving === 1,
    clockAheadUs: row.clock_ahead_us,
    refused: mistakes === 0 ? undefined : { mistakes, first: row.first_mistake, sinceUs: row.refused_us },
    config: { digest: row.config, sinceUs: row.config_us, ...regionsOf(row.config_regions) },
    relievedUs: row.relieved_us,
    turnMs: row.turn_ms,
  };
}

/**
 * Makes the names of replicas unique. Processes on one machine have the same host name, and so may containers; the
 * replica's number is appended to such names, as in `web-1#7`.
 */
function withUniqueNames(replicas: readonly ReplicaRecord[]): ReplicaRecord[] {
  const named = Map.groupBy(replicas, ({ name }) => name);
  return replicas.map((one) =>
    named.get(one.name)!.length > 1 ? { ...one, name: `${one.name}#${one.replica}` } : one,
  );
}

/** The regions of a replica's configuration as stored; empty if they are unknown. */
function regionsText({ regions }: ConfigInForce): string {
  return regions ? JSON.stringify(regions) : '';
}

function regionsOf(text: string): Pick<ConfigInForce, 'regions'> {
  return text === '' ? {} : { regions: JSON.parse(text) as string[] };
}
