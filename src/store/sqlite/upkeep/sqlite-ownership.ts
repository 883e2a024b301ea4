import { NestwatchError } from '../../../errors.ts';
import type { Clock } from '../../../time/clock.ts';
import {
  ALERTING,
  type DutyRecord,
  type Lease,
  type OwnershipStore,
  type OwnershipView,
  type RefusedFile,
  type Renewal,
  type ReplicaRecord,
  type Showing,
  type ShownDuty,
} from '../../ownership-store.ts';
import { withUniqueNames } from '../../rows/replica-names.ts';
import { regionsOf, regionsText } from '../../rows/replica-regions.ts';
import type { Connection } from '../connection.ts';

/** Ownership in SQLite. Only one process uses the file, so several replicas on it occur only in tests. */
export class SqliteOwnership implements OwnershipStore {
  readonly #clock: Clock;
  readonly #replica: ReturnType<typeof prepareReplicas>;
  readonly #duty: ReturnType<typeof prepareDuties>;

  constructor(connection: Connection, clock: Clock) {
    this.#clock = clock;
    this.#replica = prepareReplicas(connection);
    this.#duty = prepareDuties(connection);
  }

  async join(name: string, version: string, forMs: number): Promise<number> {
    const nowUs = this.#clock.nowUs();
    return this.#replica.join.get(name, version, nowUs, afterUs(nowUs, forMs))!.replica;
  }

