import { NestwatchError } from '../../../errors.ts';
import type { Lease, OwnershipStore, OwnershipView, ShownDuty } from '../../ownership-store.ts';
import type { Statements } from '../statements.ts';

/** The server's clock, which is no replica's. */
const NOW_US = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';

/** What was owned by replicas that are gone is nobody's. */
const FREE = `UPDATE duty SET owner = 0, epoch = epoch + 1, since_us = ${NOW_US}
  WHERE owner <> 0 AND owner NOT IN (SELECT replica FROM replica)`;

/**
 * One who is just saying that it lives, or whose lease is shown in a transaction under way, is left until that has ended:
 * whoever waited for it would be late to say that they live themselves.
 */
const REMOVE_EXPIRED = `WITH expired AS (
    SELECT replica FROM replica WHERE expires_us <= ${NOW_US} FOR UPDATE SKIP LOCKED),
  taken AS (
    SELECT duty FROM duty WHERE owner IN (SELECT replica FROM expired) FOR UPDATE SKIP LOCKED)
  DELETE FROM replica USING expired
  WHERE replica.replica = expired.replica AND NOT EXISTS (
    SELECT 1 FROM duty WHERE duty.owner = expired.replica AND duty.duty NOT IN (SELECT duty FROM taken))`;

/** All of it in one round trip, since every replica asks every few seconds: a row is a replica, a duty, or the clock. */
const VIEW = `SELECT ${NOW_US} AS now_us, replica.*, duty.duty, duty.owner, duty.epoch, duty.since_us, duty.weight
  FROM replica FULL JOIN duty ON false
    RIGHT JOIN (SELECT 1) AS clock ON true
  ORDER BY replica.replica, duty.duty`;

/** The columns of the other two are null. */
interface ViewRow {
  readonly now_us: number;
  readonly replica: number | null;
  readonly name: string;
  readonly version: string;
  readonly started_us: number;
  readonly expires_us: number;
  readonly leaving: boolean;
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
       SELECT $1, $2, now_us, now_us + $3::bigint, false FROM (SELECT ${NOW_US} AS now_us) AS clock RETURNING replica`,
      name,
      version,
      Math.round(forMs * 1000),
    );
    return row!.replica;
  }

  async renew(replica: number, forMs: number, isLeaving: boolean): Promise<boolean> {
    const renewed = await this.#statements.run(
      `UPDATE replica SET expires_us = ${NOW_US} + $2::bigint, leaving = $3 WHERE replica = $1`,
      replica,
      Math.round(forMs * 1000),
      isLeaving,
    );
    return renewed > 0;
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
    const rows = await this.#statements.rows<ViewRow>(VIEW);
    return {
      nowUs: rows[0]!.now_us,
      replicas: rows.flatMap(({ replica, name, version, started_us, expires_us, leaving }) =>
        replica === null
          ? []
          : [{ replica, name, version, startedUs: started_us, expiresUs: expires_us, isLeaving: leaving }],
      ),
      duties: rows.flatMap(({ duty, owner, epoch, since_us: sinceUs, weight }) =>
        duty === null ? [] : [{ duty, owner, epoch, sinceUs, weight }],
      ),
    };
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

  async release({ duty, epoch }: Lease): Promise<void> {
    await this.#statements.run(
      `UPDATE duty SET owner = 0, epoch = epoch + 1, since_us = ${NOW_US}
       WHERE duty = $1 AND epoch = $2 AND owner <> 0`,
      duty,
      epoch,
    );
  }

  /** The lock on the row keeps the duty where it is until the transaction ends. */
  async check({ duty, epoch }: Lease): Promise<void> {
    const held = await this.#statements.first(
      'SELECT 1 FROM duty WHERE duty = $1 AND epoch = $2 AND owner <> 0 FOR SHARE',
      duty,
      epoch,
    );
    if (!held) throw new NestwatchError('lease_lost', `Another replica has taken over: ${duty}.`);
  }

  async show({ duty, epoch }: Lease, weight: number, shown: string): Promise<void> {
    await this.#statements.run(
      `UPDATE duty SET weight = $3, shown = $4, shown_us = ${NOW_US} WHERE duty = $1 AND epoch = $2 AND owner <> 0`,
      duty,
      epoch,
      weight,
      shown,
    );
  }

  async shown(): Promise<ShownDuty[]> {
    return this.#statements.rows(
      `SELECT duty, shown_us AS "shownUs", shown FROM duty WHERE shown <> '' ORDER BY duty`,
    );
  }
}
