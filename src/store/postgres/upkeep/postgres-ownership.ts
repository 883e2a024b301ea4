import { NestwatchError } from '../../../errors.ts';
import {
  ALERTING,
  type Lease,
  type OwnershipStore,
  type OwnershipView,
  type Renewal,
  type ReplicaRecord,
  type Showing,
  type ShownDuty,
} from '../../ownership-store.ts';
import { withUniqueNames } from '../../rows/replica-names.ts';
import { regionsOf, regionsText } from '../../rows/replica-regions.ts';
import { columnsOf, given, type Statements } from '../statements.ts';

/** The server's clock, not that of any replica. */
const NOW_US = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';

/** Makes the duties of removed replicas unowned. */
const FREE = `UPDATE duty SET owner = 0, epoch = epoch + 1, since_us = ${NOW_US}
  WHERE owner <> 0 AND owner NOT IN (SELECT replica FROM replica)`;

/**
 * Skips a replica that is just renewing, or whose lease is shown in a current transaction: whoever waited for it
 * might be late to renew themselves.
 */
const REMOVE_EXPIRED = `WITH expired AS (
    SELECT replica FROM replica WHERE expires_us <= ${NOW_US} FOR UPDATE SKIP LOCKED),
  taken AS (
    SELECT duty FROM duty WHERE owner IN (SELECT replica FROM expired) FOR UPDATE SKIP LOCKED)
  DELETE FROM replica USING expired
  WHERE replica.replica = expired.replica AND NOT EXISTS (
    SELECT 1 FROM duty WHERE duty.owner = expired.replica AND duty.duty NOT IN (SELECT duty FROM taken))`;

/**
 * Everything in one round trip, since every replica asks every few seconds. Each row is a replica, a duty, or the
 * clock.
 */
function viewOn(replicas: string): string {
  return `SELECT ${NOW_US} AS now_us, replica.*, duty.duty, duty.owner, duty.epoch, duty.since_us, duty.weight
    FROM ${replicas} AS replica FULL JOIN duty ON false
      RIGHT JOIN (SELECT 1) AS clock ON true
    ORDER BY replica.replica, duty.duty`;
}

const VIEW = viewOn('replica');

/**
 * Returns the view without the reported states, which are large; no row if the replica was removed. A statement does
 * not see its own changes to a table, hence `living`.
 */
const RENEW = `WITH renewed AS (
    UPDATE replica SET expires_us = ${NOW_US} + $2::bigint, leaving = $3, clock_ahead_us = $4, mistakes = $5,
      first_mistake = $6, refused_us = $7, config = $8, config_us = $9, config_regions = $10, turn_ms = $11 WHERE replica = $1 RETURNING *),
  living AS (SELECT * FROM renewed UNION ALL SELECT * FROM replica WHERE replica <> $1)
  SELECT view.* FROM renewed, (${viewOn('living')}) AS view ORDER BY view.replica, view.duty`;

const SHOW = `UPDATE duty SET weight = given.weight, shown = given.shown, shown_us = ${NOW_US}
  FROM ${given('name text, epoch bigint, weight float8, shown text')}
  WHERE duty.duty = given.name AND duty.epoch = given.epoch AND duty.owner <> 0`;

const NOTE_CLOCK = `WITH former AS (SELECT clock_us FROM duty WHERE duty = $1)
  UPDATE duty SET clock_us = ${NOW_US} WHERE duty = $1
  RETURNING greatest((SELECT clock_us FROM former) - clock_us, 0) AS "backUs"`;

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
  readonly weight: number;
}