  async renew(
    replica: number,
    { forMs, isLeaving, clockAheadUs, refused, config, turnMs }: Renewal,
  ): Promise<OwnershipView | undefined> {
    const { mistakes, first, sinceUs } = refused ?? NOTHING_REFUSED;
    const goesBy = [config.digest, config.sinceUs, regionsText(config), Math.round(turnMs)] as const;
    const said = [isLeaving ? 1 : 0, clockAheadUs, mistakes, first, sinceUs, ...goesBy] as const;
    const expiresUs = afterUs(this.#clock.nowUs(), forMs);
    return this.#replica.renew.run(replica, expiresUs, ...said) > 0 ? this.view() : undefined;
  }

  async isMember(replica: number): Promise<boolean> {
    return this.#replica.one.get(replica) !== undefined;
  }

  async leave(replica: number): Promise<void> {
    this.#replica.remove.run(replica);
    this.#duty.free.run(this.#clock.nowUs());
  }

  async removeExpired(): Promise<number> {
    const nowUs = this.#clock.nowUs();
    const removed = this.#replica.removeExpired.run(nowUs);
    if (removed > 0) this.#duty.free.run(nowUs);
    return removed;
  }

  async view(): Promise<OwnershipView> {
    const replicas = withUniqueNames(this.#replica.all.all().map(replicaOf));
    return { nowUs: this.#clock.nowUs(), replicas, duties: this.#duty.all.all() };
  }

  async take(duty: string, replica: number): Promise<Lease | undefined> {
    this.#duty.add.run(duty);
    return this.#duty.take.get(duty, replica, this.#clock.nowUs());
  }

  async relieve(replica: number): Promise<void> {
    this.#replica.relieve.run(replica, this.#clock.nowUs());
  }

  async release({ duty, epoch }: Lease): Promise<void> {
    this.#duty.release.run(duty, epoch, this.#clock.nowUs());
  }

  async check({ duty, epoch }: Lease): Promise<void> {
    if (this.#duty.check.get(duty, epoch)) return;
    throw new NestwatchError('lease_lost', `Another replica has taken over: ${duty}.`);
  }

  async noteClock(): Promise<number> {
    const nowUs = this.#clock.nowUs();
    const formerUs = this.#duty.clock.get(ALERTING)?.clockUs ?? 0;
    this.#duty.setClock.run(ALERTING, nowUs);
    return Math.max(0, formerUs - nowUs);
  }

  async show(showings: readonly Showing[]): Promise<void> {
    for (const { lease, weight, shown } of showings)
      this.#duty.show.run(lease.duty, lease.epoch, weight, shown, this.#clock.nowUs());
  }

  async shown(): Promise<ShownDuty[]> {
    return this.#duty.shown.all();
  }
}

type ReplicaRow = Omit<ReplicaRecord, 'isLeaving' | 'refused' | 'config'> &
  RefusedFile & {
    readonly leaving: number;
    readonly digest: string;
    readonly configSinceUs: number;
    readonly regions: string;
  };

const NOTHING_REFUSED: RefusedFile = { mistakes: 0, first: '', sinceUs: 0 };

function replicaOf(row: ReplicaRow): ReplicaRecord {
  const { leaving, mistakes, first, sinceUs, digest, configSinceUs, regions, ...rest } = row;
  const refused = mistakes === 0 ? undefined : { mistakes, first, sinceUs };
  const config = { digest, sinceUs: configSinceUs, ...regionsOf(regions) };
  return { ...rest, isLeaving: leaving === 1, refused, config };
}

function afterUs(nowUs: number, forMs: number): number {
  return nowUs + Math.round(forMs * 1000);
}

function prepareReplicas(connection: Connection) {
  return {
    join: connection.prepare<{ replica: number }>(
      `INSERT INTO replica (name, version, started_us, expires_us, leaving) VALUES (?, ?, ?, ?, 0)
       RETURNING replica`,
    ),
    renew: connection.prepare(
      `UPDATE replica SET expires_us = ?2, leaving = ?3, clock_ahead_us = ?4, mistakes = ?5, first_mistake = ?6,
         refused_us = ?7, config = ?8, config_us = ?9, config_regions = ?10, turn_ms = ?11
       WHERE replica = ?1`,
    ),
    relieve: connection.prepare('UPDATE replica SET relieved_us = ?2 WHERE replica = ?1'),
    one: connection.prepare('SELECT 1 FROM replica WHERE replica = ?'),
    remove: connection.prepare('DELETE FROM replica WHERE replica = ?'),
    removeExpired: connection.prepare('DELETE FROM replica WHERE expires_us <= ?'),
    all: connection.prepare<ReplicaRow>(
      `SELECT replica, name, version, started_us AS startedUs, expires_us AS expiresUs, leaving,
         clock_ahead_us AS clockAheadUs, mistakes, first_mistake AS first, refused_us AS sinceUs,
         config AS digest, config_us AS configSinceUs, config_regions AS regions, relieved_us AS relievedUs, turn_ms AS turnMs
       FROM replica ORDER BY replica`,
    ),
  };
}

function prepareDuties(connection: Connection) {
  return {
    add: connection.prepare('INSERT OR IGNORE INTO duty (duty) VALUES (?)'),
    take: connection.prepare<Lease>(
      `UPDATE duty SET owner = ?2, epoch = epoch + 1, since_us = ?3
       WHERE duty = ?1 AND owner = 0 AND EXISTS (SELECT 1 FROM replica WHERE replica = ?2)
       RETURNING duty, epoch`,
    ),
    release: connection.prepare(
      'UPDATE duty SET owner = 0, epoch = epoch + 1, since_us = ?3 WHERE duty = ?1 AND epoch = ?2 AND owner <> 0',
    ),
    free: connection.prepare(
      `UPDATE duty SET owner = 0, epoch = epoch + 1, since_us = ?
       WHERE owner <> 0 AND owner NOT IN (SELECT replica FROM replica)`,
    ),
    check: connection.prepare('SELECT 1 FROM duty WHERE duty = ? AND epoch = ? AND owner <> 0'),
    all: connection.prepare<DutyRecord>(
      'SELECT duty, owner, epoch, since_us AS sinceUs, weight FROM duty ORDER BY duty',
    ),
    show: connection.prepare(
      `UPDATE duty SET weight = ?3, shown = ?4, shown_us = ?5 WHERE duty = ?1 AND epoch = ?2 AND owner <> 0`,
    ),
    clock: connection.prepare<{ readonly clockUs: number }>(
      'SELECT clock_us AS clockUs FROM duty WHERE duty = ?',
    ),
    setClock: connection.prepare('UPDATE duty SET clock_us = ?2 WHERE duty = ?1'),
    shown: connection.prepare<ShownDuty>(
      `SELECT duty, shown_us AS shownUs, shown FROM duty WHERE shown <> '' ORDER BY duty`,
    ),
  };
}
