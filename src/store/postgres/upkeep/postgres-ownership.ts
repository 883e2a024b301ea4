import { NestwatchError } from '../../../errors.ts';
import type {
  DutyRecord,
  Lease,
  OwnershipStore,
  OwnershipView,
  ReplicaRecord,
  ShownDuty,
} from '../../ownership-store.ts';
import type { Statements } from '../statements.ts';

/** The server's clock, which is no replica's. */
const NOW_US = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';

/** What was owned by replicas that are gone is nobody's. */
const FREE = `UPDATE duty SET owner = 0, epoch = epoch + 1, since_us = ${NOW_US}
  WHERE owner <> 0 AND owner NOT IN (SELECT replica FROM replica)`;

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
    const removed = await this.#statements.run(`DELETE FROM replica WHERE expires_us <= ${NOW_US}`);
    if (removed > 0) await this.#statements.run(FREE);
    return removed;
  }

  async view(): Promise<OwnershipView> {
    const clock = await this.#statements.first<{ now_us: number }>(`SELECT ${NOW_US} AS now_us`);
    const replicas = await this.#statements.rows<ReplicaRecord>(
      `SELECT replica, name, version, started_us AS "startedUs", expires_us AS "expiresUs", leaving AS "isLeaving"
       FROM replica ORDER BY replica`,
    );
    const duties = await this.#statements.rows<DutyRecord>(
      'SELECT duty, owner, epoch, since_us AS "sinceUs", weight FROM duty ORDER BY duty',
    );
    return { nowUs: clock!.now_us, replicas, duties };
  }

  async take(duty: string, replica: number): Promise<Lease | undefined> {
    await this.#statements.run('INSERT INTO duty (duty) VALUES ($1) ON CONFLICT DO NOTHING', duty);
    return this.#statements.first<Lease>(
      `UPDATE duty SET owner = $2, epoch = epoch + 1, since_us = ${NOW_US}
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