export class PostgresOwnership implements OwnershipStore {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async join(name: string, version: string, forMs: number): Promise<number> {
    const row = await this.#statements.first<{ replica: number }>(
      `INSERT INTO replica (name, version, started_us, expires_us, leaving)
       SELECT $1, $2, now_us, now_us + $3::bigint, 0 FROM (SELECT ${NOW_US} AS now_us) AS clock RETURNING replica`,
      name,
      version,
      Math.round(forMs * 1000),
    );
    return row!.replica;
  }

  /** Run on its own, this is also a transaction. */
  async renew(
    replica: number,
    { forMs, isLeaving, clockAheadUs, refused, config, turnMs }: Renewal,
  ): Promise<OwnershipView | undefined> {
    const rows = await this.#statements.rows<ViewRow>(
      RENEW,
      replica,
      Math.round(forMs * 1000),
      Number(isLeaving),
      clockAheadUs,
      refused?.mistakes ?? 0,
      refused?.first ?? '',
      refused?.sinceUs ?? 0,
      config.digest,
      config.sinceUs,
      regionsText(config),
      Math.round(turnMs),
    );
    return rows.length > 0 ? viewOf(rows) : undefined;
  }

  async isMember(replica: number): Promise<boolean> {
    return (await this.#statements.first('SELECT 1 FROM replica WHERE replica = $1', replica)) !== undefined;
  }

  async leave(replica: number): Promise<void> {
    await this.#statements.run('DELETE FROM replica WHERE replica = $1', replica);
    await this.#statements.run(FREE);
  }

  async removeExpired(): Promise<number> {
    const removed = await this.#statements.run(REMOVE_EXPIRED);
    if (removed > 0) await this.#statements.run(FREE);
    return removed;
  }

  async view(): Promise<OwnershipView> {
    return viewOf(await this.#statements.rows<ViewRow>(VIEW));
  }

  async take(duty: string, replica: number): Promise<Lease | undefined> {
    await this.#statements.run('INSERT INTO duty (duty) VALUES ($1) ON CONFLICT DO NOTHING', duty);
    return this.#statements.first<Lease>(
      `UPDATE duty SET owner = $2, epoch = greatest(epoch, (SELECT epochs FROM server)) + 1, since_us = ${NOW_US}
       WHERE duty = $1 AND owner = 0 AND EXISTS (SELECT 1 FROM replica WHERE replica = $2)
       RETURNING duty, epoch`,
      duty,
      replica,
    );
  }

  async relieve(replica: number): Promise<void> {
    await this.#statements.run(`UPDATE replica SET relieved_us = ${NOW_US} WHERE replica = $1`, replica);
  }

  async release({ duty, epoch }: Lease): Promise<void> {
    await this.#statements.run(
      `UPDATE duty SET owner = 0, epoch = epoch + 1, since_us = ${NOW_US}
       WHERE duty = $1 AND epoch = $2 AND owner <> 0`,
      duty,
      epoch,
    );
  }

  /** The lock on the row keeps the duty's owner until the transaction ends. */
  async check({ duty, epoch }: Lease): Promise<void> {
    const held = await this.#statements.first(
      'SELECT 1 FROM duty WHERE duty = $1 AND epoch = $2 AND owner <> 0 FOR SHARE',
      duty,
      epoch,
    );
    if (!held) throw new NestwatchError('lease_lost', `Another replica has taken over: ${duty}.`);
  }

  async noteClock(): Promise<number> {
    const noted = await this.#statements.first<{ readonly backUs: number }>(NOTE_CLOCK, ALERTING);
    return noted?.backUs ?? 0;
  }

  async show(showings: readonly Showing[]): Promise<void> {
    const rows = showings.map(({ lease, weight, shown }) => [lease.duty, lease.epoch, weight, shown]);
    await this.#statements.run(SHOW, ...columnsOf(4, rows));
  }

  async shown(): Promise<ShownDuty[]> {
    return this.#statements.rows(
      `SELECT duty, shown_us AS "shownUs", shown FROM duty WHERE shown <> '' ORDER BY duty`,
    );
  }
}

function viewOf(rows: readonly ViewRow[]): OwnershipView {
  return {
    nowUs: rows[0]!.now_us,
    replicas: withUniqueNames(
      rows.flatMap((row) => (row.replica === null ? [] : [replicaOf(row, row.replica)])),
    ),
    duties: rows.flatMap(({ duty, owner, epoch, since_us: sinceUs, weight }) =>
      duty === null ? [] : [{ duty, owner, epoch, sinceUs, weight }],
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
